// The kept rollouts of a range, as the report shows them: response by response, and group by group.

import { ask } from './ask.js';
import { el, replace } from './dom.js';
import { textsOff } from './kept.js';
import { placeText } from './plot.js';
import { Data } from './report/data.js';
import { EMPTY } from './report/filters.js';
import { Groups, Responses } from './report/views.js';
import { number, plural } from './text.js';

const MOST = 2000;

// The packages for formulas and code are much larger than all scripts of ours: they come when a text needs them.
const LIBRARIES = [
  [/\\[([]|\\f?box(?:ed)?\s*\{|\\begin\{|\$/, () => import('./vendor/katex/katex.min.js')],
  [/```|~~~|<tool_(?:call|response)>/, () => import('./vendor/prismjs/prism.js')],
];

// The report's data from what the server sent: where a rollout stands on the axis is told before its id.
export async function readRollouts(raw) {
  const texts = [raw.tables.prompt, raw.rows.response].flat(Infinity);
  await Promise.all(LIBRARIES.map(([pattern, load]) => texts.some(text => pattern.test(text)) ? load() : null));
  const { rows } = raw, time = rows.time.map(at => placeText('time', at));
  rows.id = rows.id.map((id, at) => `${rows.step[at] === null ? time[at] : `step ${number(rows.step[at])}`} · ${id}`);
  rows.details = rows.details.map((details, at) => [...details, ['time', time[at]]]);
  return new Data(raw);
}

export const nothing = async words => (await ask('v1/runs')).texts ? el('p', { class: 'note', role: 'note' }, words) : textsOff();

export class Rollouts {
  constructor(id, go) {
    this.id = id;
    this.told = el('div', { class: 'told-rollouts', role: 'status' });
    this.place = el('div', { class: 'place' });
    this.element = el('div', { class: 'rollouts' }, this.told, this.place);
    this.views = {};
    // The report's views know rows and groups by number, and the page's state by name.
    this.go = (changes, push) => {
      const named = { ...changes };
      if ('row' in changes) { named.rollout = changes.row === null ? null : this.data.rows.rollout[changes.row]; delete named.row; }
      if ('group' in changes) named.group = changes.group === null ? null : this.data.tables.group[changes.group];
      if ('filter' in changes && changes.filter.source !== this.state.source) named.source = changes.filter.source;
      go(named, push);
    };
  }

  get view() { return this.views[this.state.view]; }

  // The request for what the state chooses. Where not all fits, the server filters too.
  path(state) {
    const words = new URLSearchParams({ most: MOST });
    if (state.axis) words.set('axis', state.axis);
    if (state.from !== null) { words.set('from', state.from); words.set('to', state.to); }
    if (state.source) words.set('source', state.source);
    if (this.partial && state.view === 'responses') {
      const { reason, flag, state: kind, q } = state.filter;
      if (reason && reason !== '(none)') words.set('reason', reason);
      if (flag) words.set('flag', flag);
      if (q) words.set('text', q);
      if (['undecided', 'error'].includes(kind)) words.set('status', kind);
      if (['passed', 'failed'].includes(kind)) words.set('passed', String(kind === 'passed'));
    }
    return `v1/runs/${encodeURIComponent(this.id)}/rollouts?${words}`;
  }

  async show(state) {
    this.state = state;
    const scope = JSON.stringify([state.axis, state.from, state.to, state.source]);
    if (scope !== this.scope) { this.scope = scope; this.partial = false; }
    const path = this.path(state);
    if (path !== this.asked) {
      this.asked = path;
      this.place.setAttribute('aria-busy', 'true');
      let data = null;
      try {
        const raw = await ask(path, { read: JSON.parse });
        if (path !== this.asked) return;
        const loaded = raw.rows.id?.length || 0;
        if (loaded < raw.total && !this.partial) {
          this.partial = true;
          if (this.path(this.state) !== path) { this.show(this.state); return; }
        }
        this.empty = loaded ? null : await nothing('No rollout that is kept fits. Choose a wider range, or fewer filters.');
        data = this.empty ? null : await readRollouts(raw);
        if (path !== this.asked) return;
        this.failure = null;
      } catch (error) {
        if (path !== this.asked) return;
        if (error.status === undefined) throw error;
        this.failure = error.message;
        this.asked = null;
      }
      this.place.removeAttribute('aria-busy');
      this.views = {};
      this.data = data;
      if (!this.data) {
        replace(this.told);
        replace(this.place, this.failure ? el('p', { class: 'note problem', role: 'alert' }, this.failure) : this.empty);
        return;
      }
    } else if (!this.data) return;
    this.draw(this.state);
  }

  draw(state) {
    const { data } = this;
    replace(this.told, data.count < data.total ? el('p', { class: 'note' }, `${number(data.count)} of ${plural(data.total, 'kept rollout')} are loaded; the filters search all of them.`) : null);
    this.views[state.view] ||= new { responses: Responses, groups: Groups }[state.view](data, this.go);
    const row = state.rollout === null ? -1 : data.rows.rollout.findIndex(id => String(id) === String(state.rollout));
    const group = state.group === null ? -1 : data.tables.group.indexOf(state.group);
    const focused = document.activeElement?.name, caret = document.activeElement?.selectionStart;
    if (this.place.firstChild !== this.view.element) replace(this.place, this.view.element);
    this.view.show({ ...state, filter: { ...EMPTY, ...state.filter, source: state.source }, row: row < 0 ? null : row, group: group < 0 ? null : group });
    if (focused === 'q' && document.activeElement === document.body) { this.view.bar.search.focus(); this.view.bar.search.setSelectionRange(caret, caret); }
  }

  walk(by) { this.view?.walk(by); }
  get search() { return this.view && (this.view.bar || this.view).search; }

  // The group of the response that is read.
  openGroup() {
    const row = this.views.responses?.panel.row ?? null;
    if (row === null || !this.data || this.data.rows.group[row] < 0) return false;
    this.go({ view: 'groups', group: this.data.rows.group[row], open: true }, true);
    return true;
  }
}
