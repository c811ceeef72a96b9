// The form: cases go in, a request comes out. Parameters that stand at their defaults are not sent.

import { $, $$ } from './dom.js';
import { isRaw, parse, pretty } from './text.js';

// A field that cannot be read; `field` is its element.
export class Unreadable extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

const samples = $('#samples');
const blank = samples.firstElementChild.cloneNode(true);
const SAME = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function json(field, text, label) {
  try {
    return parse(text);
  } catch (error) {
    throw new Unreadable(`${label} is not valid JSON: ${error.message}`, field);
  }
}

function typeOf(value) {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number' || isRaw(value)) return Number.isInteger(Number(value.rawJSON ?? value)) ? ['integer', 'number'] : ['number'];
  return [typeof value];
}

// A parameter's value; undefined where it is not to be sent.
function read(holder) {
  const { param, kind, default: given } = holder.dataset, control = holder.querySelector('input, select, textarea');
  const standard = given ? parse(given) : undefined, text = control.value, [how, ...types] = kind.split(' ');
  let value;
  if (how === 'choice') value = text === '' ? undefined : parse(text);
  else if (how === 'number' || how === 'integer') {
    if (control.validity.badInput || control.validity.stepMismatch) throw new Unreadable(`${param} must be ${how === 'integer' ? 'a whole' : 'a'} number`, control);
    value = text === '' ? (standard === null || standard === undefined ? undefined : null) : parse(text);
  } else if (how === 'string') value = text === '' && typeof standard !== 'string' ? undefined : text;
  else if (text.trim() === '') value = how === 'either' && typeof standard === 'string' && standard !== '' ? '' : undefined;
  else if (how === 'json') value = json(control, text, param);
  else {
    try { value = parse(text); } catch { value = text; }
    if (!typeOf(value).some(type => types.includes(type) || types.includes('anything'))) value = typeof value === 'string' && /^\s*"/.test(text) ? value : text;
  }
  return value === undefined || SAME(value, standard) ? undefined : value;
}

function write(holder, value) {
  const { kind, default: given } = holder.dataset, control = holder.querySelector('input, select, textarea'), [how] = kind.split(' ');
  const chosen = value === undefined && given ? parse(given) : value;
  if (how === 'choice') {
    const wanted = chosen === undefined ? '' : JSON.stringify(chosen);
    control.value = [...control.options].find(option => option.value !== '' && SAME(parse(option.value), parse(wanted || 'null')))?.value ?? '';
    if (chosen === undefined) control.value = '';
  } else if (chosen === undefined || (chosen === null && how !== 'json' && how !== 'either')) control.value = '';
  else control.value = typeof chosen === 'string' && how !== 'json' ? chosen : how === 'number' || how === 'integer' ? JSON.stringify(chosen) : pretty(chosen);
}

export function readParams() {
  const params = {};
  for (const holder of $$('.field')) {
    if (holder.dataset.kind === 'more') continue;
    const value = read(holder);
    if (value !== undefined) params[holder.dataset.param] = value;
  }
  const more = $('.field[data-kind=more] textarea');
  if (more.value.trim()) {
    const others = json(more, more.value, 'More');
    if (typeOf(others)[0] !== 'object') throw new Unreadable('More must be a JSON object', more);
    Object.assign(params, others);
  }
  return params;
}

function writeParams(params) {
  const others = { ...params };
  for (const holder of $$('.field')) {
    if (holder.dataset.kind === 'more') continue;
    write(holder, params[holder.dataset.param]);
    delete others[holder.dataset.param];
  }
  $('.field[data-kind=more] textarea').value = Object.keys(others).length ? pretty(others) : '';
}

const part = (sample, name) => sample.querySelector(`[data-part="${name}"]`);

function readSample(sample) {
  const made = {};
  for (const name of ['prompt', 'response', 'reference']) {
    const holder = part(sample, name);
    if (!holder) continue;
    const control = holder.querySelector('textarea'), asJson = holder.querySelector('[type=checkbox]').checked;
    if (control.value === '' && name !== 'response') continue;
    made[name] = asJson ? json(control, control.value, `The ${name}`) : control.value;
  }
  const others = part(sample, 'others').querySelector('textarea');
  if (others.value.trim()) {
    const more = json(others, others.value, 'Other fields');
    if (typeOf(more)[0] !== 'object') throw new Unreadable('Other fields must be a JSON object', others);
    Object.assign(made, more);
  }
  return made;
}

function writeSample(sample, value) {
  const others = { ...value };
  for (const name of ['prompt', 'response', 'reference']) {
    const holder = part(sample, name);
    if (!holder) continue;
    const given = value[name], asText = typeof given === 'string' || (given === undefined && !holder.querySelector('[type=checkbox]').defaultChecked);
    holder.querySelector('[type=checkbox]').checked = !asText;
    holder.querySelector('textarea').value = given === undefined ? '' : asText ? given : pretty(given);
    delete others[name];
  }
  const left = Object.keys(others).length, quiet = left === 1 && 'group' in others;
  part(sample, 'others').querySelector('textarea').value = left ? pretty(others) : '';
  sample.querySelector('.others').open = left > 0 && !quiet;
}

function count() {
  const all = [...samples.children];
  all.forEach((sample, at) => {
    sample.querySelector('legend').textContent = all.length > 1 ? `Sample ${at + 1}` : 'Sample';
    sample.querySelector('.remove').hidden = all.length < 2;
  });
}

export function addSample(value = null) {
  const made = blank.cloneNode(true);
  samples.append(made);
  const before = made.previousElementSibling;
  // A sibling's question is the same; its answer is not.
  writeSample(made, value ?? (before ? { ...readSample(before), response: '' } : {}));
  count();
  return made;
}

samples.addEventListener('click', event => {
  if (!event.target.closest('.remove')) return;
  event.target.closest('.sample').remove();
  count();
  samples.querySelector('textarea').focus();
});

export function load(example) {
  samples.replaceChildren();
  for (const value of example.samples) addSample(value);
  writeParams(example.params || {});
}

export function readRequest(name, group) {
  const params = readParams(), rows = [...samples.children].map(readSample);
  // A group verifier judges siblings: what stands on one page is one group.
  if (group) for (const row of rows) row.group ??= 'playground';
  return { use: Object.keys(params).length ? { name, params } : name, samples: rows };
}
