// What a model wrote, made readable: formulas, fenced code, tool calls. The rest stays as it is, and the raw text is a
// click away. The work is bounded by the lengths of texts, whatever they hold.

import { codeNodes } from './code.js';
import { button, el, excerptNodes, judged, number } from './dom.js';
import { formula } from './formulas.js';

const MOST_TEXT = 60000, MOST_FORMULAS = 150, LONGEST = 4000;

// What may begin something else than text.
const BEGINS = /(?:^|\n)[ \t]{0,3}(`{3,}|~{3,})([^\n`]*)(?:\n|$)|<(tool_call|tool_response)>|\\begin\{((?:align|gather|equation|multline|eqnarray|cases|alignat|[bpvBV]?matrix|array)\*?)\}|\\(boxed|fbox)\s*\{|\\[\s\S]|`+|\$\$?/g;
const TURNS = { tool_call: 'tool call', tool_response: 'tool response' };

// The parts of a text in order: {kind, start, end} and what is within, [from, to). `fence`: the code that is still open
// from before the text; what is open at its end is returned too.
export function partsOf(text, fence = null) {
  const parts = [], until = seeker(text);
  let at = 0, formulas = 0;
  const add = (start, end, part) => {
    if (start > at) parts.push({ kind: 'text', start: at, end: start, from: at, to: start });
    parts.push({ start, end, ...part });
    at = end;
  };
  const code = (start, from, open) => {
    const found = closing(text, from, open.sign);
    if (found) add(start, found.end, { kind: 'code', from, to: found.start, language: open.language });
    else add(start, text.length, { kind: 'code', from, to: text.length, language: open.language });
    return found ? null : open;
  };
  if (fence) fence = code(0, 0, fence);
  while (!fence && at < text.length) {
    const found = next(text, at, until);
    if (!found) break;
    const { start, part, open } = found;
    if (open) fence = code(start, found.from, open);
    else if (part.kind !== 'math' || ++formulas <= MOST_FORMULAS) add(start, found.end, part);
    else break;
  }
  if (at < text.length) parts.push({ kind: 'text', start: at, end: text.length, from: at, to: text.length });
  return { parts, fence };
}

// The first thing from a place on that is not text: where it starts and ends.
function next(text, at, until) {
  BEGINS.lastIndex = at;
  for (let found; (found = BEGINS.exec(text));) {
    const [all, sign, language, tag, environment, box] = found, start = found.index, from = start + all.length;
    if (sign) {
      const begin = all.startsWith('\n') && start >= at ? start + 1 : start;
      return { start: begin, from, open: { sign, language: language.trim().split(/\s/)[0] } };
    }
    if (tag) {
      const to = text.indexOf(`</${tag}>`, from);
      if (to >= 0) return { start, end: to + tag.length + 3, part: { kind: 'turn', from, to, role: TURNS[tag] } };
    } else if (environment) {
      const end = until(`\\end{${environment}}`, from);
      if (end >= 0) return math(start, end + environment.length + 6, start, end + environment.length + 6, true);
    } else if (box) {
      const end = brace(text, from);
      if (end >= 0) return math(start, end + 1, start, end + 1, false);
    } else if (all === '\\(' || all === '\\[') {
      const to = until(all === '\\(' ? '\\)' : '\\]', from);
      if (to >= 0) return math(start, to + 2, from, to, all === '\\[');
    } else if (all === '$$') {
      const to = until('$$', from);
      if (to > from) return math(start, to + 2, from, to, true);
    } else if (all === '$') {
      const to = dollar(text, from);
      if (to > from) return math(start, to + 1, from, to, false);
    } else if (all[0] === '`') { // code within a line: no formula begins there
      const to = until(all, from), line = until('\n', from);
      if (to >= 0 && (line < 0 || to < line)) BEGINS.lastIndex = to + all.length;
    }
  }
  return null;
}

const math = (start, end, from, to, display) => ({ start, end, part: { kind: 'math', from, to, display } });

// Finds the next place of a sign that is not too far away. Where it was sought in vain it is not sought again, or a text
// of nothing but beginnings would be read once for each of them.
function seeker(text) {
  const clear = new Map();
  return (sign, from) => {
    const begin = Math.max(from, clear.get(sign) || 0), end = from + LONGEST, at = text.slice(begin, end).indexOf(sign);
    if (at < 0) clear.set(sign, Math.max(begin, end - sign.length + 1));
    return at < 0 ? -1 : begin + at;
  };
}

// The end of a formula that one dollar began. Prices are none: a formula neither begins nor ends with a space, and no
// digit follows it.
function dollar(text, from) {
  if (/\s/.test(text[from] || ' ')) return -1;
  for (let at = from; at < text.length && at - from < LONGEST; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '\n' && text[at + 1] === '\n') return -1;
    else if (text[at] === '$') return /\s/.test(text[at - 1]) || /[0-9]/.test(text[at + 1] || '') ? -1 : at;
  }
  return -1;
}

