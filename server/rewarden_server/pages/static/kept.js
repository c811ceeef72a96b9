// What a server does not keep of runs, and the setting that changes it.

import { el } from './dom.js';

const code = text => el('code', {}, text);

export const storeOff = () => el('div', { class: 'note', role: 'note' },
  el('p', {}, el('strong', {}, 'This server stores no runs.')),
  el('p', {}, 'To store their figures, set ', code('store = true'), ' under ', code('[runs]'), ' in ', code('rewarden.toml'), ', or ', code('REWARDEN_RUNS_STORE=true'), ' in the environment, and restart the server.'));

export const textsOff = () => el('div', { class: 'note', role: 'note' },
  el('p', {}, el('strong', {}, 'This server keeps no texts of its runs, so there are no responses to read.')),
  el('p', {}, 'To keep two whole groups for each step and data source, and everything that is flagged or unscored, set ', code('texts = true'), ' under ', code('[runs]'), ' in ', code('rewarden.toml'), ', or ', code('REWARDEN_RUNS_TEXTS=true'), ' in the environment, and restart the server. Verdicts from then on can be read.'));
