// Charts, drawn by hand. Each has its figures as a table too, whose buttons do what a click on a bar does.

import { FAILED, PASSED, PLAIN, STATES } from './data.js';
import { button, el, number, percent, plural, scoreText, svg } from './dom.js';

const BINS = 20;

// How the scores of some responses are spread. `onbin(low, high)` is called for a bar that was chosen.
export function histogram(data, rows, title, subtitle, onbin) {
  const scores = rows.filter(row => data.state[row] <= PLAIN && data.rows.score[row] !== null);
  const caption = el('figcaption', {}, el('strong', {}, title), ' ', el('span', { class: 'muted' }, subtitle));
  if (!scores.length) return el('figure', { class: 'card' }, caption, el('p', { class: 'muted' }, 'Nothing scored.'));
  let low = 0, high = 1;
  for (const row of scores) {
    const range = data.rows.range[row];
    low = Math.min(low, data.rows.score[row], range ? range[0] : 0);
    high = Math.max(high, data.rows.score[row], range ? range[1] : 1);
  }
  const bins = Array.from({ length: BINS }, (_, at) => ({
    from: low + (high - low) * at / BINS, to: low + (high - low) * (at + 1) / BINS, counts: [0, 0, 0], total: 0,
  }));
  for (const row of scores) {
    const bin = bins[Math.min(BINS - 1, Math.floor((data.rows.score[row] - low) / (high - low) * BINS))];
    bin.counts[data.state[row]]++;
    bin.total++;
  }
  const most = Math.max(...bins.map(bin => bin.total));
  const width = 400, height = 132, left = 4, top = 16, base = 112, step = (width - 2 * left) / BINS;
  const bars = [];
  bins.forEach((bin, at) => {
    if (!bin.total) return;
    let y = base;
    const parts = bin.counts.map((count, state) => {
      if (!count) return null;
      const tall = Math.max(2, count / most * (base - top));
      y -= tall;
      return svg('rect', { class: `bar ${STATES[state].key}`, x: left + at * step + 1, y, width: step - 2, height: tall });
    });
    const label = bin.total === most || bin.total > most / 12
      ? svg('text', { class: 'value', x: left + (at + 0.5) * step, y: Math.max(y - 4, 10), 'text-anchor': 'middle' }, compact(bin.total)) : null;
    bars.push(svg('g', { class: 'bin', onclick: () => onbin(bin.from, bin.to) },
      svg('title', {}, `${binText(bin)}: ${plural(bin.total, 'response')}`),
      svg('rect', { class: 'reach', x: left + at * step, y: 0, width: step, height: base }), parts, label));
  });
  const told = bins.filter(bin => bin.total).map(bin => `${binText(bin)}: ${bin.total}`).join('; ');
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Histogram of scores, ${title}. ${told}` },
    bars, svg('line', { class: 'axis', x1: left, x2: width - left, y1: base + 0.5, y2: base + 0.5 }),
    [[left, low, 'start'], [width / 2, (low + high) / 2, 'middle'], [width - left, high, 'end']].map(([x, value, anchor]) =>
      svg('text', { class: 'tick', x, y: base + 15, 'text-anchor': anchor }, scoreText(value))));
  const table = el('table', { class: 'small' },
    el('thead', {}, el('tr', {}, ['score', 'passed', 'not passed', 'scored', 'all'].map((name, at) => el('th', { scope: 'col', class: at && 'num' }, name)))),
    el('tbody', {}, bins.filter(bin => bin.total).map(bin => el('tr', {},
      el('th', { scope: 'row' }, button(binText(bin), () => onbin(bin.from, bin.to), { class: 'link' })),
      [...bin.counts, bin.total].map(count => el('td', { class: 'num' }, number(count)))))));
  return el('figure', { class: 'card' }, caption, picture, el('details', {}, el('summary', {}, 'As a table'), table));
}

const compact = count => count < 10000 ? String(count) : `${Math.round(count / 1000)}k`;
const binText = bin => `${scoreText(bin.from)} to ${scoreText(bin.to)}`;

export function histogramKey() {
  return el('p', { class: 'key' }, [PASSED, FAILED, PLAIN].map(state => el('span', {},
    svg('svg', { class: 'swatch', viewBox: '0 0 12 12', 'aria-hidden': 'true' }, svg('rect', { class: `bar ${STATES[state].key}`, width: 12, height: 12 })),
    state === PLAIN ? 'scored, no notion of passing' : STATES[state].label)));
}

// Counts by name as bars that are buttons: [{name, count, state?, hint?, choose}].
// Shares are of `total`.
export function bars(title, entries, total, empty) {
  const most = Math.max(1, ...entries.map(entry => entry.count));
  const list = el('ul', { class: 'bars' }, entries.map(entry => {
    const amount = el('span', { class: `fill ${entry.state === undefined ? '' : STATES[entry.state].key}` });
    amount.style.width = `${Math.max(0.5, 100 * entry.count / most)}%`;
    return el('li', {}, button([
      el('span', { class: 'name' }, entry.name, entry.hint ? el('small', { class: 'muted' }, entry.hint) : null),
      el('span', { class: 'count' }, number(entry.count), el('span', { class: 'muted' }, ` ${percent(entry.count / total)}`)),
      el('span', { class: 'track', 'aria-hidden': 'true' }, amount)], entry.choose));
  }));
  return el('section', { class: 'card' }, el('h3', {}, title), entries.length ? list : el('p', { class: 'muted' }, empty));
}
