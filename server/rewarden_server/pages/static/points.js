// The points of a run: sums for each place on the axis (a step, or some seconds) and data source. They are kept in
// columns of numbers as the server sends them, and added up, column by column, for the range, the source and the width
// that a chart can show: 100,000 points take some milliseconds.

const COUNTS = ['verdicts', 'scored', 'unscored', 'passed', 'failed', 'flagged', 'no_answer', 'truncated', 'cached', 'all_pass', 'all_fail', 'mixed', 'flat', 'partly', 'single', 'judge_calls', 'judge_tokens', 'cost_usd'];
const MEANS = ['score', 'chars', 'tokens', 'run_s', 'queue_s'];
const KEPT = [...COUNTS, ...MEANS, 'mean', 'std'];

// Sums over points, an array for each figure. `positions` counts the verdicts whose score has a place in its range.
class Sums {
  constructor(length) {
    this.length = length;
    for (const name of [...COUNTS, 'positions', 'first', 'second']) this[name] = new Float64Array(length);
    for (const name of MEANS) { this[name] = new Float64Array(length); this[`${name}_of`] = new Float64Array(length); }
  }

  // Means and shares are null where there is nothing to divide by.
  reward(at) { return this.positions[at] ? this.first[at] / this.positions[at] : null; }
  mean(name, at) { return this[`${name}_of`][at] ? this[name][at] / this[`${name}_of`][at] : null; }
  share(name, at) { return this.verdicts[at] ? this[name][at] / this.verdicts[at] : null; }
  groups(at) { return this.all_pass[at] + this.all_fail[at] + this.mixed[at] + this.flat[at] + this.partly[at]; }

  // The standard error of the mean reward.
  error(at) {
    const n = this.positions[at];
    if (n < 2) return null;
    const mean = this.first[at] / n;
    return Math.sqrt(Math.max(0, this.second[at] / n - mean * mean) / (n - 1));
  }
}

export class Points {
  constructor(raw) {
    this.room = 0;
    this.reset(raw);
  }

  // Takes these points, and no others.
  reset(raw) {
    Object.assign(this, { axis: raw.axis, width: raw.width, seq: raw.seq, sources: [], known: [], count: 0, places: [], place: new Map(), ordered: true });
    this.merge(raw);
  }

  // Takes in new points, and newer sums of known ones.
  merge(raw) {
    const { points } = raw, { at: ats } = points;
    const sources = raw.sources.map(name => {
      const found = this.sources.indexOf(name);
      if (found >= 0) return found;
      this.known.push(new Map());
      return this.sources.push(name) - 1;
    });
    this.grow(this.count + ats.length);
    const rows = new Int32Array(ats.length);
    for (let from = 0; from < ats.length; from++) {
      const at = ats[from], source = sources[points.source[from]];
      let row = this.known[source].get(at);
      if (row === undefined) {
        row = this.count++;
        this.known[source].set(at, row);
        this.source[row] = source;
        this.at[row] = at;
        if (!this.place.has(at)) this.append(at);
        this.bin[row] = this.place.get(at);
      }
      rows[from] = row;
    }
    for (const name of KEPT) {
      const given = points[name], kept = this[name];
      for (let from = 0; from < rows.length; from++) kept[rows[from]] = given[from] ?? NaN;
    }
    if (!this.ordered) this.order();
    this.seq = raw.seq;
  }

  grow(least) {
    if (least <= this.room) return;
    this.room = Math.max(1024, least, 2 * this.room);
    const longer = (name, Kind) => { const made = new Kind(this.room); if (this[name]) made.set(this[name]); this[name] = made; };
    for (const name of ['at', ...KEPT]) longer(name, Float64Array);
    for (const name of ['source', 'bin']) longer(name, Int32Array);
  }

  append(at) {
    const last = this.places.length - 1;
    if (last >= 0 && at < this.places[last]) this.ordered = false;
    this.place.set(at, this.places.push(at) - 1);
  }

