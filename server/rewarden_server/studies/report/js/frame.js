// What stands around the views of a page that is one file: its data, the theme, the keys.

import { unpack } from './data.js';
import { button, el } from './dom.js';

// Light, dark, or as the system has it. A file of its own may not be allowed to remember it: then it lasts for this visit.
const THEMES = { auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };
export function themeButton() {
  let theme = 'auto';
  try { theme = localStorage.getItem('rewarden-report-theme') || 'auto'; } catch { /* not allowed here */ }
  if (!(theme in THEMES)) theme = 'auto';
  const made = button('', () => {
    const names = Object.keys(THEMES);
    theme = names[(names.indexOf(theme) + 1) % names.length];
    try { localStorage.setItem('rewarden-report-theme', theme); } catch { /* not allowed here */ }
    show();
  }, { class: 'theme' });
  const show = () => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    made.textContent = THEMES[theme];
  };
  show();
  return made;
}

export function helpDialog(keys) {
  const dialog = el('dialog', { 'aria-label': 'Keys' }, el('h2', {}, 'Keys'),
    el('dl', { class: 'keys' }, keys.map(([names, what]) => [el('dt', {}, names.split(' ').map(name => el('kbd', {}, name))), el('dd', {}, what)])),
    button('Close', () => dialog.close()));
  return dialog;
}

// Draws the page with its data, and says so where it cannot.
export function opened(draw) {
  unpack(document.getElementById('data')).then(draw).catch(error => {
    document.getElementById('main').replaceChildren(el('p', { class: 'note', role: 'alert' }, `The report cannot be opened: ${error.message}. It needs a browser from 2023 or later and the complete file.`));
    throw error;
  });
}
