// The server's health, asked for anew every few seconds while somebody looks.

import { ask, askForKey } from './ask.js';
import { $, chip, el, facts, replace } from './dom.js';
import { block, bounded, bytes, num, number, plural, pretty, shown, visible } from './text.js';

const EVERY_MS = 5000;
const told = $('#told'), body = $('#health');
let last = '', timer = 0;

function tell(text, state) {
  if (told.textContent !== text) told.textContent = text;  // what is said anew is read out anew
  told.className = `told ${state}`;
}

const card = (title, ...content) => el('section', { class: 'card' }, el('h2', {}, title), ...content);
const word = name => name.replaceAll('_', ' ');
const value = one => one === null || one === undefined ? '–' : one === true ? 'yes' : one === false ? 'no' : ['number', 'object'].includes(typeof one) && typeof num(one) === 'number' ? number(one) : visible(shown(one));

// Objects by name as a table: a row each, a column for every key that holds a plain value.
function table(items, title, columns) {
  const rows = Object.entries(items);
  if (!rows.length) return null;
  return el('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': title }, el('table', {},
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, title), columns.map(([name]) => el('th', { scope: 'col' }, name)))),
    el('tbody', {}, rows.map(([name, item]) => el('tr', {}, el('th', { scope: 'row' }, el('code', {}, visible(name))), columns.map(([, take]) => { const cell = take(item, name); return el('td', {}, cell instanceof Node ? cell : value(cell)); }))))));
}

function problems(found) {
  if (!found.length) return card('Problems', el('p', { class: 'good' }, '✓ Nothing is missing.'));
  return card('Problems', el('ul', { class: 'problems' }, found.map(({ what, mend }) => el('li', {}, el('p', {}, visible(what)), mend ? el('p', {}, el('code', { class: 'mend' }, visible(mend))) : null))));
}

const SIZES = { memory_mb: ' MB', disk_mb: ' MB', cpu_s: ' s', wall_s: ' s' };
const amount = (name, one) => one === null || one === undefined ? '–' : name.endsWith('_bytes') ? bytes(one) : number(one) + (SIZES[name] || '');

function host(status) {
  const where = [status.launcher, status.runtime].filter(Boolean).join(' ');
  const enforced = status.enforced || {}, limits = status.limits || {};
  const held = Object.keys({ ...limits, ...enforced });
  return [
    facts([
      ['launcher', where || null],
      ['rooms', status.rooms === undefined ? null : status.rooms ? 'yes' : 'no: each program in its own container, which is slower'],
      ['languages', Object.keys(status.languages || {}).join(', ') || null],
      ['cgroups', status.cgroups ? `v${num(status.cgroups)}` : null],
      ['waiting', status.waiting === undefined ? null : number(status.waiting)],
      ['sessions', status.sessions ? `${number(status.sessions.open)} of ${number(status.sessions.most)}` : null],
    ]),
    held.length ? table(Object.fromEntries(held.map(name => [name, name])), 'Limit', [
      ['default', (name) => amount(name, limits[name])],
      ['most', (name) => amount(name, (status.most || {})[name])],
      ['enforced by', (name) => enforced[name] ? chip(enforced[name], 'good') : chip('nothing', 'bad')],
    ]) : null,
    status.slots ? table(status.slots, 'Slots', [['slots', one => one.slots], ['idle', one => one.idle], ['starting', one => one.starting], ['waiting', one => one.waiting], ['lost', one => one.lost], ['problem', one => one.problem]]) : null,
  ];
}

function sandbox(status) {
  const { hosts } = status, several = hosts && Object.keys(hosts).length > 0;
  const named = several ? Array.isArray(hosts) ? Object.fromEntries(hosts.map((one, at) => [one.address ?? `host ${at + 1}`, one])) : hosts : {};
  return card('Sandbox',
    facts([
      ['state', chip(word(String(status.state)), status.state === 'ready' ? 'good' : status.state === 'none' ? 'soft' : 'bad')],
      ['reason', status.reason ? visible(status.reason) : null],
      ['in flight', status.in_flight === undefined ? null : number(status.in_flight)],
      ['waiting here', status.waiting_here === undefined ? null : number(status.waiting_here)],
    ]),
    several ? table(named, 'Host', [['state', one => one.state ?? (one.ready ? 'ready' : 'not ready')], ['in flight', one => one.in_flight], ['reason', one => one.reason]]) : null,
    several ? Object.entries(named).map(([name, one]) => el('details', {}, el('summary', {}, visible(name)), host(one.host || one))) : status.host ? host(status.host) : null);
}

