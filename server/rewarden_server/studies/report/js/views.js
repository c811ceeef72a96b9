// The three views: what came out, response by response, and group by group.

import { bars, histogram, histogramKey } from './charts.js';
import { PASSED, PLAIN, STATES, VERSUS } from './data.js';
import { button, el, excerptNodes, number, percent, plural, put, replace, scoreText, stateBadge } from './dom.js';
import { FilterBar, select, tally } from './filters.js';
import { SamplePanel, promptBlock, responseBlock, verdictLine } from './sample.js';
import { Scroller } from './scroller.js';

// One column: the list and what is chosen in it take turns.
const narrow = matchMedia('(max-width: 59.99rem)');

export class Overview {
  constructor(data, go) {
    this.data = data;
    this.element = el('div', { class: 'overview' });
    const pick = changes => go({ view: 'responses', filter: { ...EMPTY, ...changes }, row: null, open: false }, true);
    const rows = Array.from({ length: data.count }, (_, row) => row);
    const total = data.summary;
    put(this.element, el('h2', { class: 'hidden' }, 'Overview'), this.notes(), total.baseline ? this.disagreements(total.baseline, pick) : null, this.figures(total, pick));
    if (total.responses) put(this.element,
      el('section', { class: 'card wide' }, el('h3', {}, 'By data source'), this.table(total, pick)),
      el('div', { class: 'grid charts' }, this.histograms(rows, pick)),
      histogramKey(),
      el('div', { class: 'grid tight' },
        bars('Reasons', this.reasons(state => state <= PLAIN, pick), data.count, 'No verdict has a reason.'),
        bars('Unscored', this.reasons(state => state > PLAIN, pick), data.count, 'Every response has a score.'),
        bars('Flags', tally(data, row => data.flags(row)).map(([name, count]) => ({ name, count, choose: () => pick({ list: 'flagged', flag: name }) })), data.count, 'No verdict has a flag.'),
        bars('Groups', Object.entries(MIXES).slice(1).map(([mix, [name, fits]]) => ({
          name, count: data.groups.filter(fits).length, choose: () => go({ view: 'groups', mix, gq: '', group: null, open: false }, true),
        })).filter(one => one.count), data.groups.length, 'The rows have no groups.')));
    put(this.element,
      el('section', { class: 'card wide' }, el('h3', {}, 'How the rows were read'),
        el('pre', { class: 'plan' }, data.columns.join('\n')),
        el('p', { class: 'muted' }, `Texts are cut to about ${number(data.chars)} characters; the text around the judged answer is kept. The scored files contain everything.`)));
  }

  notes() {
    const data = this.data, told = [];
    if (data.count < data.total + (data.listed ? data.unjudged : 0)) told.push(`This report shows ${number(data.count)} of ${number(data.total + (data.listed ? data.unjudged : 0))} responses: whole groups drawn at random, unscored ones first. The table counts all responses; charts, lists and groups only those shown.`);
    if (data.unjudged) told.push(`${plural(data.unjudged, 'response')} without a verdict${data.listed ? ': listed, but not counted' : ' omitted'}.`);
    if (data.unread) told.push(`${plural(data.unread, 'line')} could not be read.`);
    return told.map(text => el('p', { class: 'note', role: 'note' }, text));
  }