  // Places that came late take their place in the order.
  order() {
    this.places.sort((one, other) => one - other);
    this.place = new Map(this.places.map((at, index) => [at, index]));
    for (let row = 0; row < this.count; row++) this.bin[row] = this.place.get(this.at[row]);
    this.ordered = true;
  }

  // The sums in [from, to] (null: no bound) of one source ('' for all), at most `most` places (one more where
  // they begin amid one), each of at least `every` stored ones: `ats` in order, `ends`
  // (the last place that each holds), Sums of `all`, and of each source `by` its name.
  frame({ from = null, to = null, source = '', most = Infinity, every = 0 } = {}) {
    const { places } = this;
    const first = from === null ? 0 : lowest(places, from), last = to === null ? places.length : lowest(places, to, true);
    const count = Math.max(0, last - first), each = Math.max(every, 1, Math.ceil(count / most));
    // Cut at the same places whatever the range is, so that nothing jumps when a step comes or goes.
    const base = most === 1 ? first : first - first % each, length = count ? most === 1 ? 1 : Math.ceil((last - base) / each) : 0;
    const ats = [], ends = [];
    for (let at = 0; at < length; at++) {
      ats.push(places[Math.max(first, base + at * each)]);
      ends.push(places[Math.min(last, base + (at + 1) * each) - 1] + this.width - 1);
    }
    const only = this.sources.indexOf(source), sums = this.sources.map(() => null), rows = new Int32Array(this.count), bins = new Int32Array(this.count);
    let used = 0;
    for (let row = 0; row < this.count; row++) {
      const place = this.bin[row];
      if (place < first || place >= last || (source !== '' && this.source[row] !== only)) continue;
      rows[used] = row;
      bins[used++] = Math.floor((place - base) / each);
      sums[this.source[row]] ??= new Sums(length);
    }
    const all = new Sums(length);
    for (const name of COUNTS) this.sum(used, rows, bins, this[name], null, all[name], sums.map(one => one?.[name]));
    const ran = this.verdicts.map((count, row) => count - this.cached[row]);
    for (const [name, weights] of Object.entries({ score: this.scored, chars: this.verdicts, tokens: this.verdicts, run_s: ran, queue_s: ran })) {
      this.sum(used, rows, bins, this[name], weights, all[name], sums.map(one => one?.[name]));
      this.weigh(used, rows, bins, this[name], weights, all[`${name}_of`], sums.map(one => one?.[`${name}_of`]));
    }
    this.weigh(used, rows, bins, this.mean, this.scored, all.positions, sums.map(one => one?.positions));
    this.sum(used, rows, bins, this.mean, this.scored, all.first, sums.map(one => one?.first));
    const squares = new Float64Array(this.count);
    for (let row = 0; row < this.count; row++) squares[row] = this.mean[row] ** 2 + (this.std[row] || 0) ** 2;
    this.sum(used, rows, bins, squares, this.scored, all.second, sums.map(one => one?.second));
    const by = new Map(this.sources.map((name, at) => [name, sums[at]]).filter(([, one]) => one));
    return { ats, ends, all, by };
  }

  // Adds values, times their weights, to the bins of all and of each row's source; NaN stands for none.
  sum(used, rows, bins, values, weights, all, by) {
    for (let at = 0; at < used; at++) {
      const row = rows[at], value = weights === null ? values[row] : values[row] * weights[row];
      if (value !== value) continue;
      all[bins[at]] += value;
      by[this.source[row]][bins[at]] += value;
    }
  }

  weigh(used, rows, bins, values, weights, all, by) {
    for (let at = 0; at < used; at++) {
      const row = rows[at];
      if (values[row] !== values[row]) continue;
      all[bins[at]] += weights[row];
      by[this.source[row]][bins[at]] += weights[row];
    }
  }
}

// The first index whose place is at least `value` (or above it).
function lowest(places, value, above = false) {
  let low = 0, high = places.length;
  while (low < high) { const middle = (low + high) >> 1; if (above ? places[middle] <= value : places[middle] < value) low = middle + 1; else high = middle; }
  return low;
}
