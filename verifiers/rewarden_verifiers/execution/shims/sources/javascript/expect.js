// Jest's `expect` and `jest.fn`. It is made before the candidate loads, and keeps the functions that it compares with.
"use strict";

const { inspect } = require("node:util");

const { is, keys, getPrototypeOf, hasOwn, getOwnPropertySymbols } = Object;
const { isArray } = Array;
const { abs, pow } = Math;
const { ownKeys } = Reflect;
const ASYMMETRIC = Symbol("asymmetric");
const MAX_TEXT = 300;

class ExpectationFailed extends Error {
  name = "ExpectationFailed";
  code = "ERR_ASSERTION";
}

function shown(value) {
  let text;
  try {
    text = inspect(value, { depth: 4, maxArrayLength: 20, maxStringLength: 200, customInspect: false });
  } catch {
    text = "a value without a text";
  }
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

function tagOf(value) {
  return Object.prototype.toString.call(value);
}

// Whether two values are equal, as by `toEqual`; strict: as by `toStrictEqual`; part: whether `other` is a part of it.
function equal(value, other, { strict = false, part = false } = {}, seen = []) {
  if (other !== null && typeof other === "object" && other[ASYMMETRIC] !== undefined) return other[ASYMMETRIC](value);
  if (is(value, other)) return true;
  if (typeof value !== "object" || typeof other !== "object" || value === null || other === null) return false;
  for (let at = 0; at < seen.length; at += 2) if (seen[at] === value && seen[at + 1] === other) return true;
  const inner = [...seen, value, other];
  const same = (one, another) => equal(one, another, { strict, part }, inner);
  if (tagOf(value) !== tagOf(other)) return false;
  if (strict && getPrototypeOf(value) !== getPrototypeOf(other)) return false;
  if (value instanceof Date || value instanceof Number || value instanceof String || value instanceof Boolean) {
    return is(value.valueOf(), other.valueOf());
  }
  if (value instanceof RegExp) return String(value) === String(other);
  if (value instanceof Error) return value.message === other.message && (!strict || value.name === other.name);
  if (value instanceof Map || value instanceof Set) {
    if (value.size !== other.size) return false;
    const rest = [...other];
    return [...value].every((one) => {
      const at = rest.findIndex((another) => same(one, another));
      if (at >= 0) rest.splice(at, 1);
      return at >= 0;
    });
  }
  if (value instanceof ArrayBuffer) return same(new Uint8Array(value), new Uint8Array(other));
  if (isArray(value) || ArrayBuffer.isView(value)) {
    if (value.length !== other.length) return false;
    for (let at = 0; at < value.length; at += 1) {
      if (strict && hasOwn(value, at) !== hasOwn(other, at)) return false;
      if (!same(value[at], other[at])) return false;
    }
    return true;
  }
  const names = (of) => [...keys(of), ...getOwnPropertySymbols(of)].filter((name) => strict || of[name] !== undefined);
  const expected = part ? ownKeys(other).filter((name) => Object.prototype.propertyIsEnumerable.call(other, name)) : names(other);
  if (!part && names(value).length !== expected.length) return false;
  return expected.every((name) => (part ? name in value : hasOwn(value, name)) && same(value[name], other[name]));
}

function asymmetric(matches) {
  const made = { [ASYMMETRIC]: matches };
  return made;
}

const KINDS = new Map([
  [Number, "number"],
  [String, "string"],
  [Boolean, "boolean"],
  [BigInt, "bigint"],
  [Symbol, "symbol"],
  [Function, "function"],
]);

const ASYMMETRICS = {
  any: (kind) => asymmetric((value) => (KINDS.has(kind) ? typeof value === KINDS.get(kind) : kind === Object ? typeof value === "object" : value instanceof kind)),
  anything: () => asymmetric((value) => value !== null && value !== undefined),
  arrayContaining: (items) => asymmetric((value) => isArray(value) && items.every((item) => value.some((one) => equal(one, item)))),
  objectContaining: (wanted) => asymmetric((value) => typeof value === "object" && value !== null && keys(wanted).every((name) => name in value && equal(value[name], wanted[name]))),
  stringContaining: (text) => asymmetric((value) => typeof value === "string" && value.includes(text)),
  stringMatching: (pattern) => asymmetric((value) => typeof value === "string" && new RegExp(pattern).test(value)),
  closeTo: (number, digits = 2) => asymmetric((value) => typeof value === "number" && close(value, number, digits)),
};

function close(value, other, digits) {
  return is(value, other) || abs(value - other) < pow(10, -digits) / 2;
}

function ordered(value) {
  if (typeof value !== "number" && typeof value !== "bigint") throw new ExpectationFailed(`${shown(value)} is no number`);
  return value;
}

function place(value, path) {
  const names = isArray(path) ? path : String(path).replace(/\[(\w+)\]/g, ".$1").split(".").filter((name) => name !== "");
  let at = value;
  for (let step = 0; step < names.length; step += 1) {
    if (at === null || at === undefined || !(names[step] in Object(at))) return { found: false };
    at = at[names[step]];
  }
  return { found: true, value: at };
}

function thrown(value, wanted, promised) {
  let fault;
  let raised = promised;
  if (promised) {
    fault = value;
  } else {
    if (typeof value !== "function") throw new ExpectationFailed(`${shown(value)} is no function`);
    try {
      value();
    } catch (error) {
      fault = error;
      raised = true;
    }
  }
  if (!raised || wanted === undefined) return raised;
  const message = fault instanceof Error || (typeof fault === "object" && fault !== null && "message" in fault) ? fault.message : fault;
  if (typeof wanted === "string") return String(message).includes(wanted);
  if (wanted instanceof RegExp) return wanted.test(String(message));
  if (typeof wanted === "function") return fault instanceof wanted;
  if (wanted[ASYMMETRIC] !== undefined) return wanted[ASYMMETRIC](fault);
  return message === wanted.message;
}

function contains(value, item, same) {
  if (typeof value === "string") return typeof item === "string" && value.includes(item);
  return [...value].some((one) => same(one, item));
}

function callsOf(value) {
  if (typeof value !== "function" || value.mock === undefined) throw new ExpectationFailed(`${shown(value)} is no mock function`);
  return value.mock.calls;
}

function resultsOf(value) {
  callsOf(value);
  return value.mock.results.filter((result) => result.type === "return").map((result) => result.value);
}

const MATCHERS = {
  toBe: (value, other) => is(value, other),
  toEqual: (value, other) => equal(value, other),
  toStrictEqual: (value, other) => equal(value, other, { strict: true }),
  toMatchObject: (value, other) => typeof value === "object" && value !== null && equal(value, other, { part: true }),
  toBeTruthy: (value) => Boolean(value),
  toBeFalsy: (value) => !value,
  toBeNull: (value) => value === null,
  toBeUndefined: (value) => value === undefined,
  toBeDefined: (value) => value !== undefined,
  toBeNaN: (value) => is(value, NaN),
  toBeGreaterThan: (value, other) => ordered(value) > other,
  toBeGreaterThanOrEqual: (value, other) => ordered(value) >= other,
  toBeLessThan: (value, other) => ordered(value) < other,
  toBeLessThanOrEqual: (value, other) => ordered(value) <= other,
  toBeCloseTo: (value, other, digits = 2) => typeof value === "number" && close(value, other, digits),
  toBeInstanceOf: (value, kind) => value instanceof kind,
  toBeTypeOf: (value, kind) => typeof value === kind,
  toMatch: (value, pattern) => typeof value === "string" && (typeof pattern === "string" ? value.includes(pattern) : new RegExp(pattern).test(value)),
  toContain: (value, item) => contains(value, item, (one, other) => one === other || is(one, other)),
  toContainEqual: (value, item) => contains(value, item, (one, other) => equal(one, other)),
  toHaveLength: (value, length) => value !== null && value !== undefined && value.length === length,
  toHaveProperty: (value, path, ...other) => {
    const { found, value: at } = place(value, path);
    return found && (other.length === 0 || equal(at, other[0]));
  },
  toHaveBeenCalled: (value) => callsOf(value).length > 0,
  toHaveBeenCalledTimes: (value, count) => callsOf(value).length === count,
  toHaveBeenCalledWith: (value, ...args) => callsOf(value).some((call) => equal(call, args)),
  toHaveBeenLastCalledWith: (value, ...args) => callsOf(value).length > 0 && equal(callsOf(value).at(-1), args),
  toHaveBeenNthCalledWith: (value, count, ...args) => callsOf(value).length >= count && equal(callsOf(value)[count - 1], args),
  toHaveReturned: (value) => resultsOf(value).length > 0,
  toHaveReturnedTimes: (value, count) => resultsOf(value).length === count,
  toHaveReturnedWith: (value, other) => resultsOf(value).some((result) => equal(result, other)),
};
Object.assign(MATCHERS, {
  toBeCalled: MATCHERS.toHaveBeenCalled,
  toBeCalledTimes: MATCHERS.toHaveBeenCalledTimes,
  toBeCalledWith: MATCHERS.toHaveBeenCalledWith,
  lastCalledWith: MATCHERS.toHaveBeenLastCalledWith,
});

// The assertions of one file: counts, and matchers of the file's own.
class Expectations {
  constructor() {
    this.own = {};
    this.begin();
    const expect = (value) => this.matchers(value, {});
    const negated = {};
    for (const [name, make] of Object.entries(ASYMMETRICS)) {
      expect[name] = make;
      negated[name] = (...args) => {
        const inner = make(...args);
        return asymmetric((value) => !inner[ASYMMETRIC](value));
      };
    }
    this.expect = Object.freeze(
      Object.assign(expect, {
        not: Object.freeze(negated),
        assertions: (count) => {
          this.wanted = count;
        },
        hasAssertions: () => {
          this.some = true;
        },
        // Attack: replace a matcher by one that always passes.
        extend: (more) => {
          for (const name of keys(more)) {
            if (name in MATCHERS || name === "toThrow" || name === "toThrowError" || name in this.own) throw new Error(`the matcher ${name} exists`);
            this.own[name] = more[name];
          }
        },
      }),
    );
  }

  // A test begins.
  begin() {
    this.count = 0;
    this.wanted = null;
    this.some = false;
  }

  // A test ended. Throws where it had another number of assertions than it announced.
  end() {
    if (this.wanted !== null && this.wanted !== this.count) throw new ExpectationFailed(`${this.count} assertions instead of ${this.wanted}`);
    if (this.some && this.count === 0) throw new ExpectationFailed("no assertions");
  }

  judged(name, passes, value, negated) {
    this.count += 1;
    if (passes === negated) throw new ExpectationFailed(`expect(${shown(value)})${negated ? ".not" : ""}.${name} failed`);
  }

  matchers(value, { negated = false, promised = false }) {
    const made = {};
    for (const name of keys(MATCHERS)) {
      made[name] = (...args) => {
        const wanted = args.length > 0 ? `(${args.map(shown).join(", ")})` : "()";
        this.judged(`${name}${wanted}`, Boolean(MATCHERS[name](value, ...args)), value, negated);
      };
    }
    for (const name of ["toThrow", "toThrowError"]) {
      made[name] = (wanted) => this.judged(`${name}(${wanted === undefined ? "" : shown(wanted)})`, thrown(value, wanted, promised), value, negated);
    }
    for (const name of keys(this.own)) {
      made[name] = (...args) => {
        const found = this.own[name].call({ isNot: negated, equals: equal }, value, ...args);
        const judge = (result) => this.judged(name, Boolean(result.pass), value, negated);
        return found instanceof Promise ? found.then(judge) : judge(found);
      };
    }
    if (!negated) Object.defineProperty(made, "not", { get: () => this.matchers(value, { negated: true, promised }) });
    if (!promised && !negated) {
      Object.defineProperty(made, "resolves", { get: () => this.later(value, true) });
      Object.defineProperty(made, "rejects", { get: () => this.later(value, false) });
    }
    return made;
  }

  // The matchers of what a promise becomes; each returns a promise.
  later(value, resolves) {
    const settled = async () => {
      const promise = typeof value === "function" ? value() : value;
      let result;
      try {
        result = await promise;
      } catch (fault) {
        if (resolves) throw new ExpectationFailed(`the promise was rejected: ${shown(fault)}`);
        return fault;
      }
      if (!resolves) throw new ExpectationFailed(`the promise was resolved: ${shown(result)}`);
      return result;
    };
    const made = (negated) =>
      new Proxy({}, {
        get: (_, name) => {
          if (name === "not" && !negated) return made(true);
          return async (...args) => {
            const result = await settled();
            return this.matchers(result, { negated, promised: !resolves })[name](...args);
          };
        },
      });
    return made(false);
  }
}

// A mock function, as by `jest.fn`.
function mock(implementation) {
  let usual = implementation;
  let next = [];
  const made = function (...args) {
    made.mock.calls.push(args);
    made.mock.instances.push(this);
    const run = next.length > 0 ? next.shift() : usual;
    const result = { type: "incomplete", value: undefined };
    made.mock.results.push(result);
    try {
      result.value = run === undefined ? undefined : new.target ? Reflect.construct(run, args) : run.apply(this, args);
      result.type = "return";
    } catch (fault) {
      Object.assign(result, { type: "throw", value: fault });
      throw fault;
    }
    return result.value;
  };
  const cleared = () => ({ calls: [], results: [], instances: [], get lastCall() { return this.calls.at(-1); } });
  made.mock = cleared();
  return Object.assign(made, {
    mockImplementation: (run) => ((usual = run), made),
    mockImplementationOnce: (run) => (next.push(run), made),
    mockReturnValue: (value) => ((usual = () => value), made),
    mockReturnValueOnce: (value) => (next.push(() => value), made),
    mockReturnThis: () => ((usual = function () { return this; }), made),
    mockResolvedValue: (value) => ((usual = async () => value), made),
    mockResolvedValueOnce: (value) => (next.push(async () => value), made),
    mockRejectedValue: (fault) => ((usual = async () => { throw fault; }), made),
    mockRejectedValueOnce: (fault) => (next.push(async () => { throw fault; }), made),
    mockName: () => made,
    getMockImplementation: () => usual,
    mockClear: () => ((made.mock = cleared()), made),
    mockReset: () => ((made.mock = cleared()), (usual = undefined), (next = []), made),
  });
}

// `jest.fn`, `jest.spyOn` and what puts everything back.
function mocks() {
  let spies = [];
  const all = [];
  const fn = (implementation) => {
    const made = mock(implementation);
    all.push(made);
    return made;
  };
  return {
    fn,
    spyOn: (object, name) => {
      const original = object[name];
      const own = hasOwn(object, name);
      const spy = fn(function (...args) { return original.apply(this, args); });
      const restore = () => {
        if (own) object[name] = original;
        else delete object[name];
      };
      object[name] = Object.assign(spy, { mockRestore: restore });
      spies.push(restore);
      return spy;
    },
    clearAllMocks: () => all.forEach((made) => made.mockClear()),
    resetAllMocks: () => all.forEach((made) => made.mockReset()),
    restoreAllMocks: () => {
      spies.reverse().forEach((restore) => restore());
      spies = [];
    },
    isMockFunction: (value) => typeof value === "function" && value.mock !== undefined,
    setTimeout: () => {},
  };
}

module.exports = { Expectations, ExpectationFailed, mocks };
