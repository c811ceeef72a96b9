// Texts that nobody vouches for: cut to a length that a page bears, with what is invisible made visible; and JSON that
// keeps its numbers as they were written.

const MOST = 20000;
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|\p{Cs}|[\u{e0000}-\u{e007f}]/gu;
const NAMES = { 0: 'NUL', 8: 'BS', 13: 'CR', 27: 'ESC', 0x200b: 'ZWSP', 0x200e: 'LRM', 0x200f: 'RLM', 0x202a: 'LRE', 0x202b: 'RLE', 0x202c: 'PDF', 0x202d: 'LRO', 0x202e: 'RLO', 0x2066: 'LRI', 0x2067: 'RLI', 0x2068: 'FSI', 0x2069: 'PDI', 0xfeff: 'BOM' };

function sign(character) {
  const point = character.codePointAt(0), hex = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
  const made = document.createElement('span');
  made.className = 'control';
  made.title = hex;
  made.textContent = NAMES[point] || hex;
  return made;
}

// Nodes: the text, with each character that would not be seen, or would turn others round, named.
export function visible(text) {
  const nodes = [];
  let at = 0;
  for (const found of text.replaceAll('\r\n', '\n').matchAll(HIDDEN)) {
    nodes.push(found.input.slice(at, found.index), sign(found[0]));
    at = found.index + found[0].length;
    if (nodes.length > 4000) { nodes.push(left(found.input.length - at)); return nodes; }
  }
  nodes.push(text.replaceAll('\r\n', '\n').slice(at));
  return nodes.filter(node => node !== '');
}

// A line of ours, with what stands in backticks set as code.
export function prose(text) {
  return text.split(/`([^`]+)`/).map((piece, at) => {
    if (at % 2 === 0) return visible(piece);
    const made = document.createElement('code');
    made.append(...visible(piece));
    return made;
  }).flat();
}

function left(count) {
  const made = document.createElement('span');
  made.className = 'cut';
  made.textContent = `… ${count.toLocaleString('en-US')} characters omitted …`;
  return made;
}

// The text, or its beginning and its end where it is long.
export function bounded(text, most = MOST) {
  if (text.length <= most) return visible(text);
  const head = Math.floor(most / 3), tail = most - head;
  return [...visible(text.slice(0, head)), left(text.length - most), ...visible(text.slice(-tail))];
}

// The text with places [start, end) marked. Of a long one what is around the first mark is shown too.
export function marked(text, places) {
  const nodes = [], mark = piece => { const made = document.createElement('mark'); made.append(...bounded(piece, 4000)); return made; };
  let at = 0;
  for (const [start, end] of places) {
    nodes.push(...around(text.slice(at, start)), mark(text.slice(start, end)));
    at = end;
  }
  return [...nodes, ...around(text.slice(at))];
}

const around = text => bounded(text, MOST);

export const block = (nodes, name = 'text') => {
  const made = document.createElement('pre');
  made.className = name;
  made.dir = 'auto';
  made.tabIndex = 0;
  made.append(...nodes);
  return made;
};

// JavaScript reads 9007199254740993 as 9007199254740992, and 1.0 as 1, which Python tells apart: where the browser can,
// such numbers stay as they were written.
const keep = (key, value, context) => typeof value === 'number' && context && JSON.rawJSON && String(value) !== context.source ? JSON.rawJSON(context.source) : value;
export const parse = text => JSON.parse(text, keep);
export const num = value => value && typeof value === 'object' && 'rawJSON' in value ? Number(value.rawJSON) : value;
export const isRaw = value => Boolean(value && typeof value === 'object' && JSON.isRawJSON?.(value));

// JSON on lines, short lists and objects on one.
export function pretty(value, indent = '') {
  const flat = JSON.stringify(value);
  if (flat === undefined) return 'null';
  if (value === null || typeof value !== 'object' || isRaw(value) || flat.length + indent.length <= 88) return spaced(value, flat);
  const inner = indent + '  ';
  if (Array.isArray(value)) return `[\n${value.map(item => inner + pretty(item, inner)).join(',\n')}\n${indent}]`;
  return `{\n${Object.entries(value).filter(([, item]) => item !== undefined).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${pretty(item, inner)}`).join(',\n')}\n${indent}}`;
}

function spaced(value, flat) {
  if (value === null || typeof value !== 'object' || isRaw(value)) return flat;
  if (Array.isArray(value)) return `[${value.map(item => spaced(item, JSON.stringify(item))).join(', ')}]`;
  return `{${Object.entries(value).filter(([, item]) => item !== undefined).map(([key, item]) => `${JSON.stringify(key)}: ${spaced(item, JSON.stringify(item))}`).join(', ')}}`;
}

// A value as a person reads it: texts as they are, the rest as JSON.
export const shown = value => typeof value === 'string' ? value : pretty(value);

export const number = value => { const n = num(value); return Number.isInteger(n) ? n.toLocaleString('en-US') : String(+Number(n).toPrecision(4)); };
export const score = value => { const n = num(value); return n === null || n === undefined ? '–' : Number.isInteger(n) ? `${n}.0` : String(+n.toFixed(4)); };
export const seconds = value => { const n = num(value); return n === null || n === undefined ? null : n < 0.001 ? `${(1e6 * n).toFixed(0)} µs` : n < 1 ? `${(1e3 * n).toFixed(n < 0.01 ? 1 : 0)} ms` : `${n.toFixed(2)} s`; };
export const bytes = value => { let n = num(value); for (const unit of ['B', 'KiB', 'MiB', 'GiB']) { if (n < 1024 || unit === 'GiB') return `${+n.toFixed(1)} ${unit}`; n /= 1024; } };
// US dollars, in so many digits that a thousandth of a cent is seen.
export const dollars = value => { const n = num(value); return `$${n >= 100 || n === 0 ? n.toFixed(0) : n >= 0.01 ? n.toFixed(2) : +n.toPrecision(2)}`; };
export const plural = (count, one, many) => `${number(count)} ${num(count) === 1 ? one : many || one + 's'}`;
