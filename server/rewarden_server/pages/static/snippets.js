// The same request for other places: a shell, Python over HTTP, Python over gRPC.

import { isRaw, pretty } from './text.js';

// JSON as a Python literal.
function python(value, indent = '') {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (isRaw(value) || typeof value === 'number') return JSON.stringify(value);
  // JSON's escapes are Python's, but for halves of surrogate pairs, which both write alike.
  if (typeof value === 'string') return JSON.stringify(value);
  const inner = indent + '    ', array = Array.isArray(value);
  const items = array ? value.map(item => python(item, inner)) : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${python(item, inner)}`);
  const flat = items.join(', '), [open, close] = array ? '[]' : '{}';
  if (flat.length + indent.length <= 88 && !flat.includes('\n')) return open + flat + close;
  return `${open}\n${items.map(item => `${inner}${item},`).join('\n')}\n${indent}${close}`;
}

export function curl(request, url, keyed) {
  // A heredoc asks for no quoting: no line of JSON is the word that ends it, since JSON's texts hold no line ends.
  return `curl -sS ${url} \\\n  -H 'Content-Type: application/json'${keyed ? ` \\\n  -H "Authorization: Bearer $REWARDEN_API_KEY"` : ''} \\\n  --data-binary @- <<'REQUEST'\n${pretty(request)}\nREQUEST\n`;
}

export function client(request, target, keyed) {
  return [
    ...(keyed ? ['import os', ''] : []), 'from rewarden import Client', '',
    `client = Client(${JSON.stringify(target)}${keyed ? ', api_key=os.environ["REWARDEN_API_KEY"]' : ''})`,
    `result = client.verify(`, `    ${python(request.samples, '    ')},`, `    use=${python(request.use, '    ')},`, ')',
    'for verdict in result.verdicts:', '    print(verdict.status, verdict.score, verdict.reason)', '',
  ].join('\n');
}
