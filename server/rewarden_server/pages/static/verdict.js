// A verdict as a person reads it. All that it holds is shown as text.

import { chip, el, facts } from './dom.js';
import { block, bounded, marked, num, number, plural, pretty, score, seconds, shown, visible } from './text.js';

const STATES = {
  passed: ['✓', 'passed'], failed: ['✗', 'not passed'], plain: ['●', 'scored'], undecided: ['?', 'undecided'], error: ['!', 'error'],
};
const FAULTS = { policy: 'the policy’s', reference: 'the reference’s', verifier: 'a limit of the verifier', caller: 'the caller’s', infra: 'the infrastructure’s' };

export const stateOf = verdict => verdict.status !== 'scored' ? verdict.status : verdict.passed === true ? 'passed' : verdict.passed === false ? 'failed' : 'plain';

function badge(state) {
  const [glyph, label] = STATES[state] || ['•', state];
  return el('span', { class: `badge ${state}` }, el('span', { class: 'glyph', 'aria-hidden': 'true' }, glyph), label);
}

// The score between the ends of its range.
function meter(verdict, state) {
  const value = num(verdict.score), [low, high] = (verdict.range || [0, 1]).map(num);
  if (value === null || value === undefined || !(high > low)) return null;
  const bar = el('span', { class: `fill ${state}` });
  bar.style.width = `${100 * Math.min(1, Math.max(0, (value - low) / (high - low)))}%`;
  return el('div', { class: 'meter' }, el('span', { class: 'end' }, score(low)), el('span', { class: 'track', 'aria-hidden': 'true' }, bar), el('span', { class: 'end' }, score(high)));
}

const WORD = /[\p{L}\p{N}_]/u;
const joins = (before, after) => Boolean(before && after && WORD.test(before) && WORD.test(after));

// Every place of a text that is not part of a longer word or number.
function places(text, wanted, start, end) {
  const found = [];
  for (let at = text.indexOf(wanted, start); at >= 0 && at + wanted.length <= end && found.length < 200; at = text.indexOf(wanted, at + 1)) {
    const after = at + wanted.length;
    if (!joins(text[at - 1], wanted[0]) && !joins(wanted.at(-1), text[after])) found.push([at, after]);
  }
  return found;
}

// Where the rule that fired looked: the last box, or the last such tag. Null where that cannot be told.
function region(text, rule, begin) {
  if (rule === 'boxed') {
    const at = Math.max(text.lastIndexOf('\\boxed'), text.lastIndexOf('\\fbox')), open = text.indexOf('{', at);
    if (at < begin || open < 0) return null;
    for (let depth = 0, here = open; here < text.length; here++) {
      if (text[here] === '{') depth++;
      else if (text[here] === '}' && --depth === 0) return [open + 1, here];
    }
  } else if (typeof rule === 'string' && rule.startsWith('tag:')) {
    const name = rule.slice(4), at = text.lastIndexOf(`<${name}>`), end = text.indexOf(`</${name}>`, at);
    if (at >= begin && end >= 0) return [at + name.length + 2, end];
  }
  return null;
}

// Marks for what was extracted, and what to say of them: the verdict names the answer, not its place.
export function locate(text, extracted, rule) {
  const wanted = (Array.isArray(extracted) ? extracted : [extracted]).map(num).filter(item => ['string', 'number'].includes(typeof item)).map(String).filter(item => item.trim());
  if (!wanted.length) return [[], ''];
  const thought = text.lastIndexOf('</think>'), begin = thought < 0 ? 0 : thought + 8;
  const within = region(text, rule, begin), [start, end] = within || [begin, text.length];
  const marks = [];
  let several = 0, missing = 0;
  for (const item of new Set(wanted.slice(0, 8))) {
    const found = places(text, item, start, end);
    if (!found.length) missing++;
    else {
      several = Math.max(several, found.length);
      marks.push(found.at(-1));
    }
  }
  if (within && !marks.length) return [[within], 'Marked: where it was read; the extracted value is written differently there.'];
  if (!marks.length) return [[], 'The extracted value does not occur verbatim in the response, so nothing is marked.'];
  marks.sort((a, b) => a[0] - b[0]);
  const apart = marks.filter((mark, at) => at === 0 || mark[0] >= marks[at - 1][1]);
  const notes = [];
  if (several > 1 && !within) notes.push(`Marked: the last of ${several} occurrences; the verdict does not say which one was read.`);
  if (missing) notes.push('Some extracted values do not occur there verbatim.');
  return [apart, notes.join(' ')];
}

// The text that is judged: of a chat the last message of the assistant.
function judged(response) {
  if (typeof response === 'string') return response;
  if (!Array.isArray(response)) return pretty(response);
  const last = response.filter(message => message?.role === 'assistant').at(-1) ?? response.at(-1);
  return typeof last?.content === 'string' ? last.content : pretty(last?.content ?? response);
}

const section = (title, ...content) => el('section', { class: 'said' }, el('h3', { class: 'said-title' }, title), ...content);
const filled = value => value !== null && value !== undefined && (typeof value !== 'object' || Object.keys(value).length > 0);

