// Two judgements of the same responses: how far they agree, and what they judge otherwise, side by side.

import { bars } from './charts.js';
import { Data, FAILED, PASSED, PLAIN, STATES } from './data.js';
import { button, el, number, percent, put, replace, scoreText, stateBadge } from './dom.js';
import { tally } from './filters.js';
import { helpDialog, opened, themeButton } from './frame.js';
import { differencePanel } from './sample.js';
import { Scroller } from './scroller.js';

const TABS = { overview: 'Overview', changes: 'Differences' };
const KINDS = { lost: 'Only A passes', gained: 'Only B passes', unscored: 'Scored by one', score: 'Other score or reason' };
const NO_FILTER = Object.freeze({ q: '', kind: '', source: '', change: '', sort: 'file' });

class Pairs {
  constructor(raw) {
    this.a = new Data(raw);
    this.b = new Data({ ...raw, rows: raw.other });
    this.count = this.a.count;
    this.kinds = Array.from({ length: this.count }, (_, row) => kindOfPair(this.a.state[row], this.b.state[row]));
  }

  // What each says in a word, as the comparison counts it.
  change(row) { return `${said(this.a, row)} → ${said(this.b, row)}`; }
}

const kindOfPair = (a, b) => a > PLAIN !== b > PLAIN ? 'unscored' : a === PASSED && b === FAILED ? 'lost' : a === FAILED && b === PASSED ? 'gained' : 'score';

function said(data, row) {
  const state = data.state[row], reason = data.reason(row);
  if (state > PLAIN) return reason ? `${STATES[state].word}: ${reason}` : STATES[state].word;
  return reason || (state === PASSED ? 'passed' : 'failed');
}

function chosen(pairs, filter) {
  const word = filter.q.trim().toLowerCase(), found = [];
  for (let row = 0; row < pairs.count; row++) {
    if (filter.kind && pairs.kinds[row] !== filter.kind) continue;
    if (filter.source && pairs.a.source(row) !== filter.source) continue;
    if (filter.change && pairs.change(row) !== filter.change) continue;
    if (word && !pairs.a.mentions(row, word) && !(pairs.b.rows.extracted[row] || '').toLowerCase().includes(word)) continue;
    found.push(row);
  }
  if (filter.sort === 'gap') found.sort((one, other) => gap(pairs, other) - gap(pairs, one) || one - other);
  return found;
}

function gap(pairs, row) {
  const a = pairs.a.rows.score[row], b = pairs.b.rows.score[row];
  return a === null || b === null ? (a === b ? 0 : Infinity) : Math.abs(a - b);
}

const interval = ([low, high], shown = percent) => `95 %: ${shown(low)} to ${shown(high)}`;
const fixed = value => value === null ? '–' : value.toFixed(3);

function overview(raw, pairs, go) {
  const { found, names } = raw, table = found.table, scores = found.scores;
  const pick = changes => go({ view: 'changes', filter: { ...NO_FILTER, ...changes }, row: null, open: false }, true);
  const tile = (label, value, hint, choose) => el('div', { class: 'tile' }, el('dt', {}, label), el('dd', {}, choose ? button(value, choose, { class: 'link' }) : value, el('small', {}, hint)));
  const link = (count, kind) => count ? button(number(count), () => pick({ kind }), { class: 'link' }) : '0';
  const sources = Object.entries(found.by_data_source);
  const heads = ['data source', 'scored by both', 'agreement', 'kappa', 'A passes', 'B passes'];
  const apart = found.statuses.filter(one => one.a !== 'scored' || one.b !== 'scored');
  const made = el('div', { class: 'overview' }, el('h2', { class: 'hidden' }, 'Overview'),
    el('dl', { class: 'sides card wide' }, el('dt', {}, 'A'), el('dd', {}, names[0]), el('dt', {}, 'B'), el('dd', {}, names[1])),
    pairs.count < found.differing ? el('p', { class: 'note', role: 'note' }, `This page lists the ${number(pairs.count)} of ${number(found.differing)} differences whose scores lie furthest apart. The figures count all responses.`) : null,
    el('dl', { class: 'tiles' },
      tile('Responses', number(found.rows), `${number(table.rows)} scored by both`),
      tile('Differences', number(found.differing), 'in score, passing or status', () => pick({})),
      table.rows ? [
        tile('Agreement', percent(table.agreement), interval(table.agreement_interval)),
        tile('Kappa', fixed(table.kappa), table.kappa === null ? 'every verdict is the same' : interval(table.kappa_interval, fixed)),
        tile('A passes', percent(table.a_passed), `mean score ${fixed(scores.a_mean)}`),
        tile('B passes', percent(table.b_passed), `mean score ${fixed(scores.b_mean)}`),
        tile('Equal pass rates', `p = ${+table.mcnemar_p.toPrecision(2)}`, 'McNemar, exact'),
        scores.spearman === null ? null : tile('Rank correlation', fixed(scores.spearman), 'Spearman'),
      ] : null),
    el('div', { class: 'grid' },
      table.rows ? el('section', { class: 'card' }, el('h3', {}, 'Who passes'), el('table', { class: 'agree' },
        el('thead', {}, el('tr', {}, el('td', {}), el('th', { scope: 'col', class: 'num' }, 'B passes'), el('th', { scope: 'col', class: 'num' }, 'B fails'))),
        el('tbody', {},
          el('tr', {}, el('th', { scope: 'row' }, 'A passes'), el('td', { class: 'num' }, number(table.both_pass)), el('td', { class: 'num apart' }, link(table.a_only, 'lost'))),
          el('tr', {}, el('th', { scope: 'row' }, 'A fails'), el('td', { class: 'num apart' }, link(table.b_only, 'gained')), el('td', { class: 'num' }, number(table.neither)))))) : null,
      bars('What changed, A → B', found.reasons.map(one => ({ name: `${one.a} → ${one.b}`, count: one.rows, choose: () => pick({ change: `${one.a} → ${one.b}` }) })), found.differing, 'The two judge every response alike.'),
      apart.length ? bars('Unscored', apart.map(one => ({ name: `A ${one.a}, B ${one.b}`, count: one.rows, choose: () => pick({ kind: 'unscored' }) })), found.rows, '') : null));
  if (sources.length > 1) put(made, el('section', { class: 'card wide' }, el('h3', {}, 'By data source'), el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Agreement by data source' }, el('table', {},
    el('thead', {}, el('tr', {}, heads.map((head, at) => el('th', { scope: 'col', class: at && 'num' }, head)))),
    el('tbody', {}, sources.map(([name, one]) => el('tr', {}, el('th', { scope: 'row' }, button(name, () => pick({ source: name === '-' ? '(none)' : name }), { class: 'link' })),
      [number(one.rows), percent(one.agreement), fixed(one.kappa), percent(one.a_passed), percent(one.b_passed)].map(text => el('td', { class: 'num' }, text)))))))));
  if (raw.columns.length) put(made, el('section', { class: 'card wide' }, el('h3', {}, 'How the rows were read'), el('pre', { class: 'plan' }, raw.columns.join('\n'))));
  return { element: made, show() {} };
}

