// Loads a program, and finds the names that it defines.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const MODULE = /^[ \t]*(?:export[ \t]+(?:default\b|async\b|function\b|class\b|const\b|let\b|var\b|\{|\*)|import[ \t]+(?:[\w$*{]|["']))/m;
const NAME = /^[A-Za-z_$][\w$]*$/;

// Returns a function that gives the value of a name of the program, undefined where it has none.
async function load(file) {
  const code = fs.readFileSync(file, "utf8");
  if (MODULE.test(code)) {
    const copy = path.resolve(`${file}.mjs`);
    fs.writeFileSync(copy, `${code}\nexport const rewarden$find = (name) => eval(name);\n`);
    const module = await import(pathToFileURL(copy).href);
    return (name) => tried(() => (name in module ? module[name] : module.rewarden$find(name)));
  }
  const module = { exports: {} };
  Object.assign(globalThis, { module, exports: module.exports, require: createRequire(path.resolve(file)) });
  vm.runInThisContext(code, { filename: file }); // so that its const and class are visible to what runs later
  return (name) => {
    const found = tried(() => vm.runInThisContext(name));
    return found === undefined ? tried(() => module.exports[name]) : found;
  };
}

function tried(look) {
  try {
    return look();
  } catch {
    return undefined;
  }
}

// Returns the function of a target, `f` or `Solution.f` (of a new object), as [function, this]; null where there is none.
function find(look, target, init) {
  const [name, method] = target.split(".");
  if (!NAME.test(name)) return null;
  const found = look(name);
  if (method === undefined) return typeof found === "function" ? [found, undefined] : null;
  if (found === undefined || found === null) return null;
  const owner = typeof found === "function" && typeof found[method] !== "function" ? new found(...init) : found;
  return typeof owner[method] === "function" ? [owner[method], owner] : null;
}

module.exports = { find, load };
