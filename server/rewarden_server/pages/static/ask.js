// Asking the server. The API key lives in the field of this page and nowhere else.

import { parse } from './text.js';

const root = new URL(document.getElementById('main').dataset.root, location.href);
const key = document.getElementById('key');

export const address = path => new URL(path, root);

// The error as a message; `status` is 0 if there was no response.
export class Refusal extends Error {
  constructor(message, status, details = {}) {
    super(message);
    Object.assign(this, { status, details });
  }
}

const MEANING = {
  400: 'The request is malformed', 401: 'An API key is required', 403: 'This key lacks the permission', 404: 'Not found', 409: 'The fingerprint has changed',
  413: 'The request is too large', 429: 'Too many requests', 500: 'Internal server error', 502: 'The proxy got no response', 503: 'The server accepts no work now', 504: 'The proxy timed out',
};

// The headers that carry the key, where there is one.
export const headers = () => key?.value.trim() ? { Authorization: `Bearer ${key.value.trim()}` } : {};

// The parsed answer. Raises Refusal; an aborted request raises as fetch does.
export async function ask(path, { body, signal, read = parse } = {}) {
  const sent = headers();
  if (body !== undefined) sent['Content-Type'] = 'application/json';
  let answer, text;
  try {
    answer = await fetch(address(path), { method: body === undefined ? 'GET' : 'POST', headers: sent, body, signal, cache: 'no-store', credentials: 'omit' });
    text = await answer.text();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    // A key with characters that no header bears raises here too.
    if (error instanceof TypeError && /header|ByteString|ISO-8859/i.test(error.message)) throw new Refusal('The API key contains invalid characters.', 401);
    throw new Refusal('The server cannot be reached, or the connection was lost.', 0);
  }
  let value = null;
  try { value = read(text); } catch { /* a proxy's page, say */ }
  if (answer.ok && value !== null) return value;
  const told = value?.error;
  const words = [MEANING[answer.status] || `The server responded with ${answer.status}`];
  if (told?.message) words.push(`: ${told.message}`);
  const after = answer.headers.get('Retry-After');
  if (after && [429, 503].includes(answer.status)) words.push(` Retry in ${after} s.`);
  if (answer.ok) words.push(', but not with JSON');
  throw new Refusal(words.join(''), answer.status, told?.details || {});
}

export function askForKey() {
  key?.focus();
}
