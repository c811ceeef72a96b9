// What came out, place by place: charts, the sources, and why verdicts fell short in the range that is chosen.

import { el, replace } from './dom.js';
import { COLOURS, Plot, colour, dash, placeText } from './plot.js';
import { bars } from './report/charts.js';
import { dollars, number, plural, seconds, visible } from './text.js';

const MOST_PLACES = 1200;
const percent = share => share === null ? '–' : `${(100 * share).toFixed(share && share < 0.01 ? 2 : 1)}%`;
const whole = share => `${+(100 * share).toFixed(2)}%`;
const reward = value => value === null ? '–' : value.toFixed(3);
const short = value => value === null ? '–' : Math.abs(value) >= 10000 ? `${+(value / 1000).toFixed(1)}k` : String(+value.toPrecision(3));
const style = name => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const GROUPS = { all_pass: 'all right', mixed: 'mixed', flat: 'flat', partly: 'partly scored', all_fail: 'all wrong' };
const GROUP_COLOURS = { all_pass: '--passed', mixed: '--line-2', flat: '--plain', partly: '--undecided', all_fail: '--line-1' };
const SHARES = { unscored: ['unscored', 3], no_answer: ['no answer', 1], truncated: ['truncated', 4], flagged: ['flagged', 5] };

// What judges cost at a place, or their tokens where they have no price.
const spent = (sums, at) => sums.cost_usd[at] ? dollars(sums.cost_usd[at]) : sums.judge_tokens[at] ? `${short(sums.judge_tokens[at])} tokens` : '–';

