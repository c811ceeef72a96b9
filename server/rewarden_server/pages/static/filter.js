// Narrows a list of names to those that hold every word that was typed.

const field = document.getElementById('find'), told = document.getElementById('found');
const items = [...document.querySelectorAll('.names li')].map(element => ({ element, text: element.textContent.toLowerCase() }));

function narrow() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { element, text } of items) {
    const fits = words.every(word => text.includes(word));
    element.hidden = !fits;
    shown += fits;
  }
  for (const section of document.querySelectorAll('section:has(.names)')) section.hidden = !section.querySelector('.names li:not([hidden])');
  told.textContent = `${shown} of ${items.length}`;
}

field.addEventListener('input', narrow);
field.addEventListener('keydown', event => {
  if (event.key === 'Enter') document.querySelector('.names li:not([hidden]) a')?.click();
});
field.closest('search').hidden = false;
narrow();
