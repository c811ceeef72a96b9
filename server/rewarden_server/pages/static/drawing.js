// The drawing of a recipe: a verdict's scores beside the components that it asked.

import { $, $$ } from './dom.js';
import { num, score } from './text.js';

const drawing = $('.drawing');

export function dim() {
  if (!drawing) return;
  drawing.classList.remove('judged');
  for (const element of $$('.lit', drawing)) element.classList.remove('lit');
  for (const output of $$('output', drawing)) output.textContent = '';
}

// Components that the formula did not need stay dim, and of an outcome table the row that decided is lit.
export function light(verdict) {
  if (!drawing) return;
  dim();
  drawing.classList.add('judged');
  for (const element of $$('[data-part]', drawing)) {
    const name = element.dataset?.part ?? element.getAttribute('data-part');
    const part = name === '' ? verdict : verdict.components?.[name];
    element.classList.toggle('lit', Boolean(part));
    const output = element.querySelector(':scope > .node > output');
    if (output) output.textContent = !part ? 'not asked' : part.status === 'scored' ? score(part.score) : part.status;
  }
  const row = num(verdict.evidence?.recipe?.row);
  if (row !== null && row !== undefined) $$('.table > mtr', drawing)[row]?.classList.add('lit');
}