function lanes(items) {
  return card('Lanes', table(items, 'Lane', [['workers', one => one.workers], ['slow workers', one => one.slow_workers], ['waiting and running', one => one.depth]]),
    el('p', { class: 'muted small' }, 'Work that can be killed runs in these processes. Time spent waiting does not count towards its limits.'));
}

const plain = items => facts(Object.entries(items).filter(([, one]) => one === null || typeof one !== 'object' || typeof num(one) === 'number').map(([name, one]) => [word(name), name.endsWith('bytes') ? bytes(one) : value(one)]));

function judges(items) {
  return Object.keys(items).length ? card('Judges', table(items, 'Judge', [
    ['model', one => one.model],
    ['breaker', one => chip(String(one.breaker), one.breaker === 'closed' ? 'good' : 'bad')],
    ['left', one => one.left && Object.keys(one.left).length ? shown(one.left) : 'no budget'],
    ['took', one => one.spent ?? one.took ?? null],
  ])) : null;
}

function models(items) {
  return Object.keys(items).length ? card('Models', table(items, 'Model', [
    ['state', one => chip(String(one.state ?? '–'), ['ready', 'loaded'].includes(one.state) ? 'good' : one.state === 'failed' ? 'bad' : 'soft')],
    ['model', one => one.model ?? null],
    ['problem', one => one.reason ?? one.problem ?? null],
  ])) : null;
}

function lean(status) {
  const projects = status?.projects || {};
  return Object.keys(projects).length ? card('Lean', facts([['processes', `${number(status.processes.alive)} of ${number(status.processes.most)}`]]),
    table(projects, 'Project', [['kind', one => one.kind], ['problem', one => one.problem]])) : null;
}

function draw(info) {
  const found = info.problems || [], { engine } = info;
  const head = engine.ready ? 'The server accepts work' : 'The server accepts no work';
  tell(found.length ? `${head}; ${plural(found.length, 'problem')}.` : `${head}; nothing is missing.`, engine.ready ? (found.length ? 'warn' : 'good') : 'bad');
  const now = JSON.stringify(info);
  if (now === last) return;  // nothing moves under the eyes of who reads
  last = now;
  const open = [...body.querySelectorAll('details')].map(one => one.open), scrolled = scrollY;
  replace(body,
    problems(found),
    card('Server', facts([
      ['version', info.version], ['Python', engine.python], ['API keys required', info.keys ? 'yes' : 'no'],
      ['samples in progress', number(engine.samples)], ['bytes in progress', bytes(engine.bytes)], ['verdicts in the cache', number(engine.cache_entries)],
      ...(info.cache ? Object.entries(info.cache).map(([name, one]) => [`cache: ${word(name)}`, value(one)]) : []),
    ])),
    sandbox(info.sandbox), lanes(engine.lanes), judges(info.judges || {}), models(info.models || {}), lean(info.lean),
    card('Limits of a request', plain(info.limits)),
    el('details', { class: 'card' }, el('summary', {}, 'As JSON'), block(bounded(pretty(info), 60000))));
  body.querySelectorAll('details').forEach((one, at) => { one.open = Boolean(open[at]); });
  scrollTo(0, scrolled);
  document.documentElement.dataset.ready = 'yes';
}

async function refresh() {
  clearTimeout(timer);
  try {
    if (!document.hidden) draw(await ask('v1/info', { signal: AbortSignal.timeout(20000) }));
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      replace(body);
      last = '';
      tell(error.message, 'bad');
      askForKey();
      document.documentElement.dataset.ready = 'yes';
      return;  // until a key is given
    }
    if (error.status === undefined && !['AbortError', 'TimeoutError'].includes(error.name)) throw error;
    tell(error.status === undefined ? 'The server does not answer.' : error.message, 'bad');
  }
  timer = setTimeout(refresh, EVERY_MS);
}

document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
$('.key-form')?.addEventListener('submit', event => { event.preventDefault(); refresh(); });
// A page that asks for a key is asked nothing before it has one: a refusal is an error in the browser's console.
if (document.getElementById('key')) {
  tell('This server shows its state only with an API key.', 'muted');
  document.documentElement.dataset.ready = 'yes';
} else refresh();
