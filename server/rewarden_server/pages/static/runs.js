// All runs, the latest first. They are asked for anew every few seconds while somebody looks.

import { ask, askForKey } from './ask.js';
import { $, el, replace } from './dom.js';
import { storeOff } from './kept.js';
import { placeText, spark } from './plot.js';
import { Points } from './points.js';
import { bytes, dollars, number, plural, visible } from './text.js';

const EVERY_MS = 4000, MOST_SPARKS = 60, MOST_SHOWN = 300;
const told = $('#told'), list = $('#runs'), search = $('#find');
let timer = 0, known = [], drawn = '', empty = null;
const curves = new Map();

function tell(text, state = '') {
  if (told.textContent !== text) told.textContent = text;
  told.className = `told ${state}`;
}

// How long ago, in words.
function ago(time) {
  const passed = Math.max(0, Date.now() / 1000 - time);
  for (const [size, unit] of [[86400, 'day'], [3600, 'hour'], [60, 'minute']]) if (passed >= size) return `${plural(Math.floor(passed / size), unit)} ago`;
  return passed < 15 ? 'now' : `${Math.floor(passed)} s ago`;
}

const share = run => run.verdicts ? `${+(100 * run.unscored / run.verdicts).toFixed(2)}%` : '–';

// Costs have a column where a run has any.
const priced = () => known.some(run => run.cost_usd);

function row(run) {
  const curve = el('td', { class: 'curve', 'data-run': run.id });
  if (curves.has(run.id)) curve.append(curves.get(run.id).picture);
  return el('tr', {},
    el('th', { scope: 'row' }, el('a', { href: `runs/${encodeURIComponent(run.id)}` }, visible(run.name)), run.key && run.key !== run.name && run.key !== 'anonymous' ? el('small', { class: 'muted' }, ' ', visible(run.key)) : null,
      el('small', { class: 'muted sources' }, visible(run.sources.slice(0, 4).join(', ') + (run.sources.length > 4 ? ` and ${run.sources.length - 4} more` : '')))),
    curve,
    el('td', { class: 'num', 'data-label': 'mean' }, run.mean === null ? '–' : run.mean.toFixed(3)),
    el('td', { class: 'num', 'data-label': 'verdicts' }, number(run.verdicts)),
    el('td', { class: `num ${run.verdicts && run.unscored / run.verdicts > 0.05 ? 'warn' : ''}`, 'data-label': 'unscored' }, share(run)),
    priced() ? el('td', { class: 'num', 'data-label': 'judges' }, run.cost_usd ? dollars(run.cost_usd) : '–') : null,
    el('td', { class: 'num', 'data-label': 'step' }, run.last_step === null ? '–' : number(run.last_step)),
    el('td', {}, el('time', { datetime: new Date(1000 * run.latest).toISOString(), title: placeText('time', run.latest) }, ago(run.latest))));
}

function draw() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = known.filter(run => { const text = [run.name, run.key, ...run.sources, ...run.verifiers].join(' ').toLowerCase(); return words.every(word => text.includes(word)); });
  $('#found').textContent = `${number(fits.length)} of ${number(known.length)}`;
  const shown = fits.slice(0, MOST_SHOWN), now = JSON.stringify([shown, shown.map(run => ago(run.latest))]);
  if (now === drawn) return;
  drawn = now;
  const focused = document.activeElement?.getAttribute('href');
  replace(list, !known.length ? empty : !fits.length ? el('p', { class: 'blank muted' }, 'No run has these words.') : el('div', { class: 'scroll-x card', tabindex: 0, role: 'region', 'aria-label': 'Runs' }, el('table', { class: 'runs' },
    el('thead', {}, el('tr', {}, [['run'], ['reward'], ['mean', 'num'], ['verdicts', 'num'], ['unscored', 'num'], ...(priced() ? [['judges', 'num']] : []), ['step', 'num'], ['last activity']].map(([name, kind]) => el('th', { scope: 'col', class: kind }, name)))),
    el('tbody', {}, shown.map(row)))), fits.length > shown.length ? el('p', { class: 'muted' }, `${plural(fits.length - shown.length, 'earlier run')} not shown; search for one.`) : null);
  if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  curve(shown);
}

const noRuns = () => el('div', { class: 'note' }, el('p', {}, el('strong', {}, 'No run yet.')), el('p', {}, 'A run appears here with its first verdicts. Adapters send the name of the run and the step; other clients set ', el('code', {}, 'metadata.run'), ' of a sample and ', el('code', {}, 'progress.step'), ' of a request.'));

// The rewards of the runs that are shown, one after another; again where a run has new verdicts.
async function curve(runs) {
  for (const run of runs.slice(0, MOST_SPARKS)) {
    if (curves.get(run.id)?.verdicts === run.verdicts) continue;
    const picture = await rewards(run);
    curves.set(run.id, { picture, verdicts: run.verdicts });
    const cell = [...list.querySelectorAll('.curve')].find(one => one.dataset.run === run.id);
    if (cell) replace(cell, picture);
  }
}

async function rewards(run) {
  const frame = new Points(await ask(`v1/runs/${encodeURIComponent(run.id)}/points?most=40`, { read: JSON.parse })).frame({ most: 40 });
  const values = frame.ats.map((at, index) => frame.all.reward(index)), some = values.filter(value => value !== null);
  return spark(values, some.length ? `mean reward from ${some[0].toFixed(2)} to ${some[some.length - 1].toFixed(2)}` : 'no reward');
}

async function refresh() {
  clearTimeout(timer);
  try {
    if (!document.hidden) {
      const found = await ask('v1/runs', { read: JSON.parse });
      known = found.runs;
      empty = found.store ? noRuns() : storeOff();
      search.closest('search').hidden = !known.length;
      $('.key-form')?.setAttribute('hidden', '');
      tell(known.length ? `${plural(known.length, 'run')}; the store has ${bytes(found.bytes)} of at most ${bytes(found.max_bytes)}. Texts of rollouts are ${found.texts ? '' : 'not '}kept.` : '', 'muted');
      draw();
    }
  } catch (error) {
    if (error.status === undefined) throw error;
    tell(error.message, 'bad');
    if (error.status === 401 || error.status === 403) { askForKey(); document.documentElement.dataset.ready = 'yes'; return; }
  }
  document.documentElement.dataset.ready = 'yes';
  timer = setTimeout(refresh, EVERY_MS);
}

search.addEventListener('input', draw);
addEventListener('keydown', event => {
  if (event.key === '/' && !event.target.matches('input, select, textarea')) { search.focus(); event.preventDefault(); }
  if (event.key === 'Enter' && event.target === search) list.querySelector('a')?.click();
});
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
$('.key-form')?.addEventListener('submit', event => { event.preventDefault(); refresh(); });
// A page that asks for a key is asked nothing before it has one: a refusal is an error in the browser's console.
if ($('#key')) {
  tell('This server shows its runs only with an API key.', 'muted');
  document.documentElement.dataset.ready = 'yes';
} else refresh();