  // Where the scores that the rows had already and ours part, the largest classes first.
  disagreements(told, pick) {
    const line = ({ kind, reason, count, share, rows }) => el('tr', {},
      el('th', { scope: 'row' }, button(VERSUS[kind], () => pick({ versus: kind, reason: reason === '(other)' ? '' : reason ?? '(none)' }), { class: 'link' })),
      el('td', {}, reason ?? (kind === 'only_ours' ? 'accepted' : 'no reason')), el('td', { class: 'num' }, number(count)), el('td', { class: 'num' }, percent(share)),
      el('td', {}, rows.join(', '), count > rows.length ? ', …' : ''));
    const missing = [told.unscored && `${number(told.unscored)} have no score of ours`, told.without && `${number(told.without)} have none of theirs`].filter(Boolean);
    return el('section', { class: 'card wide versus' }, el('h3', {}, 'Where the scores in the file and ours disagree'),
      el('p', {}, `${number(told.disagree)} of ${plural(told.compared, 'response')} with both scores (${percent(told.disagree_share)}): ${number(told.only_theirs)} pass only by the file's column ${told.column} (from ${told.passes_from}), ${number(told.only_ours)} only by ours.`),
      missing.length ? el('p', { class: 'muted' }, `${missing.join('; ')}.`) : null,
      told.classes.length ? el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Disagreements by reason' }, el('table', {},
        el('thead', {}, el('tr', {}, ['disagreement', 'our reason', 'responses', 'share', 'for example'].map((name, at) => el('th', { scope: 'col', class: (at === 2 || at === 3) && 'num' }, name)))),
        el('tbody', {}, told.classes.map(line)))) : null);
  }

  figures(total, pick) {
    const best = Object.entries(total.pass_at).filter(([k]) => k > 1).pop();
    const interval = total.passed_interval_95;
    const tile = (label, value, hint, choose) => el('div', { class: 'tile' }, el('dt', {}, label),
      el('dd', {}, choose ? button(value, choose, { class: 'link' }) : value, hint ? el('small', {}, hint) : null));
    const unscored = total.undecided + total.error, unjudged = this.data.listed ? this.data.unjudged : 0;
    const responses = tile('Responses', number(total.responses + unjudged), unjudged ? `${number(unjudged)} without a verdict` : `in ${plural(total.rows, 'row')}`, () => pick({}));
    if (!total.responses) return el('dl', { class: 'tiles' }, responses);
    return el('dl', { class: 'tiles' }, responses,
      tile('Mean score', total.mean_score_over_scored === null ? '–' : total.mean_score_over_scored.toFixed(3), 'of the scored'),
      tile('Passed', percent(total.passed_share), interval ? `95 %: ${percent(interval[0])} to ${percent(interval[1])}` : 'not decided', () => pick({ state: 'passed' })),
      best ? tile(`pass@${best[0]}`, percent(best[1].mean), `over ${plural(best[1].groups, 'group')}`) : null,
      tile('Unscored', number(unscored), unscored ? `${number(total.undecided)} undecided, ${number(total.error)} error` : 'all have a score', () => pick({ list: 'unscored' })),
      tile('No answer', percent(total.no_answer_share), 'of the responses', () => pick({ flag: 'no_answer' })),
      tile('Truncated', percent(total.truncated_share), 'of the responses', () => pick({ flag: 'truncated' })));
  }

  table(total, pick) {
    const heads = ['data source', 'responses', 'scored', 'undecided', 'error', 'mean', 'passed', '95 % interval', 'no answer', 'truncated'];
    const line = (name, counts, choose) => el('tr', {},
      el('th', { scope: 'row' }, choose ? button(name, choose, { class: 'link' }) : name),
      [number(counts.responses), number(counts.scored), number(counts.undecided), number(counts.error),
        counts.mean_score_over_scored === null ? '–' : counts.mean_score_over_scored.toFixed(3), percent(counts.passed_share),
        counts.passed_interval_95 ? `${percent(counts.passed_interval_95[0])} to ${percent(counts.passed_interval_95[1])}` : '–',
        percent(counts.no_answer_share), percent(counts.truncated_share)].map(text => el('td', { class: 'num' }, text)));
    const sources = Object.entries(total.by_data_source);
    return el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Figures by data source' }, el('table', {},
      el('thead', {}, el('tr', {}, heads.map((name, at) => el('th', { scope: 'col', class: at && 'num' }, name)))),
      el('tbody', {}, sources.map(([name, counts]) => line(name, counts, () => pick({ source: name })))),
      sources.length > 1 ? el('tfoot', {}, line('all', total)) : null));
  }

  histograms(rows, pick) {
    const data = this.data, kinds = new Map();
    for (const row of rows) {
      const key = `${data.rows.source[row]} ${data.rows.verifier[row]}`;
      if (!kinds.has(key)) kinds.set(key, []);
      kinds.get(key).push(row);
    }
    const each = [...kinds.values()].sort((a, b) => b.length - a.length);
    const shown = each.slice(0, 24).map(some => histogram(data, some, data.source(some[0]), `${data.verifier(some[0])} · ${plural(some.length, 'response')}`,
      (low, high) => pick({ source: data.source(some[0]), verifier: data.verifier(some[0]), low: rounded(low, Math.floor), high: rounded(high, Math.ceil) })));
    if (each.length > 1) shown.unshift(histogram(data, rows, 'All scores', plural(rows.length, 'response'), (low, high) => pick({ low: rounded(low, Math.floor), high: rounded(high, Math.ceil) })));
    if (each.length > 24) shown.push(el('p', { class: 'note' }, `${each.length - 24} smaller sources have no separate chart.`));
    return shown;
  }

  // Why responses of some states fell short, and whose fault that was.
  reasons(fits, pick) {
    const data = this.data, counts = new Map();
    for (let row = 0; row < data.count; row++) {
      const state = data.state[row], reason = data.reason(row), fault = data.rows.fault[row] ?? null;
      if (!fits(state) || (state <= PLAIN && reason === null)) continue;
      const key = JSON.stringify(state <= PLAIN ? [null, reason, fault] : [state, reason, fault]);
      counts.set(key, (counts.get(key) || 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1]).map(([key, count]) => {
      const [state, reason, fault] = JSON.parse(key);
      return {
        name: state === null ? reason : `${STATES[state].glyph} ${reason ?? STATES[state].label}`,
        hint: [state === null ? null : STATES[state].label, fault && `fault: ${fault}`].filter(Boolean).join(', '), count, state: state ?? undefined,
        choose: () => pick({ state: state === null ? '' : STATES[state].key, reason: reason ?? '(none)', fault: fault ?? '(none)' }),
      };
    });
  }

  show() {}
}

