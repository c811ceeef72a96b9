// Narrows a list of names to those that hold every word that was typed, and have every value that was chosen. The
// choices stand in the address after `#`, so that a link to a narrowed list can be shared.

const field = document.getElementById('find'), told = document.getElementById('found');
const choices = [...document.querySelectorAll('[data-filter]')];
const items = [...document.querySelectorAll('.names li')].map(element => ({ element, text: element.textContent.toLowerCase() }));

function narrow() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = choices.filter(choice => choice.value !== '');
  let shown = 0;
  for (const { element, text } of items) {
    const fits = words.every(word => text.includes(word)) && chosen.every(({ dataset, value }) => element.dataset[dataset.filter].split('|').includes(value));
    element.hidden = !fits;
    shown += fits;
  }
  for (const section of document.querySelectorAll('section:has(.names)')) section.hidden = !section.querySelector('.names li:not([hidden])');
  told.textContent = `${shown} of ${items.length}`;
}

function remember() {
  const state = new URLSearchParams(choices.filter(choice => choice.value !== '').map(choice => [choice.dataset.filter, choice.value]));
  if (field.value) state.set('find', field.value);
  history.replaceState(null, '', `#${state}`);
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  field.value = state.get('find') ?? '';
  for (const choice of choices) {
    const wanted = state.get(choice.dataset.filter) ?? '';
    choice.value = [...choice.options].some(option => option.value === wanted) ? wanted : '';
  }
  narrow();
}

field.closest('search').addEventListener('input', () => { narrow(); remember(); });
field.addEventListener('keydown', event => {
  if (event.key === 'Enter') document.querySelector('.names li:not([hidden]) a')?.click();
});
addEventListener('hashchange', recall);
field.closest('search').hidden = false;
recall();