function components(items) {
  const rows = Object.entries(items).map(([name, item]) => el('tr', {},
    el('th', { scope: 'row' }, visible(name)), el('td', { class: 'num' }, score(item.score)), el('td', {}, item.status),
    el('td', {}, visible([item.reason, item.fault && item.fault !== 'policy' ? `fault: ${item.fault}` : '', item.verifier].filter(Boolean).join(' · ')))));
  return el('div', { class: 'scroll-x', tabindex: 0 }, el('table', {}, el('thead', {}, el('tr', {}, ['Part', 'Score', 'Status', ''].map(title => title ? el('th', { scope: 'col', class: title === 'Score' && 'num' }, title) : el('td', {})))), el('tbody', {}, rows)));
}

function steps(items) {
  const rows = items.slice(0, 200).map(item => el('li', { value: num(item.index) + 1 }, el('b', { class: 'num' }, score(item.score)), ' ', item.label ? chip(visible(item.label), 'soft') : null, ' ', item.feedback ? visible(item.feedback) : null));
  return [el('ol', { class: 'steps' }, rows), items.length > 200 ? el('p', { class: 'muted' }, `and ${number(items.length - 200)} more`) : null];
}

function card(verdict, sample, at, total) {
  const state = stateOf(verdict), text = judged(sample.response), ours = verdict.fault && verdict.fault !== 'policy';
  const [marks, note] = locate(text, verdict.extracted, verdict.evidence?.rule);
  const chips = [
    verdict.reason ? chip(visible(verdict.reason)) : null,
    verdict.fault && state !== 'passed' ? chip(`fault: ${FAULTS[verdict.fault] || verdict.fault}`, ours ? 'bad' : 'soft') : null,
    (verdict.flags || []).map(flag => chip(['⚑ ', ...visible(flag)], 'flag')),
    verdict.retryable ? chip('a retry can succeed', 'soft') : null,
    verdict.exclude ? chip(['excluded', verdict.exclude_reason ? `: ${verdict.exclude_reason}` : ''], 'soft') : null,
    verdict.cached ? chip('from the cache', 'soft') : null,
  ];
  return el('article', { class: `card verdict ${state}`, 'aria-label': total > 1 ? `Verdict on sample ${at + 1}` : 'Verdict' },
    total > 1 ? el('h3', {}, `Sample ${at + 1}`) : null,
    el('div', { class: 'head' }, badge(state), el('span', { class: 'score' }, score(verdict.score)), verdict.raw !== null && verdict.raw !== undefined ? el('span', { class: 'muted' }, `raw ${bounded(shown(verdict.raw), 80).map(node => node.textContent ?? node).join('')}`) : null, meter(verdict, state)),
    el('div', { class: 'chips' }, chips),
    verdict.feedback ? section('Feedback', block(bounded(shown(verdict.feedback)))) : null,
    filled(verdict.extracted) ? section('Extracted', block(bounded(shown(verdict.extracted), 4000), 'text extracted')) : null,
    section('Response', block(marked(text, marks), 'text response'), note ? el('p', { class: 'muted small' }, note) : null),
    filled(verdict.components) ? section('Parts', components(verdict.components)) : null,
    filled(verdict.steps) ? section('Steps', steps(verdict.steps)) : null,
    filled(verdict.evidence) ? section('Evidence', block(bounded(pretty(verdict.evidence)))) : null,
    filled(verdict.effective) ? section('Effective parameters', block(bounded(pretty(verdict.effective)))) : null,
    facts([
      ['judged by', verdict.verifier ? [`${verdict.verifier.name} ${verdict.verifier.version} `, el('code', { title: 'fingerprint' }, verdict.verifier.fingerprint)] : 'none'],
      ['waited', seconds(verdict.queue_s)],
      ['took', seconds(verdict.run_s)],
    ]),
    el('details', {}, el('summary', {}, 'As JSON'), block(bounded(pretty(verdict), 60000))));
}

function group(item) {
  const { group: name, ...rest } = item;
  return el('article', { class: 'card' }, el('h3', {}, ['Group ', ...bounded(String(name), 80)]),
    facts(Object.entries(rest).map(([key, value]) => [key.replaceAll('_', ' '), value === null ? null : typeof num(value) === 'number' ? number(value) : shown(value)]), 'facts wide'));
}

// Everything that came back for what was asked.
export function verdictNodes(result, request) {
  const verdicts = result.verdicts || [];
  return [
    verdicts.map((verdict, at) => card(verdict, request.samples[num(verdict.index)] ?? { response: '' }, at, verdicts.length)),
    verdicts.length > 1 ? (result.groups || []).map(group) : null,
  ];
}

// The same in one sentence, for those who listen.
export function sentence(result) {
  const verdicts = result.verdicts || [];
  if (verdicts.length !== 1) return `${plural(verdicts.length, 'verdict')}: ${verdicts.map(verdict => score(verdict.score)).slice(0, 12).join(', ')}`;
  const [verdict] = verdicts, [, label] = STATES[stateOf(verdict)] || ['', verdict.status];
  return `${label[0].toUpperCase()}${label.slice(1)}${verdict.score === null ? '' : `, score ${score(verdict.score)}`}${verdict.reason ? `, ${verdict.reason}` : ''}.`;
}
