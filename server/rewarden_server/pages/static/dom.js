// Making elements. Texts become text nodes: nothing here, and nothing elsewhere, turns a string into markup.

export function el(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  return put(made, ...children);
}

// The children, lists of them too; null, undefined and false stand for none.
export function put(element, ...children) {
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

export const $ = path => document.querySelector(path);
export const $$ = (path, within = document) => [...within.querySelectorAll(path)];

// Rows of a description list: [name, value] pairs; those without a value are left out.
export const facts = (pairs, name = 'facts') => el('dl', { class: name },
  pairs.filter(pair => pair && pair[1] !== null && pair[1] !== undefined && pair[1] !== '').map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, value))));

export const chip = (text, kind = '') => el('span', { class: `chip ${kind}` }, text);