const rounded = (value, round) => String(round(value * 1e6 - (round === Math.ceil ? 1e-3 : -1e-3)) / 1e6);

export class Responses {
  constructor(data, go) {
    this.data = data;
    this.go = go;
    this.bar = new FilterBar(data, filter => go({ filter, row: null, open: false }));
    this.count = el('p', { class: 'counted muted', role: 'status' });
    this.list = new Scroller('Responses', 60, row => this.entry(row), (row, opened) => go({ row, open: opened }, opened && narrow.matches));
    this.panel = new SamplePanel(data, go);
    this.element = el('div', { class: 'split' }, el('div', { class: 'side' }, el('h2', { class: 'hidden' }, 'Responses'), this.bar.element, this.count, this.list.element), this.panel.element);
  }

  entry(row) {
    const data = this.data, told = data.reason(row) || (data.state[row] === PASSED ? '' : STATES[data.state[row]].label);
    return [
      el('span', { class: 'line' }, stateBadge(data.state[row], { text: false }), el('span', { class: 'score' }, scoreText(data.rows.score[row])), el('span', { class: 'id' }, data.rows.id[row]),
        data.rows.flags[row].length ? el('span', { class: 'flagged', title: data.flags(row).join(', ') }, '⚑', el('span', { class: 'hidden' }, `flags: ${data.flags(row).join(', ')}`)) : null),
      el('span', { class: 'line muted' }, el('span', { class: 'id' }, [told, data.rows.extracted[row]].filter(Boolean).join(' · ') || data.source(row))),
    ];
  }

  show(state) {
    const key = JSON.stringify(state.filter);
    if (key !== this.key) { this.key = key; this.found = select(this.data, state.filter); }
    this.bar.show(state.filter);
    this.count.textContent = this.found.length === this.data.count ? plural(this.data.count, 'response') : `${number(this.found.length)} of ${plural(this.data.count, 'response')}`;
    const row = state.row ?? (this.found.length ? this.found[0] : null);
    this.list.show(this.found, row);
    this.panel.show(row, { at: this.list.chosen, total: this.found.length, walk: by => this.list.walk(by) });
    this.element.classList.toggle('open', state.open && row !== null);
  }

  walk(by) { this.list.walk(by); }
}

export const MIXES = {
  all: ['All', () => true],
  mixed: ['Mixed', group => group.passed > 0 && group.passed < group.judged],
  right: ['All passed', group => group.judged > 0 && group.passed === group.judged],
  wrong: ['None passed', group => group.judged > 0 && group.passed === 0],
  unscored: ['With unscored', group => group.scored < group.members.length],
};
const MOST_CARDS = 32;

export class Groups {
  constructor(data, go) {
    this.data = data;
    this.go = go;
    this.mixes = el('div', { class: 'segments', role: 'group', 'aria-label': 'Which groups' }, Object.entries(MIXES).map(([key, [label]]) =>
      button(label, () => go({ mix: key, group: null, open: false }), { 'data-mix': key })));
    this.search = el('input', { type: 'search', placeholder: 'Search groups and prompts', 'aria-label': 'Search groups and prompts', autocomplete: 'off', spellcheck: 'false' });
    this.search.addEventListener('input', () => { clearTimeout(this.timer); this.timer = setTimeout(() => go({ gq: this.search.value, group: null, open: false }), 120); });
    this.count = el('p', { class: 'counted muted', role: 'status' });
    this.list = new Scroller('Groups', 60, group => this.entry(group), (group, opened) => go({ group, open: opened }, opened && narrow.matches));
    this.panel = el('section', { class: 'panel siblings-panel', tabindex: -1, 'aria-label': 'The selected group' });
    this.element = el('div', { class: 'split' }, el('div', { class: 'side' }, el('h2', { class: 'hidden' }, 'Groups'),
      el('form', { class: 'filters', role: 'search', onsubmit: event => event.preventDefault() }, this.mixes, this.search), this.count, this.list.element), this.panel);
  }

  entry(group) {
    const { members, passed, judged, mean } = this.data.groups[group];
    const dots = members.slice(0, 20).map(row => el('span', { class: `mini ${STATES[this.data.state[row]].key}` }, STATES[this.data.state[row]].glyph));
    return [
      el('span', { class: 'line' }, el('span', { class: 'score' }, judged ? `${passed}/${judged}` : `${members.length}`), el('span', { class: 'id' }, this.data.groupName(group)), el('span', { class: 'muted' }, `mean ${mean === null ? '–' : mean.toFixed(2)}`)),
      el('span', { class: 'line', 'aria-hidden': 'true' }, dots, members.length > 20 ? el('span', { class: 'muted' }, `+${members.length - 20}`) : null),
    ];
  }

