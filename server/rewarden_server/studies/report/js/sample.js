// One response: what was asked, what was answered, and what the verdict says of it.

import { PASSED, STATES, VERSUS } from './data.js';
import { button, el, excerptNodes, number, plural, replace, scoreText, stateBadge } from './dom.js';
import { messageBlock } from './texts.js';

export function promptBlock(messages) {
  if (!messages.length) return el('p', { class: 'muted' }, 'The rows have no prompt.');
  const last = messages[messages.length - 1], earlier = messages.slice(0, -1);
  return [
    earlier.length ? el('details', { class: 'earlier' }, el('summary', {}, plural(earlier.length, 'earlier message')), earlier.map(([role, pieces]) => messageBlock(role, pieces))) : null,
    messageBlock(last[0], last[1]),
  ];
}

export function responseBlock(messages) {
  return messages.length ? messages.map(([role, pieces]) => messageBlock(messages.length > 1 ? role : '', pieces)) : el('p', { class: 'muted' }, 'No response in this row.');
}

export function verdictLine(data, row) {
  const reason = data.reason(row), fault = data.rows.fault[row];
  return el('div', { class: 'verdict' },
    stateBadge(data.state[row]),
    el('span', { class: 'score', title: 'score' }, scoreText(data.rows.score[row])),
    reason ? el('span', { class: 'chip' }, reason) : null,
    data.rows.theirs[row] !== null ? el('span', { class: 'chip soft', title: VERSUS[data.rows.versus[row]] ?? 'the score in the file' }, `baseline ${scoreText(data.rows.theirs[row])}`) : null,
    fault && data.state[row] !== PASSED ? el('span', { class: 'chip soft' }, `fault: ${fault}`) : null,
    data.flags(row).map(flag => el('span', { class: 'chip flag' }, el('span', { 'aria-hidden': 'true' }, '⚑ '), flag)));
}

// What the verdict says for people, the tests that ran, and the rest folded.
function verdictBlocks(details, tests) {
  const feedback = details.filter(([key]) => key === 'feedback'), parts = details.filter(([key]) => /^(component|step) /.test(key));
  const rest = details.filter(one => !feedback.includes(one) && !parts.includes(one));
  return [
    feedback.length ? [el('h3', {}, 'Feedback'), el('div', { class: tests ? null : 'prose' }, feedback.map(([, text]) => messageBlock('', [text])))] : null,
    parts.length ? [el('h3', {}, 'Parts'), el('dl', { class: 'details said' }, parts.map(detail))] : null,
    tests ? testTable(tests) : null,
    rest.length ? el('details', { class: 'evidence' }, el('summary', {}, `Evidence (${number(rest.length)})`), el('dl', { class: 'details' }, rest.map(detail))) : null,
  ];
}

const detail = ([key, value]) => [el('dt', {}, key), el('dd', {}, value)];

const ENDS = { AC: 'passed', WA: 'wrong answer', PE: 'presentation error', TLE: 'time limit', MLE: 'memory limit', OLE: 'output limit', RE: 'runtime error', CE: 'compile error', IE: 'internal error', SK: 'skipped' };
const kindOf = word => word === 'AC' ? 'passed' : word === 'SK' ? 'plain' : word === 'IE' ? 'error' : 'failed';

function testTable({ passed, total, listed }) {
  const notes = listed.some(([, , , , note]) => note);
  const table = el('table', { class: 'tests' },
    el('thead', {}, el('tr', {}, ['test', 'end', 'CPU time', 'memory', ...(notes ? ['told'] : [])].map((name, at) => el('th', { scope: 'col', class: (at === 2 || at === 3) && 'num' }, name)))),
    el('tbody', {}, listed.map(([id, word, time, memory, note]) => el('tr', {},
      el('th', { scope: 'row' }, id),
      el('td', {}, el('span', { class: `badge ${kindOf(word)}` }, el('span', { class: 'glyph', 'aria-hidden': 'true' }, word === 'AC' ? '✓' : word === 'SK' ? '–' : '✗'), ENDS[word] || word)),
      el('td', { class: 'num' }, time === null ? '–' : `${(1000 * time).toFixed(0)} ms`),
      el('td', { class: 'num' }, memory === null ? '–' : `${(memory / 2 ** 20).toFixed(1)} MiB`),
      notes ? el('td', { class: 'told' }, note) : null))));
  return [
    el('h3', {}, `Tests: ${number(passed)} of ${number(total)} passed`),
    el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Tests' }, table),
    listed.length < total ? el('p', { class: 'muted' }, `${plural(total - listed.length, 'test')} not listed.`) : null,
  ];
}

