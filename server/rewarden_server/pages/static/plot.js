// A chart over steps or time, drawn by uPlot on a canvas. What is chosen in it, and its colours, are the page's: they
// are read from the style sheet, so that light and dark are decided in one place.

import { el, replace } from './dom.js';
import { number, visible } from './text.js';

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const made = new Set();
for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) matchMedia(query).addEventListener('change', () => made.forEach(one => one.repaint()));

export const COLOURS = 8;
const DASHES = [[], [], [], [], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4]];

// The colour and the dash of the source at that place.
export const colour = at => style(`--line-${at % COLOURS}`);
export const dash = at => DASHES[at % COLOURS];

const two = value => String(value).padStart(2, '0');
// A place on the axis in words.
export function placeText(axis, at) {
  if (axis !== 'time') return number(at);
  const day = new Date(1000 * at);
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())} ${two(day.getHours())}:${two(day.getMinutes())}:${two(day.getSeconds())}`;
}

function timeTicks(plot, splits) {
  let before = '';
  const apart = splits.length > 1 ? splits[1] - splits[0] : 60;
  return splits.map(at => {
    const text = placeText('time', at), day = text.slice(5, 10), clock = apart < 60 ? text.slice(11) : text.slice(11, 16), same = day === before;
    before = day;
    return same ? clock : `${clock}\n${day}`;
  });
}

const STEPS = Array.from({ length: 27 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));
const TIMES = [1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

// lines: [{ label, stroke(), fill(), dash, width, band: [upper, lower] }]; a chart's `data` is [places, ...values of each].
export class Plot {
  // `lines` draws as uPlot's series; `format(value)` says a value, and `tick(value)` one of its axis; `low`, `high` bound the scale.
  constructor({ title, note = '', axis, height = 190, format, tick = format, low = null, high = null, onbrush, onpick, onpoint, words }) {
    Object.assign(this, { title, axis, height, format, tick, low, high, onbrush, onpick, onpoint, words, lines: [], marks: [], at: null, zoom: null });
    this.key = el('ul', { class: 'plot-key' });
    this.board = el('div', { class: 'board', role: 'slider', tabindex: 0, 'aria-label': title, 'aria-valuemin': 0, 'aria-valuemax': 0, 'aria-valuenow': 0, 'aria-valuetext': 'no points', onkeydown: event => this.press(event) });
    this.board.style.height = `${height}px`;
    this.element = el('figure', { class: 'card plot' },
      el('figcaption', {}, el('strong', {}, title), note ? el('span', { class: 'muted' }, ` ${note}`) : null, this.key), this.board);
    new ResizeObserver(() => this.fit()).observe(this.board);
    made.add(this);
  }

  // Draws anew: the same lines get new data without losing the zoom; other lines make another plot.
  show(frame, lines, bands, data) {
    const kind = JSON.stringify(lines.map(line => line.label));
    Object.assign(this, { frame, lines, bands, data });
    if (!this.board.clientWidth) return;  // not laid out yet: the observer will come
    if (this.plot && kind === this.kind) {
      this.plot.setData(data, false);
      this.scale();
    } else this.make(kind);
    const { ats } = frame;
    this.board.setAttribute('aria-valuemin', ats[0] ?? 0);
    this.board.setAttribute('aria-valuemax', ats[ats.length - 1] ?? 0);
    this.hover(this.at);
  }

  make(kind) {
    this.kind = kind;
    this.plot?.destroy();
    const grid = { stroke: () => style('--line'), width: 1 }, font = '12px system-ui, sans-serif', stroke = () => style('--muted');
    this.plot = new globalThis.uPlot({
      width: this.board.clientWidth, height: this.height, padding: [8, 12, 0, 0], pxAlign: 1,
      legend: { show: false },
      cursor: { drag: { x: false, y: false, setScale: false }, focus: { prox: 20 }, y: false, points: { size: 7 } },
      focus: { alpha: 1 },
      scales: { x: { time: false, range: () => this.span() }, y: { range: (plot, low, high) => this.bounds(low, high) } },
      axes: [
        { stroke, font, grid: { show: false }, ticks: grid, size: this.axis === 'time' ? 42 : 28, space: 64, incrs: this.axis === 'time' ? TIMES : STEPS, values: this.axis === 'time' ? timeTicks : (plot, splits) => splits.map(number) },
        { stroke, font, grid, ticks: { show: false }, size: 52, gap: 6, space: 32, values: (plot, splits) => splits.map(value => this.tick(value)) },
      ],
      series: [{}, ...this.lines.map(line => ({
        label: line.label, stroke: line.stroke ?? null, fill: line.area ? () => `${line.fill()}b8` : null, width: line.width ?? 1.75, dash: line.dash, spanGaps: true,
        points: { show: plot => plot.data[0].length < 40 && line.stroke !== undefined, size: 5, fill: line.stroke },
      }))],
      bands: this.bands,
      hooks: {
        setCursor: [plot => { if (plot.cursor.event) this.onpoint(plot.cursor.idx); }],
        setSize: [() => this.mark()], setScale: [() => this.mark()],
      },
    }, this.data, this.board);
    this.marked = [];
    this.brush(this.plot.over);
    this.mark();
  }

  fit() {
    const width = this.board.clientWidth;
    if (!width) return;
    if (!this.plot) { if (this.data) this.show(this.frame, this.lines, this.bands, this.data); } else if (width !== this.plot.width) this.plot.setSize({ width, height: this.height });
  }

  repaint() { this.plot?.redraw(false); this.legend(); }
  scale() { const [min, max] = this.span(); this.plot.setScale('x', { min, max }); }

  // One point stands in the middle, and not at both ends.
  span() {
    const { ats, ends } = this.frame, first = ats[0] ?? 0, last = ats[ats.length - 1] ?? 1;
    return first === last ? [first - 1, ends[0] + 1] : [first, last];
  }

  bounds(low, high) {
    let [from, to] = [this.low ?? low ?? 0, this.high ?? high ?? 1];
    if (from === to) to = from + 1;
    return this.high === null ? [from, to + 0.06 * (to - from)] : [from, to];
  }

  // Shades ranges: [{ from, to, name, kind }].
  mark(marks = this.marks) {
    this.marks = marks;
    if (!this.plot) return;
    for (const one of this.marked) one.remove();
    const [low, high] = this.span();
    this.marked = marks.filter(one => one.to >= low && one.from <= high).map(one => {
      const shade = el('div', { class: `shade ${one.kind || ''}` }, one.name ? el('span', {}, one.name) : null);
      const left = Math.max(0, this.plot.valToPos(one.from, 'x')), right = Math.min(this.plot.over.clientWidth, this.plot.valToPos(one.to, 'x'));
      shade.style.left = `${Math.min(left, right) - 1}px`;
      shade.style.width = `${Math.max(3, right - left + 2)}px`;
      this.plot.over.append(shade);
      return shade;
    });
  }

  // Dragging chooses a range; a click or a tap, a point.
  brush(over) {
    let start = null;
    const place = event => Math.max(0, Math.min(over.clientWidth, event.clientX - over.getBoundingClientRect().left));
    over.addEventListener('pointerdown', event => { if (event.button === 0) start = { x: place(event), moved: false }; });
    over.addEventListener('pointermove', event => {
      if (!start) return;
      const x = place(event);
      if (!start.moved && Math.abs(x - start.x) < 6) return;
      if (!start.moved) { start.moved = true; start.marks = this.marks; over.setPointerCapture(event.pointerId); }
      this.mark([...start.marks.filter(one => one.kind !== 'chosen'), { ...this.between(start.x, x), kind: 'chosen' }]);
    });
    const stop = () => { if (start?.moved) this.mark(start.marks); start = null; };
    over.addEventListener('pointercancel', stop);
    over.addEventListener('pointerup', event => {
      const done = start, x = place(event);
      stop();
      if (!done) return;
      if (done.moved) { const { from, to } = this.between(done.x, x); this.onbrush(from, to); }
      else if (this.plot.cursor.idx !== null && this.plot.cursor.idx !== undefined) this.pick(this.plot.cursor.idx, this.focused(event));
    });
  }

  // The places whose points lie between two positions; the nearest one where none does.
  between(one, other) {
    const { ats, ends } = this.frame, low = this.plot.posToVal(Math.min(one, other), 'x'), high = this.plot.posToVal(Math.max(one, other), 'x');
    const inside = ats.map((at, index) => index).filter(index => ats[index] >= low && ats[index] <= high);
    if (!inside.length) { const index = this.plot.posToIdx((one + other) / 2); return { from: ats[index], to: ends[index] }; }
    return { from: ats[inside[0]], to: ends[inside[inside.length - 1]] };
  }

  // The line nearest to the pointer, or null.
  focused(event) {
    const y = event.clientY - this.plot.over.getBoundingClientRect().top, idx = this.plot.cursor.idx;
    let best = null, least = 24;
    this.lines.forEach((line, at) => {
      const value = this.data[at + 1][idx];
      if (!line.choose || value === null || value === undefined) return;
      const far = Math.abs(this.plot.valToPos(value, 'y') - y);
      if (far < least) { least = far; best = line; }
    });
    return best;
  }

  pick(idx, line = null) { this.onpick(this.frame.ats[idx], this.frame.ends[idx], line); }

  // Shows a point's values; null: those of the last one.
  hover(idx) {
    const last = this.frame.ats.length - 1;
    this.at = idx === null || idx > last ? null : idx;
    if (this.plot && this.at !== null) this.plot.setCursor({ left: this.plot.valToPos(this.frame.ats[this.at], 'x'), top: 1 }, false);
    this.legend();
  }

  legend() {
    if (!this.frame) return;
    const idx = this.at ?? this.frame.ats.length - 1;
    const values = this.lines.map((line, at) => line.choose || line.named ? [line, line.value ? line.value(idx) : this.data[at + 1][idx]] : null).filter(Boolean);
    replace(this.key, this.at === null ? null : el('li', { class: 'muted num' }, this.words(this.frame.ats[idx], this.frame.ends[idx])), values.map(([line, value]) => {
      const swatch = el('span', { class: `swatch ${line.fill ? 'solid' : ''}`, 'aria-hidden': 'true' });
      swatch.style.color = (line.fill || line.stroke)();
      swatch.style.borderTopStyle = line.dash?.length ? 'dashed' : 'solid';
      return el('li', {}, swatch, line.choose ? el('button', { type: 'button', class: 'link', onclick: () => line.choose() }, visible(line.label)) : visible(line.label),
        el('b', { class: 'num' }, value === null || value === undefined ? '–' : this.format(value)));
    }));
    if (idx < 0) return;
    this.board.setAttribute('aria-valuenow', this.frame.ats[idx]);
    this.board.setAttribute('aria-valuetext', `${this.words(this.frame.ats[idx], this.frame.ends[idx])}: ${values.map(([line, value]) => `${line.label} ${value === null || value === undefined ? 'none' : this.format(value)}`).join(', ')}`);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.frame.ats.length) return;
    const last = this.frame.ats.length - 1, at = this.at ?? last;
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -Math.ceil(last / 10), PageDown: Math.ceil(last / 10), Home: -last, End: last }[event.key];
    if (event.key === 'Enter' || event.key === ' ') this.pick(at);
    else if (by === undefined) return;
    else {
      const next = Math.max(0, Math.min(last, at + by));
      if (event.shiftKey) {
        this.anchor ??= at;
        this.onbrush(this.frame.ats[Math.min(this.anchor, next)], this.frame.ends[Math.max(this.anchor, next)]);
      } else this.anchor = null;
      this.onpoint(next);
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

// A line of a few numbers, for lists: no axis, no library. Its scale is its own, at least a fifth of the range high, so
// that noise does not look like news.
export function spark(values, label) {
  const svg = (name, properties) => { const one = document.createElementNS('http://www.w3.org/2000/svg', name); for (const [key, value] of Object.entries(properties)) one.setAttribute(key, value); return one; };
  const picture = svg('svg', { viewBox: '0 0 120 28', class: 'spark', role: 'img', 'aria-label': label, preserveAspectRatio: 'none' });
  const known = values.map((value, at) => [at, value]).filter(([, value]) => value !== null), heights = known.map(([, value]) => value);
  const low = Math.min(...heights), spread = Math.max(0.2, Math.max(...heights) - low), base = Math.min(low, 1 - spread);
  const x = at => 2 + 116 * (values.length < 2 ? 0.5 : at / (values.length - 1)), y = value => 26 - 24 * (value - base) / spread;
  if (known.length > 1) picture.append(svg('path', { d: known.map(([at, value], index) => `${index ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join(''), 'vector-effect': 'non-scaling-stroke' }));
  else for (const [at, value] of known) picture.append(svg('circle', { cx: x(at), cy: y(value), r: 2.5 }));
  return picture;
}