  show(state) {
    const key = `${state.mix} ${state.gq}`;
    if (key !== this.key) {
      this.key = key;
      const word = state.gq.trim().toLowerCase(), fits = MIXES[state.mix][1], data = this.data;
      this.found = data.groups.filter(one => fits(one) && (!word || data.groupName(one.group).toLowerCase().includes(word) || data.promptMentions(data.rows.prompt[one.members[0]], word))).map(one => one.group);
    }
    for (const one of this.mixes.children) one.setAttribute('aria-pressed', String(one.dataset.mix === state.mix));
    if (this.search !== document.activeElement) this.search.value = state.gq;
    this.count.textContent = plural(this.found.length, 'group');
    const group = state.group ?? (this.found.length ? this.found[0] : null);
    this.list.show(this.found, group);
    this.draw(group);
    this.element.classList.toggle('open', state.open && group !== null);
  }

  draw(group) {
    if (group === this.group) return;
    this.group = group;
    if (group === null) {
      replace(this.panel, el('p', { class: 'blank muted' }, this.data.groups.length ? 'No group selected.' : 'The rows have no groups.'));
      return;
    }
    const data = this.data, { members, passed, judged, mean } = data.groups[group];
    const reference = data.reference(members[0]);
    const cards = el('div', { class: 'cards' });
    const more = button('', () => add(), { class: 'wide-button' });
    // To the judged answer, once a card is seen: browsers lay out no formulas of others until then.
    const seen = new IntersectionObserver(found => {
      for (const { target, isIntersecting } of found) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        const mark = target.querySelector('mark');
        if (mark && target.scrollTop === 0) target.scrollTop = mark.offsetTop - target.clientHeight + 60;
      }
    });
    let shown = 0;
    const add = () => {
      const fresh = members.slice(shown, shown + MOST_CARDS).map((row, at) => this.card(row, shown + at + 1));
      cards.append(...fresh);
      shown = Math.min(members.length, shown + MOST_CARDS);
      more.hidden = shown === members.length;
      for (const card of fresh) seen.observe(card.querySelector('.reading'));
      more.textContent = `Show ${Math.min(MOST_CARDS, members.length - shown)} more of ${number(members.length)}`;
    };
    add();
    const cut = members.filter(row => JSON.stringify(data.reference(row)) !== JSON.stringify(reference)).length;
    replace(this.panel,
      el('div', { class: 'bar-top' }, button('← List', () => this.go({ open: false }), { class: 'back' }), el('h2', {}, data.groupName(group)),
        el('div', { class: 'steps' }, button('↑', () => this.walk(-1), { 'aria-label': 'Previous group', title: 'Previous (k)' }), button('↓', () => this.walk(1), { 'aria-label': 'Next group', title: 'Next (j)' }))),
      el('p', { class: 'from muted' }, [data.source(members[0]), plural(members.length, 'response'), judged ? `${passed} of ${judged} passed` : null, mean === null ? null : `mean ${mean.toFixed(3)}`].filter(Boolean).join(' · ')),
      el('div', { class: 'pair ask' }, el('div', {}, el('h3', {}, 'Prompt'), promptBlock(data.prompt(members[0]))),
        el('div', {}, el('h3', {}, 'Reference'), el('pre', { class: 'text' }, reference ? excerptNodes(reference) : el('span', { class: 'muted' }, 'none')), cut ? el('p', { class: 'muted' }, `${cut} of the siblings have a different one.`) : null)),
      el('h3', {}, 'Siblings'), cards, more);
    this.panel.scrollTop = 0;
  }

  card(row, place) {
    const data = this.data;
    return el('article', { class: `card sibling ${STATES[data.state[row]].key}`, 'aria-label': `Sibling ${place}` },
      el('div', { class: 'card-top' }, verdictLine(data, row), button(`#${place}`, () => this.go({ view: 'responses', filter: { ...EMPTY }, row, open: true }, true), { class: 'link', 'aria-label': `Open sibling ${place}`, title: data.rows.id[row] })),
      el('p', { class: 'took' }, el('span', { class: 'muted' }, 'extracted '), data.rows.extracted[row] === null ? el('span', { class: 'muted' }, 'nothing') : el('code', {}, data.rows.extracted[row])),
      el('div', { class: 'reading', tabindex: 0, role: 'region', 'aria-label': `Response of sibling ${place}` }, responseBlock(data.rows.response[row])));
  }

  walk(by) { this.list.walk(by); }
}
