// A run: its state stands in the address, its points come live.

import { ask, askForKey } from './ask.js';
import { $, el, replace } from './dom.js';
import { follow } from './live.js';
import { Points } from './points.js';
import { placeText } from './plot.js';
import { EMPTY } from './report/filters.js';
import { Moved } from './run-moved.js';
import { Overview } from './run-overview.js';
import { Rollouts } from './run-rollouts.js';
import { EVERY, VIEWS, readState, writeState } from './run-state.js';
import { number, plural, visible } from './text.js';

const MOST_PLACES = 20000;
const AGAIN_MS = 5000;
const NOBODY = ['', 'anonymous'];  // the names of the caller of a server without keys
const COUNT_MS = 1500;
const root = $('#run'), told = $('#told'), id = root.dataset.run;
const base = `v1/runs/${encodeURIComponent(id)}`;
const KEYS = [
  ['1 2 3 4', 'overview, responses, groups, why did it move'], ['j k', 'next, previous response or group'], ['/', 'search'],
  ['g', 'the group of the response, side by side'], ['← → Shift Enter', 'on a chart: another point, choose a range, read its responses'], ['Esc', 'back to the list; no range'], ['?', 'this help'],
];

function helpDialog() {
  const dialog = el('dialog', { 'aria-label': 'Keys' }, el('h2', {}, 'Keys'),
    el('dl', { class: 'keys' }, KEYS.map(([keys, what]) => [el('dt', {}, keys.split(' ').map(key => el('kbd', {}, key))), el('dd', {}, what)])),
    el('button', { type: 'button', onclick: () => dialog.close() }, 'Close'));
  return dialog;
}

class Run {
  constructor() {
    this.state = readState();
    this.tabs = el('nav', { class: 'tabs', 'aria-label': 'Views' }, Object.entries(VIEWS).map(([view, label]) => el('button', { type: 'button', 'data-view': view, onclick: () => this.go({ view, open: false }, true) }, label)));
    this.head = el('div', { class: 'run-head' });
    this.live = el('span', { class: 'live', role: 'status' });
    this.scope = el('form', { class: 'scope', 'aria-label': 'Range', onsubmit: event => { event.preventDefault(); this.typed(); } });
    this.place = el('div', { class: 'view' });
    this.help = helpDialog();
    this.rollouts = new Rollouts(id, (changes, push) => this.go(changes, push));
    replace(root, this.head, el('div', { class: 'tab-row' }, this.tabs, el('button', { type: 'button', class: 'keys-button', onclick: () => this.help.showModal() }, 'Keys')), this.scope, this.place, this.help);
    addEventListener('popstate', () => { this.state = readState(); this.render(); });
    addEventListener('hashchange', () => { if (writeState(this.state) !== location.hash) { this.state = readState(); this.render(); } });
    addEventListener('keydown', event => this.press(event));
  }

  go(changes, push = false) {
    const next = { ...this.state, ...changes };
    if ('filter' in changes) { next.filter = { ...EMPTY, ...changes.filter, source: '' }; if (!('rollout' in changes)) next.rollout = null; }
    for (const name of ['from', 'to', 'source']) if (name in changes && changes[name] !== this.state[name] && !('rollout' in changes)) next.rollout = null;
    if ('axis' in changes && changes.axis !== this.state.axis) Object.assign(next, { from: null, to: null, zoom: null, a: null, b: null });
    this.state = next;
    const address = writeState(next);
    if (address !== location.hash) history[push ? 'pushState' : 'replaceState'](null, '', address);
    this.render();
  }

  // The points, and from then on what changes of them.
  async load() {
    this.end?.();
    const axis = this.axis = this.state.axis;
    const raw = await this.read(axis);
    if (axis !== this.state.axis) return;
    this.take(raw);
    this.end = follow(() => `${base}/events?${new URLSearchParams({ axis: this.points.axis, after: this.points.seq })}`, more => this.more(more), state => this.tell(state));
  }

  read(axis) { return ask(`${base}/points?${new URLSearchParams({ ...axis ? { axis } : {}, most: MOST_PLACES })}`, { read: JSON.parse }); }

  take(raw) {
    this.run = raw.run;
    this.points = new Points(raw);
    this.overview = new Overview(this.points, raw.axis, (changes, push) => this.go(changes, push));
    this.moved = new Moved(id, this.points, raw.axis, (changes, push) => this.go(changes, push));
    this.counted = null;
    this.render();
    document.documentElement.dataset.ready = 'yes';
  }

