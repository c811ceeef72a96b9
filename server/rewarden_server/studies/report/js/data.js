// The page's data: unpacked once, then columns (one array for each property of a response) and tables of shared values.

export const STATES = [
  { key: 'passed', glyph: '✓', label: 'passed' },
  { key: 'failed', glyph: '✗', label: 'not passed' },
  { key: 'plain', glyph: '●', label: 'scored' },
  { key: 'undecided', glyph: '?', label: 'undecided', word: 'undecided' },
  { key: 'error', glyph: '!', label: 'error', word: 'error' },
  { key: 'missing', glyph: '–', label: 'no verdict', word: 'missing' },
];
export const PASSED = 0, FAILED = 1, PLAIN = 2, UNDECIDED = 3, ERROR = 4, MISSING = 5;

// How a score that a row had already compares with ours.
export const VERSUS = {
  only_theirs: 'theirs passes, ours fails', only_ours: 'theirs fails, ours passes', unscored: 'ours has no score', agree: 'both agree', without: 'no score of theirs',
};

export async function unpack(element) {
  const text = atob(element.textContent.trim());
  element.remove();
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

export class Data {
  constructor(raw) {
    Object.assign(this, raw);
    const rows = raw.rows;
    this.count = rows.id ? rows.id.length : 0;
    this.state = new Uint8Array(this.count);
    this.members = raw.tables.group.map(() => []);
    for (let row = 0; row < this.count; row++) {
      const passed = rows.passed[row];
      this.state[row] = rows.status[row] === 1 ? UNDECIDED : rows.status[row] === 2 ? ERROR : rows.status[row] === 3 ? MISSING
        : passed === null ? PLAIN : passed ? PASSED : FAILED;
      if (rows.group[row] >= 0) this.members[rows.group[row]].push(row);
    }
    this.groups = this.members.map((members, group) => this.describeGroup(group, members));
  }

  describeGroup(group, members) {
    let passed = 0, judged = 0, scored = 0, sum = 0, low = Infinity, high = -Infinity;
    for (const row of members) {
      const score = this.rows.score[row];
      if (this.state[row] === PASSED) passed++;
      if (this.state[row] <= FAILED) judged++;
      if (this.state[row] <= PLAIN && score !== null) {
        scored++; sum += score; low = Math.min(low, score); high = Math.max(high, score);
      }
    }
    return { group, members, passed, judged, scored, mean: scored ? sum / scored : null, spread: scored ? high - low : 0 };
  }

  source(row) { return this.tables.source[this.rows.source[row]] || '(none)'; }
  verifier(row) { return this.tables.verifier[this.rows.verifier[row]][0] || '(none)'; }
  reason(row) { const at = this.rows.reason[row]; return at < 0 ? null : this.tables.reason[at]; }
  flags(row) { return this.rows.flags[row].map(at => this.tables.flag[at]); }
  prompt(row) { return this.tables.prompt[this.rows.prompt[row]]; }
  reference(row) { const at = this.rows.reference[row]; return at < 0 ? null : this.tables.reference[at]; }
  groupName(group) { const name = this.tables.group[group]; return name.startsWith('@row:') ? `row ${+name.slice(5) + 1}` : name; }

  // Whether a response's texts hold a word, which is in lower case.
  mentions(row, word) {
    const rows = this.rows;
    if (rows.id[row].toLowerCase().includes(word)) return true;
    if (rows.extracted[row] !== null && rows.extracted[row].toLowerCase().includes(word)) return true;
    for (const [, pieces] of rows.response[row]) if (plain(pieces).toLowerCase().includes(word)) return true;
    return this.promptMentions(rows.prompt[row], word);
  }

  promptMentions(prompt, word) {
    if (this.asked !== word) { this.asked = word; this.answers = new Int8Array(this.tables.prompt.length); }
    if (!this.answers[prompt]) {
      const found = this.tables.prompt[prompt].some(([, pieces]) => plain(pieces).toLowerCase().includes(word));
      this.answers[prompt] = found ? 1 : -1;
    }
    return this.answers[prompt] > 0;
  }
}

// An excerpt as one text. Its pieces are texts, [marked text], and numbers of characters that were left out.
function plain(pieces) {
  if (pieces.length === 1 && typeof pieces[0] === 'string') return pieces[0];
  return pieces.map(piece => typeof piece === 'string' ? piece : typeof piece === 'number' ? ' … ' : piece[0]).join('');
}