// One response under two judgements.
export function differencePanel(a, b, row, names) {
  const reference = a.reference(row);
  const side = (data, letter, name) => {
    const [judge, version, fingerprint] = data.tables.verifier[data.rows.verifier[row]];
    return el('section', { class: 'card side-card', 'aria-label': letter },
      el('h3', {}, `${letter} · `, el('span', { class: 'named' }, name)), verdictLine(data, row),
      judge ? el('p', { class: 'from muted' }, `${judge} ${version}`, fingerprint ? el('code', {}, ` ${fingerprint}`) : null) : null,
      el('p', { class: 'took' }, el('span', { class: 'muted' }, 'extracted '), data.rows.extracted[row] === null ? el('span', { class: 'muted' }, 'nothing') : el('code', {}, data.rows.extracted[row])),
      verdictBlocks(data.rows.details[row], data.rows.tests[row]));
  };
  const marks = data => JSON.stringify(data.rows.response[row]), same = marks(a) === marks(b);
  return [
    el('p', { class: 'from muted' }, a.source(row)),
    el('div', { class: 'pair' }, side(a, 'A', names[0]), side(b, 'B', names[1])),
    el('h3', {}, 'Reference'), el('pre', { class: 'text' }, reference ? excerptNodes(reference) : el('span', { class: 'muted' }, 'none')),
    el('h3', {}, 'Prompt'), promptBlock(a.prompt(row)),
    same ? [el('h3', {}, 'Response'), responseBlock(a.rows.response[row])] : el('div', { class: 'pair' },
      [[a, 'as A read it'], [b, 'as B read it']].map(([data, label]) => el('div', {}, el('h3', {}, `Response, ${label}`), responseBlock(data.rows.response[row])))),
  ];
}

export class SamplePanel {
  constructor(data, go) {
    this.data = data;
    this.go = go;
    this.element = el('section', { class: 'panel detail', tabindex: -1, 'aria-label': 'The selected response' });
  }

  show(row, place) {
    if (row === this.row && place.total === this.total && place.at === this.at) return;
    Object.assign(this, { row, total: place.total, at: place.at });
    if (row === null) {
      replace(this.element, el('p', { class: 'blank muted' }, 'No response selected.'));
      return;
    }
    const data = this.data, [name, version, fingerprint] = data.tables.verifier[data.rows.verifier[row]];
    const reference = data.reference(row);
    replace(this.element,
      el('div', { class: 'bar-top' },
        button('← List', () => this.go({ open: false }), { class: 'back' }),
        el('h2', {}, data.rows.id[row]),
        el('div', { class: 'steps' },
          el('span', { class: 'muted' }, place.at >= 0 ? `${number(place.at + 1)} of ${number(place.total)}` : 'not in the list'),
          button('↑', () => place.walk(-1), { 'aria-label': 'Previous response', title: 'Previous (k)' }),
          button('↓', () => place.walk(1), { 'aria-label': 'Next response', title: 'Next (j)' }))),
      verdictLine(data, row),
      el('p', { class: 'from muted' }, data.source(row), name ? ` · judged by ${name} ${version}` : null, fingerprint ? el('code', {}, ` ${fingerprint}`) : null),
      this.siblings(row),
      el('div', { class: 'pair' },
        el('div', {}, el('h3', {}, 'Extracted'), el('pre', { class: 'text' }, data.rows.extracted[row] ?? el('span', { class: 'muted' }, 'nothing'))),
        el('div', {}, el('h3', {}, 'Reference'), el('pre', { class: 'text' }, reference ? excerptNodes(reference) : el('span', { class: 'muted' }, 'none')))),
      el('h3', {}, 'Prompt'), promptBlock(data.prompt(row)),
      el('div', { class: 'heading' }, el('h3', {}, 'Response'), this.jump(row)), responseBlock(data.rows.response[row]),
      verdictBlocks(data.rows.details[row], data.rows.tests[row]));
    this.element.scrollTop = 0;
  }

  // To the judged answer, which in a long response is far down.
  jump(row) {
    if (!this.data.rows.response[row].some(([, pieces]) => pieces.some(Array.isArray))) return null;
    return button('jump to the answer', () => this.element.querySelector('mark').scrollIntoView({ block: 'center' }), { class: 'link' });
  }

  siblings(row) {
    const data = this.data, group = data.rows.group[row];
    if (group < 0) return null;
    const { members, passed, judged } = data.groups[group];
    if (members.length < 2) return null;
    const near = Math.max(0, Math.min(members.indexOf(row) - 12, members.length - 24));
    return el('nav', { class: 'siblings', 'aria-label': 'Siblings' },
      el('span', { class: 'muted' }, `Group ${data.groupName(group)} · ${judged ? `${passed} of ${judged} passed` : plural(members.length, 'response')}`),
      el('span', { class: 'dots' }, members.slice(near, near + 24).map((one, at) => {
        const { key, glyph, label } = STATES[data.state[one]];
        return button(glyph, () => this.go({ row: one }), { class: `dot ${key}`, 'aria-current': one === row && 'true', 'aria-label': `Sibling ${near + at + 1}: ${label}, score ${scoreText(data.rows.score[one])}`, title: `${data.rows.id[one]}: ${label}, ${scoreText(data.rows.score[one])}` });
      })),
      button('Side by side', () => this.go({ view: 'groups', group, open: true }, true), { class: 'link' }));
  }
}