  // Of a very long run, whose neighbours the server merges, everything is read anew, and seldom.
  more(raw) {
    this.run = raw.run;
    if (raw.width === this.points.width) this.points.merge(raw);
    else {
      this.points.seq = raw.seq;
      this.rereading ||= setTimeout(async () => {
        this.rereading = 0;
        const { axis } = this, all = await this.read(axis).catch(fail);
        if (all && axis === this.axis) { this.points.reset(all); this.refresh(); }
      }, AGAIN_MS);
      return;
    }
    this.refresh();
  }

  refresh() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.fresh = true; this.render(); });
  }

  tell(state) {
    this.live.className = `live ${state}`;
    this.live.textContent = { live: 'live', reconnecting: 'reconnecting …', refused: 'not live' }[state];
  }

  render() {
    if (!this.points) return;
    if (this.axis !== this.state.axis) { this.load().catch(fail); return; }
    const { state } = this, fresh = this.fresh;
    this.fresh = false;
    for (const tab of this.tabs.children) { if (tab.dataset.view === state.view) tab.setAttribute('aria-current', 'page'); else tab.removeAttribute('aria-current'); }
    document.body.dataset.view = state.view;
    this.top();
    this.bounds();
    const view = { overview: this.overview, moved: this.moved }[state.view] || this.rollouts;
    if (this.place.firstChild !== view.element) replace(this.place, view.element);
    if (state.view === 'overview') { this.overview.show(state); this.count(fresh); }
    else if (!fresh) view.show(state);  // what is read does not change under the reader's eyes
  }

  top() {
    const { run } = this;
    document.title = `${run.name} · Runs · Rewarden`;
    const told = JSON.stringify(run);
    if (told === this.shown) return;
    this.shown = told;
    replace(this.head, el('h1', {}, visible(run.name)), this.live,
      el('p', { class: 'muted' }, [plural(run.verdicts, 'verdict'), run.last_step === null ? null : `step ${number(run.last_step)}`, `since ${placeText('time', run.began).slice(0, 16)}`, NOBODY.includes(run.key) ? null : `key ${run.key}`, run.verifiers.join(', ')].filter(Boolean).flatMap((text, at) => [at ? ' · ' : null, ...visible(text)]).filter(Boolean)));
  }

  // The range, the source and the axis, with what can be done with them.
  bounds() {
    const { state } = this, axis = this.points.axis, key = JSON.stringify([state.view, state.axis, state.from, state.to, state.source, state.zoom, state.every, this.points.sources]);
    if (key === this.bounded) return;
    this.bounded = key;
    if (state.view === 'moved') { replace(this.scope); this.scope.hidden = true; return; }
    this.scope.hidden = false;
    const focused = document.activeElement?.name;
    const menu = (name, label, value, options, change) => el('label', {}, el('span', {}, label), (() => {
      const made = el('select', { name, onchange: () => change(made.value) }, options.map(([one, text]) => el('option', { value: one, selected: one === value }, text)));
      return made;
    })());
    const field = (name, label, value) => el('label', {}, el('span', {}, label), axis === 'time'
      ? el('input', { name, type: 'datetime-local', step: 1, value: value === null ? '' : placeText('time', value).replace(' ', 'T'), onchange: () => this.typed() })
      : el('input', { name, type: 'number', min: 0, value: value === null ? '' : value, placeholder: name === 'from' ? 'first' : 'last', onchange: () => this.typed() }));
    replace(this.scope,
      field('from', axis === 'time' ? 'From' : 'From step', state.from), field('to', axis === 'time' ? 'To' : 'To step', state.to),
      menu('source', 'Data source', state.source, [['', 'all'], ...this.points.sources.map(name => [name, name || '(none)'])], source => this.go({ source })),
      this.run.axis === 'step' ? menu('axis', 'Axis', axis, [['step', 'steps'], ['time', 'time']], one => this.go({ axis: one === this.run.axis ? '' : one })) : null,
      state.view === 'overview' ? menu('every', axis === 'time' ? 'Average over' : 'Average over steps', String(state.every), EVERY.map(count => [String(count), axis === 'time' ? `${count * this.points.width} s` : String(count * this.points.width)]), count => this.go({ every: Number(count) })) : null,
      el('div', { class: 'acts' },
        state.from !== null && state.view === 'overview' ? el('button', { type: 'button', onclick: () => this.go({ zoom: [state.from, state.to] }) }, 'Zoom in') : null,
        state.zoom && state.view === 'overview' ? el('button', { type: 'button', onclick: () => this.go({ zoom: null }) }, 'Show all') : null,
        state.from !== null && state.view === 'overview' ? el('button', { type: 'button', onclick: () => this.go({ view: 'responses', open: false }, true) }, 'Read responses') : null,
        state.from !== null ? el('button', { type: 'button', onclick: () => this.compare() }, 'Compare with before') : null,
        state.from !== null || state.source ? el('button', { type: 'button', onclick: () => this.go({ from: null, to: null, source: '' }) }, 'Clear') : null));
    if (focused) this.scope.elements[focused]?.focus();
  }

  typed() {
    const read = name => { const { value } = this.scope.elements[name]; return value === '' ? null : this.points.axis === 'time' ? Math.floor(new Date(value).getTime() / 1000) : Number(value); };
    let from = read('from'), to = read('to');
    if (from === null && to === null) { this.go({ from, to }); return; }
    const places = this.points.places;
    from ??= places[0] ?? 0;
    to ??= Math.max(from, places[places.length - 1] ?? from);
    if (Number.isFinite(from) && Number.isFinite(to)) this.go(from <= to ? { from, to } : { from: to, to: from });
  }

  // The range as B, and as many places before it as A.
  compare() {
    const { from, to } = this.state, places = this.points.places, inside = places.filter(at => at >= from && at <= to).length || 1;
    const before = places.filter(at => at < from), a = before.slice(-inside);
    this.go({ view: 'moved', a: a.length ? { from: a[0], to: a[a.length - 1] + this.points.width - 1 } : null, b: { from, to } }, true);
  }

  // Reasons and flags of the range, seldom while points come in.
  count(fresh) {
    const { state } = this, [low, high] = state.zoom || [null, null], from = state.from ?? low, to = state.to ?? high;
    const path = `${base}/counts?${new URLSearchParams({ axis: this.points.axis, ...from === null ? {} : { from, to }, ...state.source ? { source: state.source } : {} })}`;
    if (path === this.counted && !fresh) return;
    if (path === this.counted && this.waiting) return;
    const now = path !== this.counted;
    this.counted = path;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      this.waiting = 0;
      try {
        const counts = await ask(path, { read: JSON.parse });
        if (path === this.counted) this.overview.count(counts);
      } catch (error) {
        if (error.status === undefined) throw error;
        this.overview.failed(error.message);
      }
    }, now ? 0 : COUNT_MS);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open || !this.points) return;
    const typing = event.target.matches('input, select, textarea'), { state } = this, reading = ['responses', 'groups'].includes(state.view);
    if (event.key === 'Escape') {
      if (typing) event.target.blur();
      else if (state.open) this.go({ open: false });
      else if (state.view === 'overview' && state.from !== null) this.go({ from: null, to: null });
      return;
    }
    if (typing) return;
    if (event.key >= '1' && event.key <= '4') this.go({ view: Object.keys(VIEWS)[event.key - 1], open: false }, true);
    else if (event.key === 'j' && reading) this.rollouts.walk(1);
    else if (event.key === 'k' && reading) this.rollouts.walk(-1);
    else if (event.key === '/') { if (!reading) this.go({ view: 'responses' }, true); this.rollouts.search?.focus(); }
    else if (event.key === 'g' && state.view === 'responses') this.rollouts.openGroup();
    else if (event.key === '?') this.help.showModal();
    else return;
    event.preventDefault();
  }
}

function tell(text, state) {
  told.textContent = text;
  told.className = `told ${state}`;
}

function fail(error) {
  if (error.status === undefined && error.name !== 'AbortError') throw error;
  tell(error.message, 'bad');
  if (error.status === 401 || error.status === 403) askForKey();
  document.documentElement.dataset.ready = 'yes';
}

let page = null;
async function start() {
  page ??= new Run();
  try {
    await page.load();
    tell('', '');
    root.hidden = false;
    $('.key-form')?.setAttribute('hidden', '');
  } catch (error) {
    fail(error);
  }
}

$('.key-form')?.addEventListener('submit', event => { event.preventDefault(); start(); });
// A page that asks for a key is asked nothing before it has one: a refusal is an error in the browser's console.
if ($('#key')) {
  tell('This server shows its runs only with an API key.', 'muted');
  document.documentElement.dataset.ready = 'yes';
} else start();