class Changes {
  constructor(pairs, names, go) {
    Object.assign(this, { pairs, go, names });
    const set = changes => go({ filter: { ...this.filter, ...changes }, row: null, open: false });
    this.search = el('input', { type: 'search', placeholder: 'Search texts and ids', 'aria-label': 'Search texts and ids', autocomplete: 'off', spellcheck: 'false' });
    this.search.addEventListener('input', () => { clearTimeout(this.timer); this.timer = setTimeout(() => set({ q: this.search.value }), 120); });
    const rows = { count: pairs.count };
    const menu = (name, label, entries) => entries.length > 1 || name === 'sort' ? el('label', {}, el('span', {}, label), el('select', { name, onchange: event => set({ [name]: event.target.value }) },
      name === 'sort' ? null : el('option', { value: '' }, 'any'), entries.map(([value, text]) => el('option', { value }, text)))) : null;
    const counted = (name, told) => tally(rows, name).map(([value, count]) => [value, `${told ? told[value] : value} (${number(count)})`]);
    this.form = el('form', { class: 'filters', role: 'search', onsubmit: event => event.preventDefault() }, this.search, el('div', { class: 'fields' },
      menu('kind', 'Difference', counted(row => [pairs.kinds[row]], KINDS)),
      menu('change', 'A → B', counted(row => [pairs.change(row)])),
      menu('source', 'Source', counted(row => [pairs.a.source(row)])),
      menu('sort', 'Order', [['file', 'as in the file'], ['gap', 'largest difference first']]),
      button('Clear', () => go({ filter: NO_FILTER, row: null, open: false }), { class: 'clear' })));
    this.count = el('p', { class: 'counted muted', role: 'status' });
    this.list = new Scroller('Differences', 60, row => this.entry(row), (row, open) => go({ row, open }, open && matchMedia('(max-width: 59.99rem)').matches));
    this.panel = el('section', { class: 'panel detail', tabindex: -1, 'aria-label': 'The selected response' });
    this.element = el('div', { class: 'split' }, el('div', { class: 'side' }, el('h2', { class: 'hidden' }, 'Differences'), this.form, this.count, this.list.element), this.panel);
  }

  entry(row) {
    const { a, b } = this.pairs;
    const side = data => [stateBadge(data.state[row], { text: false }), el('span', { class: 'score' }, scoreText(data.rows.score[row]))];
    return [
      el('span', { class: 'line' }, side(a), el('span', { 'aria-hidden': 'true' }, '→'), side(b), el('span', { class: 'id' }, a.rows.id[row])),
      el('span', { class: 'line muted' }, el('span', { class: 'id' }, this.pairs.change(row))),
    ];
  }