function brace(text, from) {
  for (let at = from, depth = 1; at < text.length && at - from < LONGEST; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at;
  }
  return -1;
}

// The line that closes a fence.
function closing(text, from, sign) {
  for (let at = from; at <= text.length;) {
    const line = text.indexOf('\n', at), end = line < 0 ? text.length : line;
    const words = text.slice(at, Math.min(end, at + 200)).trim();
    if (words.length >= sign.length && words === sign[0].repeat(words.length)) return { start: Math.max(from, at - 1), end };
    if (line < 0) return null;
    at = line + 1;
  }
  return null;
}

// Places within [from, to), counted from there.
const within = (places, from, to) => places.map(([start, end]) => [Math.max(start, from) - from, Math.min(end, to) - from]).filter(([start, end]) => start < end);

function textNodes(text, places) {
  const nodes = [];
  let at = 0;
  for (const [start, end] of places) {
    nodes.push(text.slice(at, start), judged({}, text.slice(start, end)));
    at = end;
  }
  return [...nodes, text.slice(at)].filter(node => node !== '');
}

function partNodes(text, places, part) {
  const inner = text.slice(part.from, part.to), own = within(places, part.from, part.to);
  const plain = () => textNodes(text.slice(part.start, part.end), within(places, part.start, part.end));
  if (part.kind === 'text') return plain();
  if (part.kind === 'math') {
    const around = own.length ? own : within(places, part.start, part.end).length ? [[0, inner.length]] : [];
    return formula(inner, part.display, around) || plain();
  }
  const all = own.some(([start, end]) => end - start > .8 * inner.trim().length);
  const block = (code, language) => el('pre', { class: `code${all ? ' whole' : ''}`, tabindex: 0 }, el('code', {}, codeNodes(code, language, own, () => judged({}))));
  if (part.kind === 'code') return el('div', { class: 'fenced' }, part.language || all ? el('div', { class: 'role' }, [part.language, all && 'the answer that was judged'].filter(Boolean).join(' · ')) : null, block(inner, part.language));
  return el('div', { class: 'turn' }, el('div', { class: 'role' }, part.role), block(inner, 'json'));
}

// A text without the blank lines that parted it from blocks, which have a distance of their own.
function beside(text, part, before, after) {
  const block = one => one && (one.kind === 'code' || one.kind === 'turn' || one.display);
  let { start, end } = part;
  if (block(before)) while (start < end && text[start] === '\n') start++;
  if (block(after)) while (end > start && text[end - 1] === '\n') end--;
  return { ...part, start, end };
}

// An excerpt's pieces as nodes; null where there is nothing to make more readable.
function readable(pieces) {
  const nodes = [];
  let rich = false, text = '', places = [], fence = null, length = 0;
  const flush = () => {
    const found = partsOf(text, fence);
    fence = found.fence;
    found.parts.forEach((part, at) => {
      rich ||= part.kind !== 'text';
      nodes.push(partNodes(text, places, part.kind === 'text' ? beside(text, part, found.parts[at - 1], found.parts[at + 1]) : part));
    });
    text = '';
    places = [];
  };
  for (const piece of pieces) {
    if (typeof piece === 'number') { flush(); nodes.push(el('span', { class: 'cut' }, `… ${number(piece)} characters omitted …`)); continue; }
    const own = typeof piece === 'string' ? piece : piece[0];
    if ((length += own.length) > MOST_TEXT) return null;
    if (typeof piece !== 'string') places.push([text.length, text.length + own.length]);
    text += own;
  }
  flush();
  return rich ? nodes : null;
}

// A message: readable where that is more than its text, with a button that shows the text.
export function messageBlock(role, pieces) {
  const nodes = readable(pieces);
  let shown = nodes ? el('div', { class: 'text rich' }, nodes) : el('pre', { class: 'text' }, excerptNodes(pieces));
  const box = el('div', { class: 'message' }, role ? el('div', { class: 'role' }, role) : null, shown);
  if (nodes) {
    let other = null;
    const toggle = button('Raw text', () => {
      const now = toggle.getAttribute('aria-pressed') !== 'true';
      toggle.setAttribute('aria-pressed', String(now));
      other ||= el('pre', { class: 'text' }, excerptNodes(pieces));
      other.prepend(toggle);
      shown.replaceWith(other);
      [shown, other] = [other, shown];
      toggle.focus();
    }, { class: 'link raw', 'aria-pressed': 'false' });
    shown.prepend(toggle);
  }
  return box;
}
