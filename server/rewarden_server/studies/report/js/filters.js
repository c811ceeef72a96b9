// Which responses are listed, and in which order. What is chosen stands in the address, so that it can be kept and sent.

import { PLAIN, STATES, VERSUS } from './data.js';
import { button, el, number } from './dom.js';

export const EMPTY = Object.freeze({
  list: 'all', q: '', state: '', reason: '', fault: '', source: '', verifier: '', flag: '', versus: '', low: '', high: '', sort: 'file',
});

export const LISTS = {
  all: 'All', best: 'Best', worst: 'Worst', unscored: 'Unscored', flagged: 'Flagged',
};

export function select(data, filter) {
  const word = filter.q.trim().toLowerCase();
  const low = filter.low === '' ? -Infinity : Number(filter.low), high = filter.high === '' ? Infinity : Number(filter.high);
  const ranged = filter.low !== '' || filter.high !== '';
  const state = filter.state === '' ? -1 : STATES.findIndex(one => one.key === filter.state);
  const found = [];
  for (let row = 0; row < data.count; row++) {
    const own = data.state[row], score = data.rows.score[row];
    if (filter.list === 'unscored' && own <= PLAIN) continue;
    if (filter.list === 'flagged' && !data.rows.flags[row].length) continue;
    if ((filter.list === 'best' || filter.list === 'worst') && own > PLAIN) continue;
    if (state >= 0 && own !== state) continue;
    if (ranged && (own > PLAIN || score === null || !(score >= low && score <= high))) continue;
    if (filter.reason !== '' && (data.reason(row) ?? '(none)') !== filter.reason) continue;
    if (filter.fault !== '' && (data.rows.fault[row] ?? '(none)') !== filter.fault) continue;
    if (filter.source !== '' && data.source(row) !== filter.source) continue;
    if (filter.verifier !== '' && data.verifier(row) !== filter.verifier) continue;
    if (filter.versus !== '' && data.rows.versus[row] !== filter.versus) continue;
    if (filter.flag !== '' && !data.flags(row).includes(filter.flag)) continue;
    if (word && !data.mentions(row, word)) continue;
    found.push(row);
  }
  const sort = filter.list === 'best' ? 'high' : filter.list === 'worst' ? 'low' : filter.sort;
  if (sort === 'high' || sort === 'low') {
    const sign = sort === 'high' ? -1 : 1, score = data.rows.score;
    const known = row => data.state[row] <= PLAIN && score[row] !== null;
    // What has no score comes last either way.
    found.sort((a, b) => known(b) - known(a) || (known(a) ? sign * (score[a] - score[b]) : 0) || a - b);
  }
  return found;
}

export function tally(data, name) {
  const counts = new Map();
  for (let row = 0; row < data.count; row++) for (const value of name(row)) counts.set(value, (counts.get(value) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

// The controls. `onchange(filter)` gets a new filter for each change.
export class FilterBar {
  constructor(data, onchange) {
    this.onchange = onchange;
    const choice = (name, label, entries) => {
      const menu = el('select', { name, onchange: () => this.set(name, menu.value) },
        el('option', { value: '' }, 'any'), entries.map(([value, count, text]) => option(value, `${text || value} (${number(count)})`)));
      return entries.length > 1 || name === 'state' ? el('label', {}, el('span', {}, label), menu) : null;
    };
    const bound = (name, label) => el('label', { class: 'bound' }, el('span', {}, label),
      el('input', { name, type: 'number', step: 'any', oninput: event => this.set(name, event.target.value) }));
    this.search = el('input', { type: 'search', name: 'q', placeholder: 'Search texts and ids', 'aria-label': 'Search texts and ids', autocomplete: 'off', spellcheck: 'false' });
    this.search.addEventListener('input', () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.set('q', this.search.value), 120); });
    const states = tally(data, row => [data.state[row]]).map(([state, count]) => [STATES[state].key, count, `${STATES[state].glyph} ${STATES[state].label}`]);
    this.lists = el('div', { class: 'segments', role: 'group', 'aria-label': 'Lists' }, Object.entries(LISTS).map(([key, label]) =>
      button(label, () => this.set('list', key), { 'data-list': key, 'aria-pressed': 'false' })));
    this.sort = el('label', {}, el('span', {}, 'Order'), el('select', { name: 'sort', onchange: event => this.set('sort', event.target.value) },
      option('file', 'as in the file'), option('high', 'highest score first'), option('low', 'lowest score first')));
    const more = [
      choice('state', 'Status', states),
      choice('reason', 'Reason', tally(data, row => [data.reason(row) ?? '(none)'])),
      choice('source', 'Source', tally(data, row => [data.source(row)])),
      choice('verifier', 'Verifier', tally(data, row => [data.verifier(row)])),
      choice('versus', 'Baseline', tally(data, row => data.rows.versus[row] ? [data.rows.versus[row]] : []).map(([kind, count]) => [kind, count, VERSUS[kind]])),
      choice('flag', 'Flag', tally(data, row => data.flags(row))),
      choice('fault', 'Fault', tally(data, row => [data.rows.fault[row] ?? '(none)'])),
      el('div', { class: 'bounds' }, bound('low', 'Score from'), bound('high', 'to')),
      this.sort,
      button('Clear', () => { this.onchange({ ...EMPTY }); this.search.focus(); }, { class: 'clear' }),
    ];
    this.summary = el('summary', {}, 'Filters');
    this.more = el('details', { class: 'more' }, this.summary, el('div', { class: 'fields' }, more));
    this.more.open = matchMedia('(min-width: 60rem)').matches;
    this.element = el('form', { class: 'filters', role: 'search', onsubmit: event => event.preventDefault() }, this.lists, this.search, this.more);
  }

  set(name, value) {
    this.onchange({ ...this.filter, [name]: value });
  }

  show(filter) {
    this.filter = filter;
    for (const one of this.lists.children) one.setAttribute('aria-pressed', String(one.dataset.list === filter.list));
    for (const field of this.element.elements) {
      if (field.name && field.name in filter && field.value !== filter[field.name] && field !== document.activeElement) field.value = filter[field.name];
    }
    this.sort.hidden = filter.list === 'best' || filter.list === 'worst';
    const used = Object.keys(EMPTY).filter(name => !['list', 'q', 'sort'].includes(name) && filter[name] !== '').length;
    this.summary.textContent = used ? `Filters (${used})` : 'Filters';
  }
}

const option = (value, text) => el('option', { value }, text);
