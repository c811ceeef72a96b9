// Server-sent events, read by `fetch`: a browser's own EventSource sends no headers, and so no key.

import { address, headers } from './ask.js';

const LATER_MS = [500, 1000, 2000, 5000, 10000];

// Calls `take(value)` for each event's JSON, and `tell(state)` with 'live', 'reconnecting' or 'refused'. `path()` is
// asked for anew at each attempt, since it names what was seen last. Returns a function that ends it.
export function follow(path, take, tell) {
  const ended = new AbortController();
  let failures = 0;
  const again = () => new Promise(done => {
    const timer = setTimeout(done, LATER_MS[Math.min(failures++, LATER_MS.length - 1)]);
    ended.signal.addEventListener('abort', () => { clearTimeout(timer); done(); }, { once: true });
  });
  (async () => {
    while (!ended.signal.aborted) {
      try {
        const answer = await fetch(address(path()), { headers: { ...headers(), Accept: 'text/event-stream' }, signal: ended.signal, cache: 'no-store', credentials: 'omit' });
        if ([401, 403, 404].includes(answer.status)) { tell('refused'); return; }
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        tell('live');
        await read(answer.body, value => { failures = 0; take(value); });
      } catch {
        if (ended.signal.aborted) return;
      }
      tell('reconnecting');
      await again();
    }
  })();
  return () => ended.abort();
}

async function read(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value.replaceAll('\r\n', '\n');
    for (let end = held.indexOf('\n\n'); end >= 0; end = held.indexOf('\n\n')) {
      const data = held.slice(0, end).split('\n').filter(line => line.startsWith('data:')).map(line => line.slice(5).trimStart());
      held = held.slice(end + 2);
      if (data.length) take(JSON.parse(data.join('\n')));  // a comment is a heartbeat
    }
  }
}
