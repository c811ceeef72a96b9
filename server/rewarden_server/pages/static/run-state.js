// What is seen stands in the address (`#responses?from=120&to=120&reason=wrong`), so that going back works and a link
// can be kept and sent. Rollouts and groups stand there by name: their places change while a run goes on.

import { EMPTY, LISTS } from './report/filters.js';
import { MIXES } from './report/views.js';

export const VIEWS = { overview: 'Overview', responses: 'Responses', groups: 'Groups', moved: 'Why did it move?' };
const AXES = ['step', 'time'];
export const EVERY = [1, 2, 5, 10, 25, 50, 100];

const bound = text => text !== null && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : null;

// Two places that a person or a link wrote: `10-20`, or one place alone. null where it is not a range.
export function readRange(text) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(?:(?:-|–|to|\.\.)\s*(\d+(?:\.\d+)?))?\s*$/.exec(text || '');
  if (!found) return null;
  const from = Number(found[1]), to = found[2] === undefined ? from : Number(found[2]);
  return from <= to ? { from, to } : { from: to, to: from };
}
export const rangeText = range => `${range.from}-${range.to}`;

export function readState(hash = location.hash) {
  const [view, query] = hash.slice(1).split('?');
  const words = new URLSearchParams(query || '');
  const filter = { ...EMPTY };
  for (const name of Object.keys(EMPTY)) if (name !== 'source' && words.has(name)) filter[name] = words.get(name);
  if (!(filter.list in LISTS)) filter.list = EMPTY.list;
  let from = bound(words.get('from')), to = bound(words.get('to'));
  if (from === null || to === null || from > to) from = to = null;
  const zoom = readRange(words.get('zoom'));
  return {
    view: view in VIEWS ? view : 'overview', axis: AXES.includes(words.get('axis')) ? words.get('axis') : '', source: words.get('source') || '', from, to,
    zoom: zoom && [zoom.from, zoom.to], every: EVERY.includes(Number(words.get('every'))) ? Number(words.get('every')) : 1, filter, rollout: words.get('rollout'), group: words.get('group'),
    mix: words.get('mix') in MIXES ? words.get('mix') : 'all', gq: words.get('gq') || '', open: words.has('open'),
    a: readRange(words.get('a')), b: readRange(words.get('b')),
  };
}

export function writeState(state) {
  const words = new URLSearchParams();
  if (state.axis) words.set('axis', state.axis);
  if (state.source) words.set('source', state.source);
  if (state.from !== null) { words.set('from', state.from); words.set('to', state.to); }
  if (state.every > 1) words.set('every', state.every);
  if (state.zoom && state.view === 'overview') words.set('zoom', state.zoom.join('-'));
  if (state.view === 'responses') {
    for (const [name, value] of Object.entries(state.filter)) if (name !== 'source' && value !== EMPTY[name]) words.set(name, value);
    if (state.rollout !== null) words.set('rollout', state.rollout);
  }
  if (state.view === 'groups') {
    if (state.mix !== 'all') words.set('mix', state.mix);
    if (state.gq) words.set('gq', state.gq);
    if (state.group !== null) words.set('group', state.group);
  }
  if (state.open && ['responses', 'groups'].includes(state.view)) words.set('open', '1');
  if (state.view === 'moved') for (const name of ['a', 'b']) if (state[name]) words.set(name, rangeText(state[name]));
  const query = words.toString();
  return `#${state.view}${query ? `?${query}` : ''}`;
}
