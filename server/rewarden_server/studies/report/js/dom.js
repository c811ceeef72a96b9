// Making elements. Texts become text nodes: nothing here, and nothing elsewhere, turns a string into markup.

import { STATES } from './data.js';

export function el(name, properties, ...children) {
  const made = document.createElement(name);
  fill(made, properties, children);
  return made;
}

export function svg(name, properties, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  fill(made, properties, children);
  return made;
}

function fill(made, properties, children) {
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (key === 'value') made.value = value;
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  put(made, ...children);
}

// The children, lists of them too; null, undefined and false stand for none.
export function put(element, ...children) {
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
}

export function replace(element, ...children) {
  element.replaceChildren();
  put(element, ...children);
}

export const number = value => value.toLocaleString('en-US');
export const percent = share => share === null || Number.isNaN(share) ? '–' : `${(100 * share).toFixed(1)}%`;
export const scoreText = score => score === null ? '–' : Number.isInteger(score) ? `${score}.0` : Math.abs(score) >= 1000 ? score.toPrecision(5) : String(+score.toFixed(3));
export const plural = (count, one, many) => `${number(count)} ${count === 1 ? one : many || one + 's'}`;

export function stateBadge(state, { text = true } = {}) {
  const { key, glyph, label } = STATES[state];
  return el('span', { class: `badge ${key}`, title: label },
    el('span', { class: 'glyph', 'aria-hidden': 'true' }, glyph), text ? label : el('span', { class: 'hidden' }, label));
}

// The pieces of an excerpt.
export function excerptNodes(pieces) {
  return pieces.map(piece => {
    if (typeof piece === 'string') return document.createTextNode(piece);
    if (typeof piece === 'number') return el('span', { class: 'cut' }, `… ${number(piece)} characters omitted …`);
    return judged({}, piece[0]);
  });
}

export const judged = (properties, ...children) => el('mark', { title: 'the answer that was judged', ...properties }, children);

export function button(text, onclick, properties) {
  return el('button', { type: 'button', onclick, ...properties }, text);
}
