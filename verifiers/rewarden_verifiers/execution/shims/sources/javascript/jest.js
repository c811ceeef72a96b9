// Runs a test file of Jest or node:test in the candidate's process. Options on stdin, the report on descriptor 4
// (docs/rooms.md). The functions that the report needs are taken before the candidate's code runs.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const Module = require("node:module");
const { pathToFileURL } = require("node:url");
const { Machinery } = require("./rewarden/machinery.js");
const { Expectations, ExpectationFailed, mocks } = require("./rewarden/expect.js");

const MAX_MESSAGE = 2000;
const MAX_TESTS = 10_000;
const SEPARATOR = " > ";
const IDENTIFIER = /[A-Za-z_$][\w$]*/g;
const WORD = /^[A-Za-z_$][\w$]*$/;
const STATEMENT = /^[ \t]*import[ \t]+(?:([\w$]+)[ \t]*,?\s*)?(?:\{([^}]*)\}|\*[ \t]+as[ \t]+([\w$]+))?\s*(?:from\s*)?(['"])([^'"\n]+)\4[ \t]*;?/gm;
const EXPORTING = /^[ \t]*(?:export[ \t]+(?:default\b|async\b|function\b|class\b|const\b|let\b|var\b|\{|\*)|import[ \t]+(?:[\w$*{]|["']))/m;
const RESERVED = new Set(
  ("arguments await break case catch class const continue debugger default delete do else enum export extends false finally " +
    "for function if implements import in instanceof interface let new null package private protected public return static super " +
    "switch this throw true try typeof var void while with yield require module exports async of get set eval").split(" "),
);

const stringify = JSON.stringify;
const { writeSync } = fs;
const leave = process.reallyExit.bind(process);
const load = Module._load;

const options = JSON.parse(fs.readFileSync(0, "utf8"));
const { nonce, expect: expected, name: file } = options;
delete options.nonce;
fs.closeSync(0); // Attack: read the options again, with the nonce.
fs.openSync("/dev/null", "r");

const outcomes = { __proto__: null };
let order = { __proto__: null, size: 0 };
let why = null;
let reported = false;
let machinery;

// Writes the report, by nothing that the candidate can have replaced: no method of an object, and no `toJSON`.
function report(outcome, kind, who, message) {
  if (reported) return;
  reported = true;
  let tests = "";
  for (let at = 0; at < order.size; at += 1) tests += `${at > 0 ? "," : ""}${stringify(order[at])}:"${outcomes[order[at]]}"`;
  const word = (text) => (text === null ? "null" : stringify(text));
  const text =
    `{"done":true,"outcome":"${outcome}","kind":${word(kind)},"who":${word(who)},"message":${stringify(message)},"line":null,"source":null,` +
    `"tests":{${tests}},"calls":0,"provenance":{},"nonce":${stringify(nonce)}}`;
  writeSync(4, text);
  leave(outcome === "passed" ? 0 : 1);
}

function textOf(fault) {
  try {
    return (fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault)).slice(0, MAX_MESSAGE);
  } catch {
    return "an error without a text";
  }
}

function failed(fault) {
  report("failed", fault?.code === "ERR_ASSERTION" ? "assertion" : "exception", "candidate", textOf(fault));
}

// --- the tests of the file -----------------------------------------------------------------------------------------

class Suite {
  constructor(name, parent, mode) {
    Object.assign(this, { name, parent, mode, children: [], hooks: { before: [], beforeEach: [], afterEach: [], after: [] } });
  }

  get path() {
    return this.parent === null ? "" : `${this.parent.path}${this.name}${SEPARATOR}`;
  }

  get focused() {
    return this.children.some((child) => child.mode === "only" || (child instanceof Suite && child.focused));
  }
}

const root = new Suite("", null, "");
const expectations = new Expectations();
let current = root;
let collecting = true;

function note(name, outcome, fault) {
  if (fault !== undefined && why === null) why = fault;
  if (!(name in outcomes)) {
    if (order.size >= MAX_TESTS) return;
    order[order.size] = name;
    order.size += 1;
    outcomes[name] = outcome;
  } else {
    outcomes[name] = outcomes[name] === "passed" ? "twice" : outcomes[name];
  }
}

function add(made) {
  if (!collecting) throw new Error("tests cannot be added while tests run");
  current.children.push(made);
}

function describe(mode, name, run) {
  const made = new Suite(typeof name === "function" ? name.name : String(name), current, mode);
  add(made);
  const outer = current;
  current = made;
  try {
    const result = run();
    if (typeof result?.then === "function") throw new Error("describe returns no promise");
  } finally {
    current = outer;
  }
}

// Fills Jest's placeholders, and `$name` for a row that is an object.
function titled(title, row, at) {
  const values = Array.isArray(row) ? [...row] : [row];
  const text = String(title).replace(/%([psdifjo#%])/g, (whole, kind) => {
    if (kind === "%") return "%";
    if (kind === "#") return String(at);
    if (values.length === 0) return whole;
    const value = values.shift();
    if (kind === "s") return String(value);
    if (kind === "d" || kind === "f") return String(Number(value));
    if (kind === "i") return String(Math.trunc(Number(value)));
    return kind === "p" && typeof value === "string" ? stringify(value) : stringify(value) ?? String(value);
  });
  if (typeof row !== "object" || row === null || Array.isArray(row)) return text;
  return text.replace(/\$([\w$]+)/g, (whole, name) => (name in row ? (typeof row[name] === "string" ? row[name] : stringify(row[name])) : whole));
}

function each(add) {
  return (rows, ...values) => {
    let table = rows;
    if (Array.isArray(rows) && "raw" in rows) {
      const names = rows[0].split("|").map((name) => name.trim());
      table = [];
      for (let at = 0; at < values.length; at += names.length) table.push(Object.fromEntries(names.map((name, place) => [name, values[at + place]])));
    }
    return (title, run) =>
      [...table].forEach((row, at) => add(titled(title, row, at), Array.isArray(row) ? () => run(...row) : () => run(row)));
  };
}

// A function with the modes of `test` or `describe`.
function withModes(make) {
  const plain = (...args) => make("", ...args);
  const only = (...args) => make("only", ...args);
  const skip = (...args) => make("skip", ...args);
  const todo = (name) => make("todo", name, () => {});
  Object.assign(only, { each: each(only) });
  Object.assign(skip, { each: each(skip) });
  return Object.assign(plain, { only, skip, todo, each: each(plain), concurrent: plain, sequential: plain });
}

function vocabulary(ofNode) {
  const test = withModes((mode, ...args) => {
    const run = args.find((arg) => typeof arg === "function");
    const name = typeof args[0] === "function" ? args[0].name : String(args[0]);
    const more = args.find((arg) => typeof arg === "object" && arg !== null) ?? {};
    const asked = more.skip ? "skip" : more.todo ? "todo" : more.only ? "only" : mode;
    add({ name, run, mode: asked === "" && run === undefined ? "todo" : asked, ofNode });
  });
  const suite = withModes((mode, name, ...rest) => {
    const more = rest.find((arg) => typeof arg === "object" && arg !== null) ?? {};
    describe(more.skip ? "skip" : mode, name, typeof name === "function" ? name : rest.find((arg) => typeof arg === "function") ?? (() => {}));
  });
  const hook = (kind) => (run) => {
    if (!collecting) throw new Error("hooks cannot be added while tests run");
    current.hooks[kind].push(run);
  };
  const before = hook("before");
  const after = hook("after");
  const words = { test, it: test, describe: suite, suite, context: suite, before, after, beforeAll: before, afterAll: after };
  Object.assign(words, { beforeEach: hook("beforeEach"), afterEach: hook("afterEach") });
  return words;
}

const jest = Object.freeze(mocks());
const words = vocabulary(false);
const JEST = Object.freeze({
  ...words,
  expect: expectations.expect,
  assert,
  jest,
  vi: jest,
  fit: words.test.only,
  xit: words.test.skip,
  xtest: words.test.skip,
  fdescribe: words.describe.only,
  xdescribe: words.describe.skip,
});
const nodeWords = vocabulary(true);
const NODE = Object.freeze(Object.assign(nodeWords.test, nodeWords, { default: nodeWords.test, mock: { fn: jest.fn, method: jest.spyOn, restoreAll: jest.restoreAllMocks } }));
const FRAMEWORKS = { __proto__: null, "@jest/globals": JEST, vitest: JEST, "node:test": NODE };

function called(run, ofNode, context) {
  if (ofNode || run.length === 0) return run(context);
  return new Promise((resolve, reject) => {
    const done = (fault) => (fault === undefined || fault === null ? resolve() : reject(fault));
    done.fail = (fault) => reject(fault ?? new ExpectationFailed("done.fail was called"));
    run(done);
  });
}

async function hooked(hooks) {
  for (let at = 0; at < hooks.length; at += 1) await called(hooks[at], false);
}

// What a test of node:test gets: its subtests, which count as a part of it.
function contextOf(name, found) {
  const sub = async (title, ...rest) => {
    const run = rest.find((arg) => typeof arg === "function") ?? (() => {});
    const inner = { skipped: false };
    const path = `${name}${SEPARATOR}${title}`;
    try {
      await called(run, true, contextOf(path, inner));
      if (inner.skipped) found.skipped = true;
      note(path, inner.skipped ? "skipped" : "passed");
    } catch (fault) {
      note(path, "failed", fault);
      found.fault ??= fault;
    }
  };
  const nothing = () => {};
  const skip = () => {
    found.skipped = true;
  };
  return { name, test: sub, it: sub, skip, todo: skip, diagnostic: nothing, mock: NODE.mock, assert };
}

async function runTest(test, name, befores, afters) {
  const found = { skipped: false, fault: undefined };
  expectations.begin();
  try {
    await hooked(befores);
    await called(test.run, test.ofNode, contextOf(name, found));
    expectations.end();
  } catch (fault) {
    found.fault ??= fault ?? new Error("nothing was thrown");
  }
  try {
    await hooked(afters);
  } catch (fault) {
    found.fault ??= fault ?? new Error("nothing was thrown");
  }
  if (found.fault !== undefined) note(name, "failed", found.fault);
  else note(name, found.skipped ? "skipped" : "passed");
}

async function runSuite(suite, skipped, befores, afters) {
  const focused = suite.focused;
  const inner = [...befores, ...suite.hooks.beforeEach];
  const outer = [...suite.hooks.afterEach, ...afters];
  let broken;
  try {
    if (!skipped) await hooked(suite.hooks.before);
  } catch (fault) {
    broken = fault ?? new Error("nothing was thrown");
  }
  for (let at = 0; at < suite.children.length; at += 1) {
    const child = suite.children[at];
    const left = skipped || child.mode === "skip" || child.mode === "todo" || (focused && child.mode !== "only" && !(child instanceof Suite && child.focused));
    if (child instanceof Suite) await runSuite(child, left, inner, outer);
    else if (left) note(`${suite.path}${child.name}`, "skipped");
    else if (broken !== undefined) note(`${suite.path}${child.name}`, "failed", broken);
    else await runTest(child, `${suite.path}${child.name}`, inner, outer);
  }
  if (!skipped) await hooked(suite.hooks.after);
}

// --- the candidate -------------------------------------------------------------------------------------------------

// Returns the candidate's module, and a function that finds the names that it defines. It has a scope of its own, so that
// its variables hide nothing from the tests.
async function candidate() {
  const place = path.resolve("solution.js");
  const code = fs.readFileSync(place, "utf8");
  const module = new Module(place, null);
  Object.assign(module, { filename: place, paths: Module._nodeModulePaths(path.dirname(place)) });
  let find;
  if (EXPORTING.test(code)) {
    fs.writeFileSync(`${place}.mjs`, `${code}\nexport const rewarden$find = (name) => eval(name);\n`);
    const space = await import(pathToFileURL(`${place}.mjs`).href);
    module.exports = Object.assign({ __proto__: null }, space);
    delete module.exports.rewarden$find;
    Object.defineProperty(module.exports, "__esModule", { value: true });
    find = space.rewarden$find;
  } else {
    const wrapped = vm.runInThisContext(`(function (exports, require, module, __filename, __dirname) {${code}\nreturn (rewarden$name) => eval(rewarden$name); })`, { filename: place });
    Module._cache[place] = module;
    find = wrapped.call(module.exports, module.exports, Module.createRequire(place), module, place, path.dirname(place));
  }
  const look = (name) => {
    if (typeof name !== "string" || !WORD.test(name) || RESERVED.has(name)) return undefined;
    try {
      return find(name);
    } catch {
      return undefined; // it has no such name
    }
  };
  const bare = typeof module.exports === "object" && module.exports !== null && Object.keys(module.exports).length === 0;
  if (bare) module.exports = new Proxy(module.exports, { get: (of, name) => (name in of ? of[name] : name in globalThis ? undefined : look(name)), has: (of, name) => name in of || look(name) !== undefined });
  Module._cache[place] = module;
  return { module, look };
}

// Returns a test file's text, in which statements `import` are calls of `require`.
function required(code) {
  return code.replace(STATEMENT, (_, usual, named, all, __, from) => {
    const asked = `require(${stringify(from)})`;
    const parts = [];
    if (usual !== undefined) parts.push(`${usual} = ((of) => of.default ?? of)(${asked})`);
    if (all !== undefined) parts.push(`${all} = ${asked}`);
    if (named !== undefined) parts.push(`{${named.replace(/([\w$]+)\s+as\s+/g, "$1: ")}} = ${asked}`);
    return parts.length > 0 ? `const ${parts.join(", ")};` : `${asked};`;
  });
}

async function main() {
  const place = path.resolve(file.replace(/\.ts$/, ".js"));
  const code = required(fs.readFileSync(place, "utf8").replace(/^#!.*/, ""));
  const inner = `return async function (exports, require, module, __filename, __dirname) {${code}\n}`;
  try {
    new vm.Script(`(function () {${inner}})`, { filename: place });
  } catch (fault) {
    return report("error", "test_code", "tests", textOf(fault));
  }
  machinery = new Machinery();
  const cached = new Set(Object.keys(Module._cache));
  const { module: made, look } = await candidate();
  const changed = machinery.changed();
  if (changed !== null) return report("failed", "tampered", "candidate", `${changed} was changed`);
  // Attack: provide a module of the tests'.
  for (const key of Object.keys(Module._cache)) if (!cached.has(key) && Module._cache[key] !== made) delete Module._cache[key];
  const modules = new Set(options.modules);
  Module._load = function (request, parent, ...rest) {
    if (parent === made || parent?.filename === made.filename) return load.call(this, request, parent, ...rest);
    if (request in FRAMEWORKS) return FRAMEWORKS[request];
    if (modules.has(request)) return made.exports;
    if (/^\.\.?\//.test(request)) {
      try {
        if (Module._resolveFilename(request, parent) === made.filename) return made.exports;
      } catch {
        return made.exports; // no file of the reference's: the candidate, by the name of its file
      }
    }
    return load.call(this, request, parent, ...rest);
  };
  const loading = Module._load;
  const given = { __proto__: null, ...JEST };
  for (const name of new Set(code.match(IDENTIFIER))) {
    if (name in given || name in globalThis || RESERVED.has(name)) continue;
    const value = name === "candidate" && options.entry_point ? look(options.entry_point) : look(name) ?? made.exports?.[name];
    if (value !== undefined) given[name] = value;
  }
  const names = Object.keys(given);
  const outer = vm.runInThisContext(`(function (${names.join(", ")}) {${inner}})`, { filename: place });
  const module = new Module(place, null);
  Object.assign(module, { filename: place, paths: [] });
  const require = Module.createRequire(place);
  const asked = (request) => loading.call(Module, request, module, false);
  Object.assign(asked, { resolve: require.resolve, cache: require.cache });
  await outer(...names.map((name) => given[name]))(module.exports, asked, module, place, path.dirname(place));
  collecting = false;
  await runSuite(root, false, [], []);
  Module._load = load;
  const now = machinery.changed();
  if (now !== null) return report("failed", "tampered", "candidate", `${now} was changed`);
  for (let at = 0; at < expected.length; at += 1) {
    const outcome = outcomes[expected[at]];
    if (outcome === "passed") continue;
    const said = outcome === undefined ? "no such test was run" : outcome;
    const fault = why === null || outcome === undefined ? "" : `: ${textOf(why)}`;
    return report("failed", why?.code === "ERR_ASSERTION" || why === null ? "no_pass" : "exception", "candidate", `${expected[at]}: ${said}${fault}`);
  }
  report("passed", null, null, "");
}

process.on("uncaughtException", failed);
process.on("unhandledRejection", failed);
process.on("exit", () => failed(new Error("the process ended before the tests had")));
main().catch(failed);