  show(state) {
    this.filter = state.filter;
    const key = JSON.stringify(state.filter);
    if (key !== this.key) { this.key = key; this.found = chosen(this.pairs, state.filter); }
    for (const field of [this.search, ...this.form.querySelectorAll('select')]) {
      const value = state.filter[field.name || 'q'];
      if (field.value !== value && field !== document.activeElement) field.value = value;
    }
    this.count.textContent = `${number(this.found.length)} of ${number(this.pairs.count)} ${this.pairs.count === 1 ? 'difference' : 'differences'}`;
    const row = state.row ?? this.found[0] ?? null;
    this.list.show(this.found, row);
    this.draw(row);
    this.element.classList.toggle('open', state.open && row !== null);
  }

  draw(row) {
    const place = `${row} ${this.list.chosen} ${this.found.length}`;
    if (place === this.drawn) return;
    this.drawn = place;
    const step = (text, by, label) => button(text, () => this.walk(by), { 'aria-label': label, title: label });
    replace(this.panel, row === null ? el('p', { class: 'blank muted' }, 'No response selected.') : [
      el('div', { class: 'bar-top' }, button('← List', () => this.go({ open: false }), { class: 'back' }), el('h2', {}, this.pairs.a.rows.id[row]),
        el('div', { class: 'steps' }, el('span', { class: 'muted' }, this.list.chosen >= 0 ? `${number(this.list.chosen + 1)} of ${number(this.found.length)}` : 'not in the list'), step('↑', -1, 'Previous (k)'), step('↓', 1, 'Next (j)'))),
      differencePanel(this.pairs.a, this.pairs.b, row, this.names),
    ]);
    this.panel.scrollTop = 0;
  }

  walk(by) { this.list.walk(by); }
}

function readPlace(pairs) {
  const [view, query] = location.hash.slice(1).split('?'), words = new URLSearchParams(query || ''), filter = { ...NO_FILTER };
  for (const name of Object.keys(NO_FILTER)) if (words.has(name)) filter[name] = words.get(name);
  const row = words.has('r') ? Number(words.get('r')) : NaN;
  return { view: view in TABS ? view : 'overview', filter, row: Number.isInteger(row) && row >= 0 && row < pairs.count ? row : null, open: words.has('open') };
}

function placeOf(state) {
  const words = new URLSearchParams();
  if (state.view === 'changes') {
    for (const [name, value] of Object.entries(state.filter)) if (value !== NO_FILTER[name]) words.set(name, value);
    if (state.row !== null) words.set('r', state.row);
    if (state.open) words.set('open', '1');
  }
  const query = words.toString();
  return `#${state.view}${query ? `?${query}` : ''}`;
}

opened(raw => {
  const pairs = new Pairs(raw), made = {}, main = document.getElementById('main');
  let state = readPlace(pairs);
  const go = (changes, push = false) => {
    state = { ...state, ...changes };
    const address = placeOf(state);
    if (address !== location.hash) history[push ? 'pushState' : 'replaceState'](null, '', address);
    render();
  };
  const views = { overview: () => overview(raw, pairs, go), changes: () => new Changes(pairs, raw.names, go) };
  const tabs = el('nav', { 'aria-label': 'Views' }, Object.entries(TABS).map(([view, label]) => button(label, () => go({ view, open: false }, true), { 'data-view': view })));
  const help = helpDialog([['1 2', 'overview, differences'], ['j k', 'next, previous difference'], ['/', 'search'], ['Esc', 'back to the list'], ['?', 'this help']]);
  document.getElementById('top').append(el('h1', {}, el('span', { class: 'mark', 'aria-hidden': 'true' }, '◆'), el('span', { class: 'title' }, raw.title)), tabs,
    el('div', { class: 'tools' }, themeButton(), button('Keys', () => help.showModal(), { class: 'keys-button' })));
  document.body.append(help);
  const render = () => {
    for (const tab of tabs.children) { if (tab.dataset.view === state.view) tab.setAttribute('aria-current', 'page'); else tab.removeAttribute('aria-current'); }
    const view = made[state.view] ||= views[state.view]();
    if (main.firstChild !== view.element) main.replaceChildren(view.element);
    document.body.dataset.view = state.view === 'changes' ? 'responses' : state.view;
    view.show(state);
  };
  addEventListener('popstate', () => { state = readPlace(pairs); render(); });
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.matches('input, select, textarea');
    if (event.key === 'Escape') { if (typing) event.target.blur(); else if (state.open) go({ open: false }); return; }
    if (typing) return;
    if (event.key === '1' || event.key === '2') go({ view: Object.keys(TABS)[event.key - 1], open: false }, true);
    else if ((event.key === 'j' || event.key === 'k') && state.view === 'changes') made.changes.walk(event.key === 'j' ? 1 : -1);
    else if (event.key === '/') { if (state.view !== 'changes') go({ view: 'changes' }, true); made.changes.search.focus(); }
    else if (event.key === '?') help.showModal();
    else return;
    event.preventDefault();
  });
  render();
  document.documentElement.dataset.ready = 'yes';
});
