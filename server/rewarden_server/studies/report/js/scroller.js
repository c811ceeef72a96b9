// A list that draws only what is seen: 20,000 entries cost as much as 20.

import { el } from './dom.js';

export class Scroller {
  // `draw(entry)` makes an entry's content; `choose(entry)` is called for the one that was clicked or walked to.
  constructor(label, height, draw, choose) {
    this.height = height;
    this.draw = draw;
    this.choose = choose;
    this.entries = [];
    this.chosen = -1;
    this.inner = el('div', { class: 'inner', role: 'presentation' });
    this.element = el('div', { class: 'scroller', role: 'listbox', tabindex: 0, 'aria-label': label, onscroll: () => this.later(), onkeydown: event => this.key(event) }, this.inner);
    new ResizeObserver(() => this.paint()).observe(this.element);
    Scroller.made = (Scroller.made || 0) + 1;
    this.prefix = `list${Scroller.made}-`;
  }

  show(entries, chosen) {
    const same = entries === this.entries;
    this.entries = entries;
    this.inner.style.height = `${Math.max(1, entries.length) * this.height}px`;
    this.chosen = entries.indexOf(chosen);
    if (!same && this.chosen < 0) this.element.scrollTop = 0;
    if (this.chosen >= 0) this.reveal(this.chosen);
    this.paint();
  }

  reveal(at) {
    const top = at * this.height, view = this.element;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + this.height > view.scrollTop + view.clientHeight) view.scrollTop = top + this.height - view.clientHeight;
  }

  later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.paint(); });
  }

  paint() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - 6);
    const last = Math.min(this.entries.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / this.height) + 6);
    const drawn = [];
    for (let at = first; at < last; at++) {
      const entry = this.entries[at], chosen = at === this.chosen;
      const option = el('div', { class: 'entry', role: 'option', id: this.prefix + at, 'aria-selected': String(chosen), 'aria-posinset': at + 1, 'aria-setsize': this.entries.length, onclick: () => { this.choose(entry, true); } }, this.draw(entry));
      option.style.transform = `translateY(${at * this.height}px)`;
      option.style.height = `${this.height}px`;
      drawn.push(option);
    }
    this.inner.replaceChildren(...drawn);
    if (this.chosen >= first && this.chosen < last) this.element.setAttribute('aria-activedescendant', this.prefix + this.chosen);
    else this.element.removeAttribute('aria-activedescendant');
  }

  // To the entry so many places further on.
  walk(by) {
    if (!this.entries.length) return;
    const at = Math.max(0, Math.min(this.entries.length - 1, this.chosen < 0 ? (by > 0 ? 0 : this.entries.length - 1) : this.chosen + by));
    this.choose(this.entries[at], false);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.entries.length, End: this.entries.length }[event.key];
    if (event.key === 'Enter' && this.chosen >= 0) this.choose(this.entries[this.chosen], true);
    else if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    else this.walk(by);
    event.preventDefault();
    event.stopPropagation();
  }
}
