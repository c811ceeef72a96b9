// The tests' room: runs test code whose names of the candidate are functions that ask the other room. Only values in
// tagged form come in. Options on stdin, the report on descriptor 4 (docs/tagged-codec.md).
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const Module = require("node:module");
const { BadFrame, Channel, Codec, Lost, Uncrossable } = require("./rewarden/values.js");

const MAX_MESSAGE = 2000;
const IDENTIFIER = /[A-Za-z_$][\w$]*/g;
const RESERVED = new Set(
  ("arguments await break case catch class const continue debugger default delete do else enum export extends false finally " +
    "for function if import in instanceof let new null return static super switch this throw true try typeof var void while " +
    "with yield require module exports").split(" "),
);
const KNOWN_ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

const options = JSON.parse(fs.readFileSync(0, "utf8"));
fs.closeSync(0); // Attack: read the options again, with the nonce.
fs.openSync("/dev/null", "r");
const codec = new Codec(true);
const channel = options.shared ? null : new Channel(3);
const { nonce } = options;
delete options.nonce;
const machinery = options.shared ? require("./rewarden/machinery.js") : null;
// Taken before the candidate's code runs, which can replace them in its process.
const stringify = JSON.stringify;
const { writeSync } = fs;
const leave = process.reallyExit.bind(process);
let uses = 0;
let asked = 0;
let trouble = null; // the first fault: no test can turn it into a pass
let reported = false;
const changed = [];
const borrowed = new Set();

function report(said) {
  if (reported) return;
  reported = true;
  const provenance = {};
  if (changed.length > 0) provenance.argument_mutated = changed.slice(0, 1000);
  if (borrowed.size > 0) provenance.names_from_candidate = [...borrowed].slice(0, 1000);
  const { outcome, kind = null, who = null, message = "" } = said;
  const word = (text) => (text === null ? "null" : stringify(text));
  writeSync(
    4,
    `{"done":true,"outcome":"${outcome}","kind":${word(kind)},"who":${word(who)},"message":${stringify(message)},"line":null,"source":null,` +
      `"tests":{},"calls":${uses},"provenance":${stringify(provenance)},"nonce":"${nonce}"}`,
  );
  leave(outcome === "passed" ? 0 : 1);
}

class Fault extends Error {
  constructor(kind, message, who = "candidate") {
    super(String(message).slice(0, MAX_MESSAGE));
    this.kind = kind;
    this.who = who;
    trouble ??= this;
  }
}

function failed(fault) {
  if (trouble !== null) {
    const outcome = trouble.who === "tests" ? "error" : "failed";
    return report({ outcome, kind: trouble.kind, who: trouble.who, message: trouble.message });
  }
  let message = "";
  try {
    message = fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault);
  } catch {
    message = "an error without a text";
  }
  if (uses === 0 && !options.shared) return report({ outcome: "error", kind: "test_code", who: "tests", message: message.slice(0, MAX_MESSAGE) });
  const kind = fault?.code === "ERR_ASSERTION" ? "assertion" : "exception";
  return report({ outcome: "failed", kind, who: "candidate", message: message.slice(0, MAX_MESSAGE) });
}

function ask(question) {
  if (trouble?.kind === "candidate_lost" || trouble?.kind === "bad_frame") throw trouble;
  asked += 1;
  if (question.op === "call") uses += 1;
  try {
    channel.send({ ...question, of: 0, id: asked });
    const answer = channel.receive();
    if (answer.id !== asked) throw new BadFrame("an answer to another question");
    return answer;
  } catch (fault) {
    if (fault instanceof Lost) throw new Fault("candidate_lost", "the candidate's process ended while the tests were running");
    if (fault instanceof Uncrossable) throw new Fault("unsupported", `an argument cannot cross: ${fault.type}`, "tests");
    throw new Fault("bad_frame", fault.message);
  }
}

function read(tagged) {
  try {
    return codec.decode(tagged);
  } catch {
    throw new Fault("bad_frame", "an answer of no known shape");
  }
}

function restore(old, now) {
  if (Array.isArray(old) && Array.isArray(now)) {
    old.length = 0;
    for (const value of now) old.push(value);
  } else if (old instanceof Map && now instanceof Map) {
    old.clear();
    for (const [key, value] of now) old.set(key, value);
  } else if (old instanceof Set && now instanceof Set) {
    old.clear();
    for (const value of now) old.add(value);
  } else if (now !== null && Object.getPrototypeOf(now) === Object.prototype && !Array.isArray(old)) {
    for (const key of Object.keys(old)) delete old[key];
    for (const key of Object.keys(now)) Object.defineProperty(old, key, Object.getOwnPropertyDescriptor(now, key));
  } else {
    throw new Fault("bad_frame", "an argument has become something else");
  }
}

function rebuilt(answer) {
  if ("value" in answer) return read(answer.value);
  const type = String(answer.type).slice(0, 100);
  const fault = new (Object.hasOwn(KNOWN_ERRORS, type) ? KNOWN_ERRORS[type] : Error)(String(answer.message).slice(0, MAX_MESSAGE));
  if (!Object.hasOwn(KNOWN_ERRORS, type)) fault.name = type;
  return fault;
}

