// Asking the server. The API key lives in the field of this page and nowhere else.

import { parse } from './text.js';

const root = new URL(document.getElementById('main').dataset.root, location.href);
const key = document.getElementById('key');

export const address = path => new URL(path, root);

// What went wrong, in words for a person; `status` is 0 where no answer came.
export class Refusal extends Error {
  constructor(message, status, details = {}) {
    super(message);
    Object.assign(this, { status, details });
  }
}

const MEANING = {
  400: 'The request is malformed', 401: 'An API key is needed', 403: 'This key may not do that', 404: 'There is no such thing', 409: 'The fingerprint has moved',
  413: 'The request is too large', 429: 'Too much is under way', 500: 'A defect of the server', 502: 'No answer from behind the proxy', 503: 'The server takes no work now', 504: 'The proxy waited too long',
};

// The parsed answer. Raises Refusal; an aborted request raises as fetch does.
export async function ask(path, { body, signal } = {}) {
  const headers = {};
  if (key?.value.trim()) headers.Authorization = `Bearer ${key.value.trim()}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer, text;
  try {
    answer = await fetch(address(path), { method: body === undefined ? 'GET' : 'POST', headers, body, signal, cache: 'no-store', credentials: 'omit' });
    text = await answer.text();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    // A key with characters that no header bears raises here too.
    if (error instanceof TypeError && /header|ByteString|ISO-8859/i.test(error.message)) throw new Refusal('The API key has characters that no key has.', 401);
    throw new Refusal('The server cannot be reached, or the connection broke.', 0);
  }
  let value = null;
  try { value = parse(text); } catch { /* a proxy's page, say */ }
  if (answer.ok && value !== null) return value;
  const told = value?.error;
  const words = [MEANING[answer.status] || `The server answered ${answer.status}`];
  if (told?.message) words.push(`: ${told.message}`);
  const after = answer.headers.get('Retry-After');
  if (after && [429, 503].includes(answer.status)) words.push(` Try again in ${after} s.`);
  if (answer.ok) words.push(', but not in JSON');
  throw new Refusal(words.join(''), answer.status, told?.details || {});
}

export function askForKey() {
  key?.focus();
}
