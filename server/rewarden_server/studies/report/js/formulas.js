// Formulas as MathML, by KaTeX where it is at hand. KaTeX makes a tree, and the elements are made here: those and those
// attributes only that cannot hide, colour or load anything.

import { judged } from './dom.js';

const MATHML = 'http://www.w3.org/1998/Math/MathML';
const MOST_SOURCE = 2000, MOST_NODES = 4000;

// Definitions grow without end, `%` hides the rest of the line, and the others lead out of the page.
const REFUSED = /\\(?:[gex]?def|let|futurelet|global|long|(?:re|provide)?newcommand|renewcommand|href|url|html\w*|includegraphics|char)(?![a-zA-Z])|(?:^|[^\\])%/;

const KEPT = new Set(['accent', 'accentunder', 'columnspan', 'display', 'displaystyle', 'fence', 'form', 'largeop', 'linethickness',
  'lspace', 'maxsize', 'minsize', 'movablelimits', 'rspace', 'scriptlevel', 'separator', 'stretchy', 'symmetric']);
const PLACED = { mspace: ['width', 'height', 'depth'], mpadded: ['width', 'lspace', 'voffset'] };
const LETTERS = { 'double-struck': [0x1d538, 0x1d552, 0x1d7d8], script: [0x1d49c, 0x1d4b6], fraktur: [0x1d504, 0x1d51e] };
// Letters that Unicode had before it had these alphabets.
const EARLIER = {
  'double-struck': { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' },
  script: { B: 'ℬ', E: 'ℰ', F: 'ℱ', H: 'ℋ', I: 'ℐ', L: 'ℒ', M: 'ℳ', R: 'ℛ', e: 'ℯ', g: 'ℊ', o: 'ℴ' },
  fraktur: { C: 'ℭ', H: 'ℌ', I: 'ℑ', R: 'ℜ', Z: 'ℨ' },
};
// The colour by which a marked part of a formula is known again in KaTeX's tree. Nobody can guess it.
const SECRET = `#${[...crypto.getRandomValues(new Uint8Array(3))].map(byte => byte.toString(16).padStart(2, '0')).join('')}`;

// A formula with places [start, end) of its source marked, as an element; null where it cannot be shown so.
export function formula(source, display, places) {
  if (!self.katex || source.length > MOST_SOURCE || !source.trim() || REFUSED.test(source)) return null;
  const whole = places.some(([start, end]) => start <= 0 && end >= source.length);
  if (places.length && !whole) {
    let text = '', at = 0;
    for (const [start, end] of places) {
      text += `${source.slice(at, start)}{\\textcolor{${SECRET}}{${source.slice(start, end)}}}`;
      at = end;
    }
    const made = typeset(text + source.slice(at), display);
    if (made && made.querySelector('.judged')) return judged({ class: 'around' }, made);
  }
  const made = typeset(source, display);
  return made && places.length ? judged({}, made) : made;
}

function typeset(source, displayMode) {
  try {
    const tree = self.katex.__renderToDomTree(source, { displayMode, output: 'mathml', throwOnError: true, strict: 'ignore', trust: false, maxSize: 10, maxExpand: 500 });
    const made = mathNode(tree, { left: MOST_NODES }, '');
    const math = made.firstElementChild;
    if (displayMode) math.setAttribute('tabindex', 0); // it may be wider than the page
    return math;
  } catch {
    return null;
  }
}

function mathNode(node, budget, variant) {
  if (--budget.left < 0) throw new RangeError('the formula is too large');
  if (typeof node.text === 'string' && !node.children) return document.createTextNode(letters(node.text, variant));
  if (!node.type && !node.children) { // a space
    const space = document.createElementNS(MATHML, 'mspace');
    space.setAttribute('width', `${Math.max(-1, Math.min(4, Number(node.width) || 0))}em`);
    return space;
  }
  const told = node.attributes || {}, type = TYPES[node.type] || (node.type ? 'mrow' : null);
  const made = type ? document.createElementNS(MATHML, type) : document.createDocumentFragment();
  for (const [name, value] of Object.entries(told)) {
    if (type && (KEPT.has(name) || (PLACED[type] || []).includes(name)) && node.type !== 'menclose') made.setAttribute(name, value);
  }
  if (told.mathcolor === SECRET) { made.setAttribute('class', 'judged'); }
  if (node.type === 'menclose') made.setAttribute('class', /box|top bottom/.test(told.notation) ? 'boxed' : /strike/.test(told.notation) ? 'struck' : 'enclosed');
  if (told.mathvariant) {
    made.setAttribute('mathvariant', 'normal');
    if (/bold/.test(told.mathvariant)) made.setAttribute('class', 'bold');
    else if (/sans|mono/.test(told.mathvariant)) made.setAttribute('class', told.mathvariant === 'monospace' ? 'mono' : 'sans');
  }
  // The raw source stands beside the tree: it would be read, and found, twice.
  for (const child of node.children || []) if (child.type !== 'annotation') made.append(mathNode(child, budget, told.mathvariant || variant));
  if (type === 'mtable') align(made, told);
  return made;
}

const TYPES = Object.fromEntries(['math', 'semantics', 'mrow', 'mi', 'mn', 'mo', 'mtext', 'ms', 'mspace', 'mfrac', 'msqrt', 'mroot', 'mstyle', 'mpadded',
  'msub', 'msup', 'msubsup', 'munder', 'mover', 'munderover', 'mmultiscripts', 'mprescripts', 'mtable', 'mtr', 'mtd'].map(name => [name, name]));

// Browsers leave the sides of columns to style sheets.
function align(table, told) {
  const sides = String(told.columnalign || '').split(' '), tight = /^0em/.test(told.columnspacing || '');
  for (const line of table.children) {
    [...line.children].forEach((cell, at) => {
      const side = sides[Math.min(at, sides.length - 1)];
      if (side === 'left' || side === 'right') cell.setAttribute('class', tight ? `${side} tight` : side);
    });
  }
}

function letters(text, variant) {
  const [upper, lower, digit] = LETTERS[variant] || [];
  if (!upper) return text;
  return text.replace(/[A-Za-z0-9]/g, one => {
    if (EARLIER[variant][one]) return EARLIER[variant][one];
    const from = one <= '9' ? digit && digit - 48 : one <= 'Z' ? upper - 65 : lower - 97;
    return from ? String.fromCodePoint(from + one.charCodeAt(0)) : one;
  });
}
