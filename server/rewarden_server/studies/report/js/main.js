// What is seen stands in the address (`#responses?state=failed&r=12`), so that going back works and a link can be kept.

import { Data } from './data.js';
import { button, el } from './dom.js';
import { EMPTY, LISTS } from './filters.js';
import { helpDialog, opened, themeButton } from './frame.js';
import { Groups, MIXES, Overview, Responses } from './views.js';

const VIEWS = { overview: 'Overview', responses: 'Responses', groups: 'Groups' };

function readState(data) {
  const [view, query] = location.hash.slice(1).split('?');
  const words = new URLSearchParams(query || '');
  const filter = { ...EMPTY };
  for (const name of Object.keys(EMPTY)) if (words.has(name)) filter[name] = words.get(name);
  if (!(filter.list in LISTS)) filter.list = EMPTY.list;
  const place = (name, count) => { const at = words.has(name) ? Number(words.get(name)) : NaN; return Number.isInteger(at) && at >= 0 && at < count ? at : null; };
  return {
    view: view in VIEWS ? view : 'overview', filter, row: place('r', data.count), group: place('g', data.groups.length),
    mix: words.get('mix') in MIXES ? words.get('mix') : 'all', gq: words.get('gq') || '', open: words.has('open'),
  };
}

function writeState(state) {
  const words = new URLSearchParams();
  if (state.view === 'responses') {
    for (const [name, value] of Object.entries(state.filter)) if (value !== EMPTY[name]) words.set(name, value);
    if (state.row !== null) words.set('r', state.row);
  }
  if (state.view === 'groups') {
    if (state.mix !== 'all') words.set('mix', state.mix);
    if (state.gq) words.set('gq', state.gq);
    if (state.group !== null) words.set('g', state.group);
  }
  if (state.open && state.view !== 'overview') words.set('open', '1');
  const query = words.toString();
  return `#${state.view}${query ? `?${query}` : ''}`;
}

const KEYS = [
  ['1 2 3', 'overview, responses, groups'], ['j k', 'next, previous response or group'], ['/', 'search'],
  ['g', 'the group of the response, side by side'], ['↑ ↓ Page Home End', 'in a list'], ['Esc', 'back to the list'], ['?', 'this help'],
];
function start(data) {
  let state = readState(data);
  const go = (changes, push = false) => {
    state = { ...state, ...changes };
    const address = writeState(state);
    if (address !== location.hash) history[push ? 'pushState' : 'replaceState'](null, '', address);
    render();
  };
  const made = {};
  const views = { overview: () => new Overview(data, go), responses: () => new Responses(data, go), groups: () => new Groups(data, go) };
  const tabs = el('nav', { 'aria-label': 'Views' }, Object.entries(VIEWS).map(([view, label]) => button(label, () => go({ view, open: false }, true), { 'data-view': view })));
  const help = helpDialog(KEYS);
  document.getElementById('top').append(
    el('h1', {}, el('span', { class: 'mark', 'aria-hidden': 'true' }, '◆'), el('span', { class: 'title' }, data.title)), tabs,
    el('div', { class: 'tools' }, themeButton(), button('Keys', () => help.showModal(), { class: 'keys-button' })));
  document.body.append(help);
  const main = document.getElementById('main');
  const render = () => {
    for (const tab of tabs.children) { if (tab.dataset.view === state.view) tab.setAttribute('aria-current', 'page'); else tab.removeAttribute('aria-current'); }
    made[state.view] ||= views[state.view]();
    const view = made[state.view];
    if (main.firstChild !== view.element) main.replaceChildren(view.element);
    document.body.dataset.view = state.view;
    view.show(state);
  };
  addEventListener('popstate', () => { state = readState(data); render(); });
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.matches('input, select, textarea');
    if (event.key === 'Escape') {
      if (typing) event.target.blur();
      else if (state.open) go({ open: false });
      return;
    }
    if (typing) return;
    const view = made[state.view];
    if (event.key >= '1' && event.key <= '3') go({ view: Object.keys(VIEWS)[event.key - 1], open: false }, true);
    else if (event.key === 'j' && view.walk) view.walk(1);
    else if (event.key === 'k' && view.walk) view.walk(-1);
    else if (event.key === '/') { if (state.view === 'overview') go({ view: 'responses' }, true); (made[state.view].bar || made[state.view]).search.focus(); }
    else if (event.key === 'g' && state.view === 'responses' && view.panel.row !== null && data.rows.group[view.panel.row] >= 0) go({ view: 'groups', group: data.rows.group[view.panel.row], open: true }, true);
    else if (event.key === '?') help.showModal();
    else return;
    event.preventDefault();
  });
  render();
  document.documentElement.dataset.ready = 'yes';
}

opened(raw => start(new Data(raw)));
