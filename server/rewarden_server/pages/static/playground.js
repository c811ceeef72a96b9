// The playground: an example into the form, the form to the server, the verdict onto the page.

import { ask, askForKey, address } from './ask.js';
import { $, $$, el, replace } from './dom.js';
import { dim, light } from './drawing.js';
import { addSample, load, readParams, readRequest, Unreadable } from './form.js';
import { client, curl } from './snippets.js';
import { block, bounded, parse, pretty, prose, visible } from './text.js';
import { sentence, verdictNodes } from './verdict.js';

const data = parse($('#data').textContent);
const form = $('.ask'), send = $('#send'), told = $('#told'), output = $('#verdicts'), about = $('#about');
let running = null;

function tell(text, bad = false) {
  told.className = bad ? 'told bad' : 'told';
  replace(told, ...visible(text));
}

function changed() {
  let count = '';
  try { count = Object.keys(readParams()).length; } catch { count = '!'; }
  $('#changed').textContent = count === '!' ? 'one is invalid' : count ? `${count} changed` : 'all defaults';
}

function choose(number) {
  const example = data.cases[number];
  load(example);
  dim();
  changed();
  $$('[data-case]').forEach(button => button.toggleAttribute('aria-current', button.dataset.case === String(number)));
  if (Object.keys(example.params || {}).length) $('.params').open = true;
  const expects = example.expects.length === 1 ? example.expects[0] : example.expects;
  replace(about,
    el('p', {}, el('strong', {}, prose(example.title)), example.why ? ['. ', prose(example.why)] : null),
    example.script?.length ? el('p', {}, 'In the tests, a scripted model answers. Here your own model answers, and its answer can differ.') : null,
    el('details', {}, el('summary', {}, 'Expected result'), block(bounded(pretty(expects), 4000))));
  about.hidden = false;
}

function complain(error) {
  replace(output);
  dim();
  if (error instanceof Unreadable) {
    error.field.closest('details')?.setAttribute('open', '');
    error.field.setAttribute('aria-invalid', 'true');
    error.field.focus();
    tell(error.message, true);
    return;
  }
  const where = error.details?.path ? ` (at ${error.details.path})` : '';
  tell(error.message.includes(where.slice(5, -1) || '\0') ? error.message : error.message + where, true);
  if (error.status === 401) askForKey();
}

function request() {
  $$('[aria-invalid]').forEach(field => field.removeAttribute('aria-invalid'));
  return readRequest(data.name, data.group);
}

async function submit() {
  if (running) {
    running.abort();
    return;
  }
  let asked;
  try { asked = request(); } catch (error) { complain(error); return; }
  running = new AbortController();
  send.textContent = 'Stop';
  output.setAttribute('aria-busy', 'true');
  tell('Judging …');
  try {
    const result = await ask('v1/verify', { body: JSON.stringify(asked), signal: running.signal });
    replace(output, verdictNodes(result, asked));
    if (result.verdicts?.length) light(result.verdicts[0]);
    tell(sentence(result));
    if (result.verdicts?.length === 1) told.classList.add('hidden');  // seen below as well: said for those who listen
    // Where the verdict is below what is seen, as on a phone.
    const top = $('.answer').getBoundingClientRect().top;
    if (top > innerHeight * 0.7 || top < 0) $('.answer').scrollIntoView({ block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
  } catch (error) {
    if (error.name === 'AbortError') tell('Cancelled.');
    else if (error.status === undefined && !(error instanceof Unreadable)) throw error;
    else complain(error);
  } finally {
    running = null;
    send.textContent = 'Send';
    output.removeAttribute('aria-busy');
  }
}

async function copy(kind) {
  let text;
  try {
    const asked = request(), base = address('').href.replace(/\/$/, '');
    const secure = location.protocol === 'https:', remote = `${secure ? 'grpcs' : 'grpc'}://${location.hostname}:${data.grpc_port}`;
    text = kind === 'curl' ? curl(asked, `${base}/v1/verify`, data.keyed) : client(asked, kind === 'python' ? base : remote, data.keyed);
  } catch (error) { complain(error); return; }
  try {
    await navigator.clipboard.writeText(text);
    tell('Copied.');
  } catch {
    // Over plain HTTP browsers keep the clipboard to themselves: the text is there to be copied by hand.
    tell('The browser does not allow copying here; copy the text below.');
  }
  replace(output, el('article', { class: 'card' }, el('h3', {}, { curl: 'Shell', python: 'Python', grpc: 'Python, over gRPC' }[kind]), block(bounded(text, 200000), 'text snippet')));
}

form.addEventListener('submit', event => { event.preventDefault(); submit(); });
form.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
});
form.addEventListener('input', changed);
$('#add').addEventListener('click', () => { try { addSample().querySelector('textarea').focus(); } catch (error) { complain(error); } });
$('.copies').addEventListener('click', event => { const kind = event.target.dataset?.copy; if (kind) copy(kind); });
$('.examples').addEventListener('click', event => { const button = event.target.closest('[data-case]'); if (button) choose(Number(button.dataset.case)); });

// The empty form is painted first: an example is laid out twice as long as the page around it.
requestAnimationFrame(() => setTimeout(() => {
  const taken = $('[data-case][aria-current]');
  if (data.cases.length && !taken) choose(Math.max(0, data.cases.findIndex(example => example.kind === 'full')));
  changed();
  document.documentElement.dataset.ready = 'yes';
}));