export class Overview {
  // `go(changes, push)` changes the page's state.
  constructor(points, axis, go) {
    Object.assign(this, { points, axis, go });
    const pick = (from, to, line) => go({ view: 'responses', from, to, open: false, ...(line?.picks || {}) }, true);
    const shared = {
      axis, onpick: pick, onbrush: (from, to) => go({ from, to }),
      onpoint: idx => this.plots.forEach(plot => plot.hover(idx)),
      words: (at, end) => `${axis === 'time' ? '' : end > at ? 'steps ' : 'step '}${placeText(axis, at)}${end > at ? ` to ${placeText(axis, end)}` : ''}`,
    };
    this.reward = new Plot({ ...shared, title: 'Mean reward by data source', note: 'position in the range of the score, ± 1 standard error', height: 270, format: reward, tick: value => String(+value.toFixed(3)), low: 0 });
    this.shares = new Plot({ ...shared, title: 'Shares of the verdicts', format: percent, tick: whole, low: 0 });
    this.groups = new Plot({ ...shared, title: 'Groups', note: 'share of each kind', format: percent, tick: whole, low: 0, high: 1 });
    this.length = new Plot({ ...shared, title: 'Response length', note: 'mean', format: short, low: 0 });
    this.latency = new Plot({ ...shared, title: 'Time per verdict', note: 'mean', format: value => value === null ? '–' : value === 0 ? '0' : seconds(value), low: 0 });
    this.cost = new Plot({ ...shared, title: 'Spent on judges', note: 'by point', format: short, low: 0 });
    this.plots = [this.reward, this.shares, this.groups, this.length, this.latency, this.cost];
    this.tiles = el('dl', { class: 'tiles figures' });
    this.table = el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Figures by data source' });
    this.bars = el('div', { class: 'grid tight' }, el('p', { class: 'muted' }, 'Loading …'));
    this.judges = el('div', {});
    this.figures = el('details', { class: 'card', ontoggle: () => this.listed() }, el('summary', {}, 'Figures by place on the axis'), el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Figures by place on the axis' }));
    this.element = el('div', { class: 'overview' },
      el('h2', { class: 'hidden' }, 'Overview'), this.tiles, this.reward.element,
      el('div', { class: 'grid plots' }, this.plots.slice(1).map(plot => plot.element)),
      el('section', { class: 'card' }, el('h3', {}, 'By data source'), this.table),
      this.bars, this.judges, this.figures);
  }

  // The state has changed, or there are new points.
  show(state) {
    this.state = state;
    const [from, to] = state.zoom || [null, null];
    this.frame = this.points.frame({ from, to, source: state.source, most: MOST_PLACES, every: state.every });
    this.chosen = this.points.frame({ from: state.from ?? from, to: state.to ?? to, source: state.source, most: 1 });
    this.draw();
    const marks = state.from === null ? [] : [{ from: state.from, to: state.to, kind: 'chosen' }];
    for (const plot of this.plots) plot.mark(marks);
    this.total();
    this.sources();
    this.listed();
  }

  draw() {
    const { frame } = this, { all, ats } = frame, each = take => ats.map((at, index) => take(index));
    const by = this.shown();
    const lines = [], bands = [], data = [ats];
    for (const { name, sums, place } of by) {
      const paint = () => colour(place), first = lines.length + 1;
      const mean = each(at => sums.reward(at)), error = each(at => sums.error(at));
      lines.push({ label: name, stroke: paint, dash: dash(place), picks: { source: name }, choose: () => this.go({ source: this.state.source === name ? '' : name }) },
        { label: `${name} +`, width: 0 }, { label: `${name} -`, width: 0 });
      data.push(mean, mean.map((value, at) => error[at] === null ? value : Math.min(1, value + error[at])), mean.map((value, at) => error[at] === null ? value : Math.max(0, value - error[at])));
      bands.push({ series: [first + 1, first + 2], fill: () => `${paint()}2e` });
    }
    this.reward.show(frame, lines, bands, data);
    this.plain(this.shares, Object.entries(SHARES).map(([key, [label, place]]) => [label, place, each(at => all.share(key, at)), { truncated: { flag: 'truncated' }, no_answer: { flag: 'no_answer' }, unscored: { list: 'unscored' }, flagged: { list: 'flagged' } }[key]]));
    const tokens = each(at => all.mean('tokens', at)), told = tokens.some(value => value !== null);
    this.plain(this.length, [['characters', 0, each(at => all.mean('chars', at))], ...(told ? [['tokens', 1, tokens]] : [])]);
    this.plain(this.latency, [['running', 0, each(at => all.mean('run_s', at))], ['waiting', 1, each(at => all.mean('queue_s', at))]]);
    this.spending(each);
    this.stack(each);
  }

  // What judges cost, or their tokens where they have no price.
  spending(each) {
    const { cost, frame: { all } } = this, priced = all.cost_usd.some(Boolean);
    cost.element.hidden = !all.judge_calls.some(Boolean);
    cost.format = cost.tick = priced ? dollars : short;
    this.plain(cost, [priced ? ['cost', 2, each(at => all.cost_usd[at])] : ['tokens', 2, each(at => all.judge_tokens[at])]]);
  }

  plain(plot, rows) {
    plot.show(this.frame, rows.map(([label, place, , filter]) => ({ label, named: true, stroke: () => colour(place), dash: dash(place), ...(filter ? { picks: { filter }, choose: () => this.go({ view: 'responses', ...this.range(), filter, open: false }, true) } : {}) })), [], [this.frame.ats, ...rows.map(([, , values]) => values)]);
  }

  // Kinds of groups, one upon another: each line is the upper edge of its kind.
  stack(each) {
    const { all } = this.frame, kinds = Object.keys(GROUPS), edges = [], bands = [];
    let below = each(() => 0);
    for (const kind of kinds) {
      below = each(at => all.groups(at) ? below[at] + all[kind][at] / all.groups(at) : null);
      edges.push(below);
    }
    kinds.forEach((kind, at) => { if (at) bands.push({ series: [at + 1, at], fill: () => `${style(GROUP_COLOURS[kind])()}b8` }); });
    const lines = kinds.map((kind, at) => ({
      label: GROUPS[kind], named: true, stroke: style(GROUP_COLOURS[kind]), width: 1, fill: style(GROUP_COLOURS[kind]), area: at === 0,
      value: idx => all.groups(idx) ? all[kind][idx] / all.groups(idx) : null,
      choose: () => this.go({ view: 'groups', ...this.range(), open: false, mix: { all_pass: 'right', all_fail: 'wrong', mixed: 'mixed', partly: 'unscored' }[kind] || 'all' }, true),
    }));
    this.groups.show(this.frame, lines, bands, [this.frame.ats, ...edges]);
    const none = !all.all_pass.length || !this.frame.ats.some((at, index) => all.groups(index));
    this.groups.element.classList.toggle('empty', none);
  }

  range() { return { from: this.state.from, to: this.state.to }; }

  // The sources with the most verdicts; the others as one.
  shown() {
    const { frame } = this, named = [...frame.by].map(([name, sums]) => ({ name, sums, place: this.points.sources.indexOf(name), verdicts: sums.verdicts.reduce((a, b) => a + b, 0) })).sort((a, b) => b.verdicts - a.verdicts || a.place - b.place);
    return named.slice(0, COLOURS).sort((a, b) => a.place - b.place);
  }

  total() {
    const { all } = this.chosen, here = this.chosen.ats.length > 0;
    const count = name => here ? all[name][0] : 0, mean = here ? all.reward(0) : null, error = here ? all.error(0) : null;
    const tile = (label, value, hint, changes) => el('div', { class: 'tile' }, el('dt', {}, label),
      el('dd', {}, changes ? el('button', { type: 'button', class: 'link', onclick: () => this.go({ view: 'responses', ...this.range(), open: false, ...changes }, true) }, value) : value, hint ? el('small', {}, hint) : null));
    const share = name => percent(here ? all.share(name, 0) : null), groups = here ? all.groups(0) : 0;
    replace(this.tiles,
      tile('Verdicts', number(count('verdicts')), `${number(count('cached'))} from the cache`, {}),
      tile('Mean reward', reward(mean), error === null ? 'of the scored' : `± ${error.toFixed(3)} standard error`),
      tile('Passed', count('passed') + count('failed') ? percent(count('passed') / (count('passed') + count('failed'))) : '–', `of ${number(count('passed') + count('failed'))} that can pass`, { filter: { state: 'passed' } }),
      tile('Unscored', share('unscored'), number(count('unscored')), { filter: { list: 'unscored' } }),
      tile('No answer', share('no_answer'), number(count('no_answer')), { filter: { flag: 'no_answer' } }),
      tile('Truncated', share('truncated'), number(count('truncated')), { filter: { flag: 'truncated' } }),
      tile('Mixed groups', groups ? percent(count('mixed') / groups) : '–', groups ? `of ${plural(groups, 'group')}` : 'no groups'),
      count('judge_calls') ? tile('Spent on judges', spent(all, 0), `${plural(count('judge_calls'), 'request')}, ${plural(count('judge_tokens'), 'token')}`) : null);
  }

  sources() {
    const asked = this.chosen.all.judge_calls[0] > 0;
    const heads = ['data source', 'verdicts', 'mean reward', '± s.e.', 'passed', 'unscored', 'no answer', 'truncated', 'flagged', 'mixed groups', 'characters', ...(asked ? ['judges'] : [])];
    const line = (name, sums, place) => {
      const passing = sums.passed[0] + sums.failed[0], groups = sums.groups(0), error = sums.error(0);
      const swatch = place === null ? null : el('span', { class: 'swatch', 'aria-hidden': 'true' });
      if (swatch) { swatch.style.color = colour(place); swatch.style.borderTopStyle = dash(place).length ? 'dashed' : 'solid'; }
      return el('tr', {}, el('th', { scope: 'row' }, swatch, place === null ? name : el('button', { type: 'button', class: 'link', 'aria-pressed': String(this.state.source === name), onclick: () => this.go({ source: this.state.source === name ? '' : name }) }, visible(name || '(none)'))),
        [number(sums.verdicts[0]), reward(sums.reward(0)), error === null ? '–' : error.toFixed(3), passing ? percent(sums.passed[0] / passing) : '–', percent(sums.share('unscored', 0)), percent(sums.share('no_answer', 0)), percent(sums.share('truncated', 0)), percent(sums.share('flagged', 0)), groups ? percent(sums.mixed[0] / groups) : '–', short(sums.mean('chars', 0)), ...(asked ? [spent(sums, 0)] : [])].map(text => el('td', { class: 'num' }, text)));
    };
    const rows = [...this.chosen.by].sort((a, b) => b[1].verdicts[0] - a[1].verdicts[0]);
    replace(this.table, el('table', {},
      el('thead', {}, el('tr', {}, heads.map((name, at) => el('th', { scope: 'col', class: at ? 'num' : null }, name)))),
      el('tbody', {}, rows.map(([name, sums]) => line(name, sums, this.points.sources.indexOf(name)))),
      rows.length > 1 ? el('tfoot', {}, line('all', this.chosen.all, null)) : null));
  }

  // What the server counted in the range.
  count(counts) {
    const { go } = this, total = counts.verdicts || 1;
    const list = (object, choose, name = visible) => Object.entries(object).filter(([, count]) => count).sort((a, b) => b[1] - a[1]).map(([key, count]) => ({ name: name(key), count, choose: () => go({ view: 'responses', ...this.range(), open: false, filter: choose(key) }, true) }));
    const unscored = Object.fromEntries(Object.entries(counts.statuses).filter(([status]) => status !== 'scored'));
    const groups = Object.entries(counts.groups).filter(([kind, count]) => kind in GROUPS && count);
    replace(this.bars,
      bars('Reasons', list(counts.reasons, reason => ({ reason })), total, 'No verdict has a reason.'),
      bars('Flags', list(counts.flags, flag => ({ list: 'flagged', flag })), total, 'No verdict has a flag.'),
      bars('Unscored', list(unscored, state => ({ state })), total, 'Every verdict has a score.'),
      bars('Fault', list(counts.faults, fault => ({ fault })), total, 'Nobody is at fault.'),
      histogram('Reward', counts.positions, value => String(+value.toFixed(3))),
      histogram('Characters', counts.lengths, short),
      groups.length ? bars('Groups', groups.map(([kind, count]) => ({ name: GROUPS[kind], count, choose: () => go({ view: 'groups', ...this.range(), open: false, mix: { all_pass: 'right', all_fail: 'wrong', mixed: 'mixed', partly: 'unscored' }[kind] || 'all' }, true) })), groups.reduce((sum, [, count]) => sum + count, 0), '') : null);
    const place = at => placeText(this.axis, at);
    replace(this.judges, counts.verifiers.length ? el('section', { class: 'card' }, el('h3', {}, 'Judged by'), el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Verifiers' }, el('table', {},
      el('thead', {}, el('tr', {}, ['verifier', 'version', 'fingerprint', 'from', 'to', 'verdicts'].map((name, at) => el('th', { scope: 'col', class: at > 2 ? 'num' : null }, name)))),
      el('tbody', {}, counts.verifiers.map(one => el('tr', {}, el('th', { scope: 'row' }, visible(one.name)), el('td', {}, visible(one.version)), el('td', {}, el('code', {}, visible(one.fingerprint))), [place(one.first), place(one.last), number(one.verdicts)].map(text => el('td', { class: 'num' }, text)))))))) : null);
  }

  failed(message) { replace(this.bars, el('p', { class: 'note problem', role: 'alert' }, message)); }

  // The same as the charts show, in at most a hundred lines whose buttons do what a click on a point does.
  listed() {
    if (!this.figures.open || !this.state) return;
    const [from, to] = this.state.zoom || [null, null], frame = this.points.frame({ from, to, source: this.state.source, most: 100 }), { all } = frame;
    replace(this.figures.lastChild, el('table', {},
      el('thead', {}, el('tr', {}, [this.axis, 'verdicts', 'mean reward', '± s.e.', 'unscored', 'no answer', 'truncated', 'flagged', 'characters'].map((name, at) => el('th', { scope: 'col', class: at ? 'num' : null }, name)))),
      el('tbody', {}, frame.ats.map((at, index) => el('tr', {},
        el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', onclick: () => this.go({ view: 'responses', from: at, to: frame.ends[index], open: false }, true) }, frame.ends[index] > at ? `${placeText(this.axis, at)} to ${placeText(this.axis, frame.ends[index])}` : placeText(this.axis, at))),
        [number(all.verdicts[index]), reward(all.reward(index)), all.error(index)?.toFixed(3) ?? '–', ...['unscored', 'no_answer', 'truncated', 'flagged'].map(name => percent(all.share(name, index))), short(all.mean('chars', index))].map(text => el('td', { class: 'num' }, text)))))));
  }
}

// Counts of values between bounds: [[low, high, count]].
function histogram(title, bins, format) {
  const most = Math.max(1, ...bins.map(([, , count]) => count)), total = bins.reduce((sum, [, , count]) => sum + count, 0);
  if (!total) return null;
  return el('section', { class: 'card' }, el('h3', {}, title), el('table', { class: 'histogram' }, el('tbody', {}, bins.map(([low, high, count]) => {
    const fill = el('span', { class: 'fill' });
    fill.style.width = `${100 * count / most}%`;
    return el('tr', {}, el('th', { scope: 'row' }, low === high ? format(low) : high === null ? `${format(low)} and more` : `${format(low)} to ${format(high)}`), el('td', { class: 'track-cell' }, el('span', { class: 'track' }, fill)), el('td', { class: 'num' }, percent(count / total)));
  }))));
}
