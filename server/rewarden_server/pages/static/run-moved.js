// "Why did my reward move?": two ranges side by side, what changed between them, and the rollouts that show it.

import { ask } from './ask.js';
import { el, replace } from './dom.js';
import { Plot, colour, placeText } from './plot.js';
import { promptBlock, responseBlock, verdictLine } from './report/sample.js';
import { GROUPS } from './run-overview.js';
import { nothing, readRollouts } from './run-rollouts.js';
import { rangeText } from './run-state.js';
import { dollars, number, plural, score, visible } from './text.js';

const MOST_PLACES = 600, MOST_LINES = 24, MOST_JUDGED = 50;
const Z = 1.96;
const percent = share => `${(100 * share).toFixed(1)}%`;
const signed = (value, format) => { const text = format(Math.abs(value)); return /[1-9]/.test(text) ? `${value < 0 ? '−' : '+'}${text}` : text; };
const points = share => `${(100 * share).toFixed(1)}`;

function wilson(count, total) {
  const share = count / total, z2 = Z * Z / total, middle = (share + z2 / 2) / (1 + z2), half = Z / (1 + z2) * Math.sqrt(share * (1 - share) / total + z2 / (4 * total));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

// The difference of two shares, b less a, with Newcombe's interval (95 %): it holds where shares are near 0 or 1 too.
export function compareShares(a, ofA, b, ofB) {
  if (!ofA || !ofB) return null;
  const [lowA, highA] = wilson(a, ofA), [lowB, highB] = wilson(b, ofB), shareA = a / ofA, shareB = b / ofB, difference = shareB - shareA;
  const low = difference - Math.hypot(shareB - lowB, highA - shareA), high = difference + Math.hypot(highB - shareB, shareA - lowA);
  return { a: shareA, b: shareB, difference, low, high, clear: low > 0 || high < 0 };
}

// How far the mean moved, with an interval; and how much of it happened within sources, and how much because the
// sources' shares changed. The two parts add up to the whole.
export function split(a, b) {
  const total = { a: a.all.positions[0] || 0, b: b.all.positions[0] || 0 };
  if (!total.a || !total.b) return null;
  const mean = { a: a.all.reward(0), b: b.all.reward(0) }, middle = (mean.a + mean.b) / 2;
  const rows = [...new Set([...a.by.keys(), ...b.by.keys()])].map(source => {
    const [one, other] = [a, b].map(frame => { const sums = frame.by.get(source); return sums?.positions[0] ? { weight: sums.positions[0], mean: sums.reward(0), verdicts: sums.verdicts[0] } : { weight: 0, mean: null, verdicts: sums?.verdicts[0] || 0 }; });
    const shares = [one.weight / total.a, other.weight / total.b], means = [one.mean ?? other.mean ?? middle, other.mean ?? one.mean ?? middle];
    return { source, shares, means: [one.mean, other.mean], verdicts: [one.verdicts, other.verdicts], within: (shares[0] + shares[1]) / 2 * (means[1] - means[0]), mix: (shares[1] - shares[0]) * ((means[0] + means[1]) / 2 - middle) };
  });
  const error = Math.hypot(a.all.error(0) || 0, b.all.error(0) || 0), difference = mean.b - mean.a;
  return { mean, difference, low: difference - Z * error, high: difference + Z * error, rows, within: rows.reduce((sum, row) => sum + row.within, 0), mix: rows.reduce((sum, row) => sum + row.mix, 0) };
}

const within = (range, at) => at !== null && at >= range.from && at <= range.to;

export class Moved {
  constructor(id, data, axis, go) {
    Object.assign(this, { id, points: data, axis, go, next: 'a' });
    this.plot = new Plot({
      axis, title: 'Mean reward', note: 'drag over a range for A, then over one for B', height: 200, format: value => value === null ? '–' : value.toFixed(3), tick: value => String(+value.toFixed(3)), low: 0,
      onbrush: (from, to) => this.brushed({ from, to }), onpick: (from, to) => this.brushed({ from, to }), onpoint: idx => this.plot.hover(idx), words: at => placeText(axis, at),
    });
    this.form = el('form', { class: 'scope', 'aria-label': 'Two ranges', onsubmit: event => { event.preventDefault(); this.typed(); } });
    this.result = el('div', { class: 'result' });
    this.element = el('div', { class: 'overview moved' }, el('h2', { class: 'hidden' }, 'Why did it move?'), this.plot.element, this.form, this.result);
  }

  brushed(range) {
    const { a, b } = this.state, name = this.next;
    this.next = name === 'a' ? 'b' : 'a';
    this.go({ a: name === 'a' ? range : a, b: name === 'b' ? range : b });
  }

  typed() {
    const read = name => { const { value } = this.form.elements[name]; return value === '' ? null : this.axis === 'time' ? Math.floor(new Date(value).getTime() / 1000) : Number(value); };
    const range = name => { const from = read(`${name}-from`), to = read(`${name}-to`) ?? from; return from === null ? null : from <= to ? { from, to } : { from: to, to: from }; };
    this.go({ a: range('a'), b: range('b'), source: this.form.elements.source.value });
  }

  show(state) {
    this.state = state;
    if (!state.a) this.next = 'a'; else if (!state.b) this.next = 'b';
    const frame = this.points.frame({ source: state.source, most: MOST_PLACES, every: state.every });
    this.plot.show(frame, [{ label: state.source || 'all sources', named: true, stroke: () => colour(0) }], [], [frame.ats, frame.ats.map((at, index) => frame.all.reward(index))]);
    this.plot.mark(['a', 'b'].filter(name => state[name]).map(name => ({ ...state[name], name: name.toUpperCase(), kind: name })));
    const key = JSON.stringify([state.a, state.b, state.source]);
    if (key === this.key) return;
    this.key = key;
    this.fields(state);
    this.compare(state, key);
  }

  fields(state) {
    const focused = document.activeElement?.name;
    const field = (name, label, value) => el('label', {}, el('span', {}, label), this.axis === 'time'
      ? el('input', { name, type: 'datetime-local', step: 1, value: value === null ? '' : placeText('time', value).replace(' ', 'T') })
      : el('input', { name, type: 'number', min: 0, value: value === null ? '' : value }));
    const pair = name => ['from', 'to'].map(end => field(`${name}-${end}`, `${name.toUpperCase()} ${end}`, state[name]?.[end] ?? null));
    const menu = el('select', { name: 'source' }, [['', 'all'], ...this.points.sources.map(name => [name, name || '(none)'])].map(([value, text]) => el('option', { value, selected: value === state.source }, text)));
    replace(this.form, pair('a'), pair('b'), el('label', {}, el('span', {}, 'Data source'), menu), el('div', { class: 'acts' }, el('button', { type: 'submit', class: 'main-button' }, 'Compare')));
    if (focused) this.form.elements[focused]?.focus();
  }

  async compare(state, key) {
    if (!state.a || !state.b) {
      replace(this.result, el('p', { class: 'blank muted' }, state.a ? 'Now choose B: the range to compare A with.' : 'Choose two ranges of steps: A, where the reward was as you expect it, and B, where it moved.'));
      return;
    }
    this.result.setAttribute('aria-busy', 'true');
    const words = new URLSearchParams({ a: rangeText(state.a), b: rangeText(state.b), axis: this.axis, ...state.source ? { source: state.source } : {} });
    try {
      const found = await ask(`v1/runs/${encodeURIComponent(this.id)}/moved?${words}`, { read: JSON.parse });
      if (key === this.key) await this.draw(state, found);
    } catch (error) {
      if (key !== this.key) return;
      if (error.status === undefined) throw error;
      replace(this.result, el('p', { class: 'note problem', role: 'alert' }, error.message));
    }
    if (key === this.key) this.result.removeAttribute('aria-busy');
  }

  async draw(state, { a, b, rollouts }) {
    const frames = ['a', 'b'].map(name => this.points.frame({ ...state[name], source: state.source, most: 1 })), moved = split(...frames);
    const read = rollouts.rows.id?.length ? await readRollouts(rollouts) : null;
    const empty = read ? null : await nothing('No rollouts are kept of these ranges.');
    this.judged = el('div', { class: 'rejudged' });
    replace(this.result,
      this.headline(moved, a, b),
      moved && moved.rows.length > 1 ? this.sources(moved) : null,
      this.changes(a, b, frames),
      this.fingerprints(a, b),
      el('section', { class: 'card' }, el('h3', {}, 'Rollouts that differ most'), read ? this.rollouts(read, state) : empty),
      read ? el('section', { class: 'card' }, el('h3', {}, 'Did the judge change, or the responses?'),
        el('p', {}, `Judges up to ${MOST_JUDGED} kept rollouts of B with the verifier and the parameters of A. If their verdicts stay the same, the responses changed.`),
        el('button', { type: 'button', class: 'main-button', onclick: event => this.rejudge(event.target) }, 'Judge B as in A'), this.judged) : null);
  }

  headline(moved, a, b) {
    const of = `${plural(a.verdicts, 'verdict')} in A, ${number(b.verdicts)} in B`;
    if (!moved) return el('p', { class: 'note' }, `There is no mean to compare: ${of}.`);
    const three = value => value.toFixed(3), clear = moved.low > 0 || moved.high < 0;
    return el('div', { class: 'card headline' },
      el('p', { class: 'big' }, el('span', { class: 'num' }, `${three(moved.mean.a)} → ${three(moved.mean.b)}`), ' ', el('span', { class: `num change ${clear ? moved.difference < 0 ? 'down' : 'up' : ''}` }, signed(moved.difference, three))),
      el('p', {}, `The mean reward ${clear ? moved.difference < 0 ? 'fell' : 'rose' : 'did not move clearly'}: the 95 % interval of the difference is ${signed(moved.low, three)} to ${signed(moved.high, three)}, over ${of}.`),
      moved.rows.length > 1 ? el('p', {}, `Of the difference, ${signed(moved.within, three)} happened within data sources, and ${signed(moved.mix, three)} because their shares changed.`) : null);
  }

  sources(moved) {
    const three = value => value === null ? '–' : value.toFixed(3);
    return this.sheet('Data sources', ['data source', 'share in A', 'share in B', 'mean in A', 'mean in B', 'within', 'by its share'], moved.rows.sort((a, b) => Math.abs(b.within + b.mix) - Math.abs(a.within + a.mix)).map(row => el('tr', {},
      el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', onclick: () => this.go({ source: this.state.source === row.source ? '' : row.source }) }, visible(row.source || '(none)'))),
      [...row.shares.map(percent), ...row.means.map(three), signed(row.within, three), signed(row.mix, three)].map(text => el('td', { class: 'num' }, text)))),
    'The last two columns add up to the difference of the means.');
  }

  sheet(title, heads, rows, note = '', words = 1) {
    return el('section', { class: 'card' }, el('h3', {}, title), el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': title }, el('table', {},
      el('thead', {}, el('tr', {}, heads.map((name, at) => el('th', { scope: 'col', class: at >= words ? 'num' : null }, name)))), el('tbody', {}, rows))), note ? el('p', { class: 'muted small' }, note) : null);
  }

  // What changed most, as shares.
  changes(a, b, frames) {
    const groups = counts => Object.entries(counts.groups).reduce((sum, [kind, count]) => sum + (kind in GROUPS ? count : 0), 0);
    const kinds = [
      ['reason', a.reasons, b.reasons, a.verdicts, b.verdicts, reason => ({ filter: { reason } })],
      ['flag', a.flags, b.flags, a.verdicts, b.verdicts, flag => ({ filter: { list: 'flagged', flag } })],
      ['fault', a.faults, b.faults, a.verdicts, b.verdicts, fault => ({ filter: { fault } })],
      ['status', a.statuses, b.statuses, a.verdicts, b.verdicts, state => state === 'scored' ? {} : ({ filter: { state } })],
      ['group', a.groups, b.groups, groups(a), groups(b), kind => ({ view: 'groups', mix: { all_pass: 'right', all_fail: 'wrong', mixed: 'mixed', partly: 'unscored' }[kind] || 'all' })],
    ];
    const rows = [];
    for (const [kind, one, other, ofA, ofB, choose] of kinds) {
      for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
        if (kind === 'group' && !(name in GROUPS)) continue;
        const found = compareShares(one[name] || 0, ofA, other[name] || 0, ofB);
        if (found) rows.push({ kind, name: kind === 'group' ? GROUPS[name] : name, choose: choose(name), ...found });
      }
    }
    rows.sort((x, y) => y.clear - x.clear || Math.abs(y.difference) - Math.abs(x.difference));
    const means = [['characters', 'chars', value => number(Math.round(value))], ['tokens', 'tokens', value => number(Math.round(value))], ['time per verdict', 'run_s', value => `${(1000 * value).toPrecision(3)} ms`]]
      .map(([name, key, format]) => [name, ...frames.map(frame => frame.ats.length ? frame.all.mean(key, 0) : null), format]);
    for (const [name, key, format] of [['judges’ tokens', 'judge_tokens', value => number(Math.round(value))], ['judges’ cost', 'cost_usd', dollars]])
      if (frames.some(frame => frame.all[key][0])) means.push([name, ...frames.map(frame => frame.ats.length ? frame.all.share(key, 0) : null), format]);
    const compared = means.filter(([, one, other]) => one !== null && other !== null);
    const shown = rows.slice(0, MOST_LINES);
    return el('div', { class: 'result' },
      this.sheet('What changed most', ['name', 'kind', 'in A', 'in B', 'difference', '95 % interval'], shown.map(row => el('tr', { class: row.clear ? 'clear' : null },
        el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', title: 'Read them in B', onclick: () => this.go({ view: 'responses', ...this.state.b, open: false, ...row.choose }, true) }, visible(row.name))),
        el('td', { class: 'muted' }, row.kind),
        [percent(row.a), percent(row.b), signed(row.difference, points), `${signed(row.low, points)} to ${signed(row.high, points)}`].map(text => el('td', { class: 'num' }, text)))),
      `Differences are in percentage points. Lines in bold have an interval without 0.${rows.length > shown.length ? ` ${plural(rows.length - shown.length, 'smaller one')} omitted.` : ''}`, 2),
      compared.length ? this.sheet('Means', ['of a verdict', 'in A', 'in B', 'difference'], compared.map(([name, one, other, format]) => el('tr', {}, el('th', { scope: 'row' }, name), [format(one), format(other), one ? `${signed((other - one) / one, percent)}` : '–'].map(text => el('td', { class: 'num' }, text))))) : null);
  }

  // Verifiers whose fingerprint differs between the ranges.
  fingerprints(a, b) {
    const rows = [];
    for (const name of new Set([...a.verifiers, ...b.verifiers].map(one => one.name))) {
      const [before, after] = [a, b].map(counts => counts.verifiers.filter(one => one.name === name));
      const old = new Set(before.map(one => one.fingerprint));
      for (const one of after) if (!old.has(one.fingerprint)) rows.push({ name, before, one });
    }
    const list = some => some.map(one => `${one.version} ${one.fingerprint}`).join(', ') || 'none';
    if (!rows.length) return el('p', { class: 'note' }, '✓ All verifiers have the same fingerprints in A and B: the same response gets the same verdict.');
    return this.sheet('Changed fingerprints', ['verifier', 'in A', 'in B', this.axis === 'time' ? 'first seen' : 'first seen at step'], rows.map(({ name, before, one }) => el('tr', {}, el('th', { scope: 'row' }, visible(name)), el('td', {}, el('code', {}, visible(list(before)))), el('td', {}, el('code', {}, visible(list([one])))), el('td', { class: 'num' }, placeText(this.axis, one.first)))),
      'A new fingerprint means that the verifier, its parameters or something it depends on changed.', 3);
  }

  // Responses to one prompt of both ranges stand side by side; the others by themselves.
  rollouts(data, state) {
    const { rows } = data, at = row => this.axis === 'time' ? rows.time[row] : rows.step[row];
    const prompts = new Map();
    for (let row = 0; row < data.count; row++) {
      const key = `${rows.source[row]} ${rows.prompt[row]}`;
      if (!prompts.has(key)) prompts.set(key, { a: [], b: [] });
      prompts.get(key)[within(state.b, at(row)) ? 'b' : 'a'].push(row);
    }
    const card = (row, name) => el('article', { class: `card sibling ${['passed', 'failed', 'plain', 'undecided', 'error'][data.state[row]]}`, 'aria-label': `${name.toUpperCase()}: ${rows.id[row]}` },
      el('div', { class: 'card-top' }, verdictLine(data, row), el('button', { type: 'button', class: 'link', onclick: () => this.go({ view: 'responses', ...state[name], rollout: String(rows.rollout[row]), open: true }, true) }, this.axis === 'time' ? placeText('time', at(row)) : `step ${number(at(row))}`)),
      el('p', { class: 'took' }, el('span', { class: 'muted' }, 'extracted '), rows.extracted[row] === null ? el('span', { class: 'muted' }, 'nothing') : el('code', {}, visible(rows.extracted[row]))),
      el('div', { class: 'reading', tabindex: 0, role: 'region', 'aria-label': `Response ${rows.id[row]}` }, responseBlock(data.rows.response[row])));
    const column = (some, name) => el('div', { class: 'column' }, el('h4', {}, name.toUpperCase()), some.length ? some.map(row => card(row, name)) : el('p', { class: 'muted' }, 'none kept'));
    return el('div', { class: 'rollouts pairs' }, [...prompts.values()].map(({ a, b }, place) => el('section', { class: 'pairing' },
      el('details', { open: place === 0 }, el('summary', {}, 'Prompt', el('span', { class: 'muted' }, ` · ${data.source((a[0] ?? b[0]))}`)), promptBlock(data.prompt(a[0] ?? b[0]))),
      el('div', { class: 'columns' }, column(a, 'a'), column(b, 'b')))));
  }

  async rejudge(button) {
    const { a, b, source } = this.state, { key } = this;
    button.disabled = true;
    replace(this.judged, el('p', { class: 'muted', role: 'status' }, 'Judging …'));
    try {
      const found = await ask(`v1/runs/${encodeURIComponent(this.id)}/rejudge`, { body: JSON.stringify({ a: rangeText(a), b: rangeText(b), axis: this.axis, ...source ? { source } : {}, most: MOST_JUDGED }), read: JSON.parse });
      if (key === this.key) replace(this.judged, this.differences(found));
    } catch (error) {
      if (error.status === undefined) throw error;
      replace(this.judged, el('p', { class: 'note problem', role: 'alert' }, error.message));
    }
    button.disabled = false;
  }

  differences({ exact, fingerprints, rows }) {
    const same = ({ before, after }) => ['status', 'score', 'reason'].every(name => (before[name] ?? null) === (after[name] ?? null));
    const changed = rows.filter(row => !same(row)), words = verdict => [verdict.status === 'scored' ? score(verdict.score) : verdict.status, verdict.reason].filter(Boolean).join(' · ');
    return [
      el('p', { class: `note ${changed.length ? '' : 'good-note'}`, role: 'status' }, changed.length ? `${number(changed.length)} of ${plural(rows.length, 'verdict')} differ: the judge changed, at least for these.` : `None of ${plural(rows.length, 'verdict')} differs: the judge is the same, so the responses changed.`,
        exact ? null : ` The fingerprint of A (${fingerprints.a.join(', ') || 'none'}) cannot be reproduced by this server, which now has ${fingerprints.now.join(', ') || 'none'}: verdicts show A's parameters in today's version.`),
      changed.length ? this.sheet('Verdicts that differ', ['rollout', 'as judged in B', 'as in A'], changed.map(row => el('tr', {}, el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', onclick: () => this.go({ view: 'responses', ...this.state.b, rollout: String(row.rollout), open: true }, true) }, row.step === null ? `rollout ${row.rollout}` : `rollout ${row.rollout}, step ${number(row.step)}`)), el('td', {}, visible(words(row.before))), el('td', {}, visible(words(row.after))))), '', 3) : null,
    ];
  }
}
