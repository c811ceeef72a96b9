// Code in colours, by Prism where it is at hand. Prism only cuts the text into tokens: the elements are made here.

import { el } from './dom.js';

const LANGUAGES = {
  python: 'python', py: 'python', python3: 'python', c: 'c', h: 'c', cpp: 'cpp', 'c++': 'cpp', cc: 'cpp', java: 'java',
  javascript: 'javascript', js: 'javascript', node: 'javascript', sql: 'sql', sqlite: 'sql', postgresql: 'sql', mysql: 'sql', duckdb: 'sql',
  bash: 'bash', sh: 'bash', shell: 'bash', json: 'json',
};
const COLOURED = { keyword: 'keyword', boolean: 'keyword', 'class-name': 'name', function: 'name', builtin: 'name', decorator: 'name', string: 'string', char: 'string', 'template-string': 'string', 'triple-quoted-string': 'string', number: 'number', comment: 'comment', property: 'name', directive: 'keyword', macro: 'keyword' };

// Prism's patterns may look at a text as often as it is long: longer ones stay without colours.
export const MOST_COLOURED = 8000;

// [text, kind] pairs, which together are the code.
export function coloured(code, language) {
  const grammar = self.Prism && code.length <= MOST_COLOURED ? self.Prism.languages[LANGUAGES[language.toLowerCase()]] : null;
  if (!grammar) return [[code, '']];
  const found = [];
  const walk = (token, kind) => {
    if (typeof token === 'string') found.push([token, kind]);
    else if (Array.isArray(token)) for (const one of token) walk(one, kind);
    else walk(token.content, COLOURED[token.type] || kind);
  };
  walk(self.Prism.tokenize(code, grammar), '');
  return found;
}

// The same as nodes, with places [start, end) of the code marked.
export function codeNodes(code, language, places, mark) {
  const nodes = [];
  let at = 0, next = 0, marked = null;
  const add = (text, kind) => { if (text) (marked || nodes)[marked ? 'append' : 'push'](kind ? el('span', { class: `t-${kind}` }, text) : document.createTextNode(text)); };
  for (const [text, kind] of coloured(code, language)) {
    let rest = text;
    while (rest) {
      const place = places[next];
      const edge = !place ? Infinity : marked ? place[1] : place[0];
      if (edge <= at) {
        if (marked) { marked = null; next++; } else { marked = mark(); nodes.push(marked); }
        continue;
      }
      const piece = rest.slice(0, edge - at);
      add(piece, kind);
      at += piece.length;
      rest = rest.slice(piece.length);
    }
  }
  return nodes;
}