function proxy(name) {
  return {
    // A method, so that it is no constructor.
    [name](...args) {
      let tagged;
      try {
        tagged = args.map((arg) => codec.encode(arg));
      } catch (fault) {
        throw new Fault("unsupported", `an argument cannot cross: ${fault.type}; this needs isolation: shared`, "tests");
      }
      const answer = ask({ op: "call", name, args: tagged, kwargs: {}, capture: false });
      for (const [at, now] of Object.entries(answer.after ?? {})) {
        // Attack: `__proto__`, so that it becomes what every array of the tests inherits from.
        if (!Object.hasOwn(args, at) || typeof args[at] !== "object" || args[at] === null) throw new Fault("bad_frame", "not the arguments");
        const value = read(now);
        changed.push(uses);
        if (options.writes_back !== false) restore(args[at], value);
      }
      if (answer.is === "uncrossable") throw new Fault("uncrossable_value", `a value of type ${String(answer.type).slice(0, 100)} cannot cross`);
      if (answer.is === "absent") throw new Fault("missing_name", `the candidate has no ${name}`);
      if (answer.is === "raised") {
        const fault = rebuilt(answer);
        if (answer.promised === true) return Promise.reject(fault);
        throw fault;
      }
      if (answer.is !== "value") throw new Fault("bad_frame", "no such answer");
      const value = read(answer.value);
      return answer.promised === true ? Promise.resolve(value) : value;
    },
  }[name];
}

// A name of the candidate's: a proxy of a function, or a plain value; undefined where it has none.
function named(name) {
  const answer = ask({ op: "get", name });
  if (answer.is === "function") return proxy(name);
  return answer.is === "value" ? read(answer.value) : undefined;
}

function greet() {
  const hello = (() => {
    try {
      return channel.receive();
    } catch (fault) {
      if (fault instanceof Lost) throw new Fault("candidate_lost", "the candidate's process ended while it was loading");
      throw new Fault("bad_frame", fault.message);
    }
  })();
  if (hello.is === "loaded") return;
  if (hello.is !== "unloaded") throw new Fault("bad_frame", "the first frame is no greeting");
  throw new Fault("candidate_load", `${hello.type}: ${hello.message}\n${hello.traceback}`);
}

function install(code) {
  const known = new Map();
  const look = (name) => {
    if (!known.has(name)) known.set(name, named(name));
    return known.get(name);
  };
  for (const name of new Set(code.match(IDENTIFIER))) {
    if (name in globalThis || RESERVED.has(name)) continue;
    const entry = options.entry_point && (name === options.entry_point || name === "candidate");
    const value = entry ? proxy(options.entry_point) : look(name);
    if (value === undefined) continue;
    const set = (own) => Object.defineProperty(globalThis, name, { value: own, configurable: true, writable: true });
    const get = () => {
      if (options.entry_point && !entry) borrowed.add(name);
      return value;
    };
    Object.defineProperty(globalThis, name, { get, set, configurable: true });
  }
  const whole = new Proxy({}, { get: (_, name) => (typeof name === "string" ? look(name) : undefined), has: (_, name) => typeof name === "string" && look(name) !== undefined });
  const original = Module._load;
  const modules = new Set(options.modules.flatMap((name) => [name, `./${name}`, `./${name}.js`, `../${name}`]));
  Module._load = function (request, ...rest) {
    return modules.has(request) ? whole : original.call(this, request, ...rest);
  };
}

function main() {
  const code = fs.readFileSync("tests_code.js", "utf8");
  let finished = false;
  let before = null;
  process.on("uncaughtException", failed);
  process.on("unhandledRejection", failed);
  process.on("beforeExit", () => {
    if (!finished) return;
    const changed = before?.changed() ?? null;
    if (changed !== null) return report({ outcome: "failed", kind: "tampered", who: "candidate", message: `${changed} was changed` });
    if (trouble !== null) return failed(trouble);
    if (uses === 0 && !options.shared) return report({ outcome: "error", kind: "test_code", who: "tests", message: "the test code never used the candidate" });
    report({ outcome: "passed" });
  });
  process.on("exit", () => {
    if (!finished || !reported) failed(trouble ?? new Error("the test code ended the process"));
  });
  const file = path.resolve("tests_code.js");
  if (options.shared) {
    Object.assign(globalThis, { module: { exports: {} }, exports: {}, require: Module.createRequire(file) });
    before = new machinery.Machinery();
    vm.runInThisContext(fs.readFileSync("solution.js", "utf8"), { filename: "solution.js" });
    if (options.entry_point) vm.runInThisContext(`var candidate = ${options.entry_point};`);
    vm.runInThisContext(code, { filename: file });
  } else {
    greet();
    install(code);
    const module = new Module(file, null);
    module.filename = file;
    module._compile(code, file);
  }
  finished = true;
}

try {
  main();
} catch (fault) {
  failed(fault);
}
