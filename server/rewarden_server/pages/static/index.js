// The start page: whether the server works, and what the latest run does. Asked for once.

import { ask, askForKey } from './ask.js';
import { $, el, facts, replace } from './dom.js';
import { storeOff } from './kept.js';
import { placeText, spark } from './plot.js';
import { Points } from './points.js';
import { number, plural, visible } from './text.js';

const told = $('#told');

function tell(text, state) {
  told.textContent = text;
  told.className = `told ${state}`;
}

function server(info) {
  const { engine } = info, found = info.problems || [];
  tell(engine.ready ? found.length ? `It accepts work; ${plural(found.length, 'problem')}.` : 'It accepts work; nothing is missing.' : 'It accepts no work.', engine.ready ? found.length ? 'warn' : 'good' : 'bad');
  replace($('#state'),
    facts([['version', info.version], ['Python', engine.python], ['samples in progress', number(engine.samples)], ['verdicts in the cache', number(engine.cache_entries)]]),
    found.length ? el('ul', { class: 'problems' }, found.slice(0, 3).map(({ what }) => el('li', {}, visible(what)))) : null,
    el('p', {}, el('a', { href: 'health' }, found.length > 3 ? `All ${number(found.length)} problems, and how to fix them` : found.length ? 'How to fix it' : 'Details')));
}

async function latest() {
  const { runs, store } = await ask('v1/runs', { read: JSON.parse });
  if (!runs.length) { replace($('#run'), store ? el('p', {}, 'No run yet. It appears here with its first verdicts.') : storeOff()); return; }
  const [run] = runs, path = `runs/${encodeURIComponent(run.id)}`;
  const frame = new Points(await ask(`v1/${path}/points?most=60`, { read: JSON.parse })).frame({ most: 60 });
  replace($('#run'),
    el('p', {}, el('a', { href: path }, el('strong', {}, visible(run.name))), el('span', { class: 'muted' }, ` ${plural(run.verdicts, 'verdict')}, last ${placeText('time', run.latest).slice(0, 16)}`)),
    el('a', { href: path, class: 'curve-link' }, spark(frame.ats.map((at, index) => frame.all.reward(index)), `The mean reward of ${run.name}`)),
    facts([['mean reward', run.mean === null ? '–' : run.mean.toFixed(3)], ['unscored', run.verdicts ? `${+(100 * run.unscored / run.verdicts).toFixed(2)}%` : null], ['step', run.last_step === null ? null : number(run.last_step)]]),
    runs.length > 1 ? el('p', {}, el('a', { href: 'runs' }, `All ${number(runs.length)} runs`)) : null);
}

async function start() {
  try {
    server(await ask('v1/info'));
    $('.key-form')?.setAttribute('hidden', '');
    await latest();
  } catch (error) {
    if (error.status === undefined) throw error;
    if (error.status === 401 || error.status === 403) { tell(error.message, 'bad'); askForKey(); }
    else replace($('#run'), el('p', { class: 'muted' }, error.message));
  }
  document.documentElement.dataset.ready = 'yes';
}

$('.key-form')?.addEventListener('submit', event => { event.preventDefault(); start(); });
// A page that asks for a key is asked nothing before it has one: a refusal is an error in the browser's console.
if ($('#key')) {
  tell('Its state and its runs are shown only with an API key.', 'muted');
  replace($('#run'), el('p', { class: 'muted' }, '–'));
  document.documentElement.dataset.ready = 'yes';
} else start();
