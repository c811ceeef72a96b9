"""Test files of Jest and node:test beside programs in JavaScript and TypeScript: honest programs pass, and no cheat
does."""

from __future__ import annotations

import pytest

from rewarden_verifiers.execution.frameworks import jest
from tests.verifiers.frameworks import Row, assert_refused, assert_scores, file_test
from tests.verifiers.rooms import judged

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

TESTS = """const { add, half } = require('../src/math');

describe('math', () => {
  let base;
  beforeEach(() => { base = 1; });
  test('adds', () => { expect(add(base, 2)).toBe(3); });
  describe("half", () => {
    it('is a number', async () => { expect(await half(3)).toBeCloseTo(1.5); });
    it('refuses texts', () => { expect(() => half('x')).toThrow(TypeError); });
  });
  test.skip('later', () => { throw new Error('never'); });
});
test(`is pure`, () => { expect([1, 2].map((n) => add(n, 1))).toEqual([2, 3]); });
"""
NAMES = ("math > adds", "math > half > is a number", "math > half > refuses texts", "is pure")
REFERENCE = file_test("javascript", "tests/math.test.js", TESTS, limits={"cpu_s": 1})
RIGHT = """function add(a, b) { return a + b; }
const half = (n) => { if (typeof n !== 'number') throw new TypeError('no number'); return n / 2; };
"""
EXPORTS = f"{RIGHT}module.exports = {{ add, half }};"
WRONG = RIGHT.replace("a + b", "a - b")

READS_OPTIONS = """
const fs = require('fs');
let text = '';
for (const fd of fs.readdirSync('/proc/self/fd')) {
  const file = '/proc/self/fd/' + fd;
  try { if (fs.readlinkSync(file).includes('memfd')) text += fs.readFileSync(file); } catch {}
}
const found = /"nonce": ?"(\\w+)"/.exec(text);
const tests = {};
for (const name of NAMES) tests[name] = 'passed';
const nonce = found ? found[1] : 'x';
fs.writeSync(4, JSON.stringify({ done: true, outcome: 'passed', tests, provenance: {}, nonce }));
process.reallyExit(0);
""".replace("NAMES", str(list(NAMES)))

CHEATS: list[Row] = [
    (0.0, WRONG, "wrong"),
    (0.0, WRONG + "process.exit(0);", "leaves while it loads"),
    (0.0, WRONG.replace("return a - b", "process.exit(0)"), "leaves during a test"),
    (0.0, WRONG + "process.reallyExit(0);", "leaves without its handlers"),
    (0.0, WRONG + "process.on('exit', () => { process.exitCode = 0; });", "changes the exit code"),
    (0.0, WRONG + "console.log('PASS tests/math.test.js\\n# pass 4\\n# fail 0');", "prints a report"),
    (0.0, WRONG + READS_OPTIONS, "forges a report, with what it can read"),
    (0.0, WRONG + "globalThis.expect = () => new Proxy({}, { get: () => () => {} });", "a global expect"),
    (0.0, WRONG + "const expect = () => ({ toBe() {}, toEqual() {}, toThrow() {} });", "an expect of its own"),
    (0.0, WRONG + "const test = () => {}; const describe = () => {};", "words of its own"),
    (0.0, WRONG + "Object.is = () => true;", "replaces what compares"),
    (0.0, WRONG + "Object.prototype.toJSON = function () { return 'passed'; };", "changes how JSON is written"),
    (0.0, WRONG + "Array.prototype.every = () => true;", "replaces a method of lists"),
    (
        0.0,
        WRONG + "const fs = require('fs'); const write = fs.writeSync;\n"
        "fs.writeSync = (fd, data, ...rest) => write(fd, String(data).replace('failed', 'passed'), ...rest);",
        "rewrites the report",
    ),
    (
        0.0,
        WRONG + "require('module')._load = () => ({ add: (a, b) => a + b, half: (n) => n / 2 });",
        "replaces what loads modules",
    ),
    (
        0.0,
        WRONG + "require('fs').mkdirSync('node_modules/@jest/globals', { recursive: true });",
        "writes a module of the framework's name",
    ),
    (0.0, WRONG + "test.only('adds', () => {});", "uses the framework's words"),
    (0.0, "while (true) {}\n" + WRONG, "never ends"),
    (0.0, WRONG + "throw new Error('no');", "throws while it loads"),
    (0.0, "function add(a, b) { return { valueOf: () => a + b }; }\n" + RIGHT.partition("\n")[2], "an object"),
]
HONEST: list[Row] = [
    (1.0, EXPORTS, "names that it exports"),
    (1.0, RIGHT, "names that it only defines"),
    (1.0, RIGHT.replace("function", "export function").replace("const", "export const"), "a module"),
    (1.0, f"Array.prototype.last = function () {{ return this.at(-1); }};\n{EXPORTS}", "additions are not changes"),
    (1.0, "const expect = 1, test = 2;\n" + EXPORTS, "variables with the framework's names"),
]

NODE_TESTS = """import { test, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync as read } from 'node:fs';
import * as math from './math.js';

const { rows } = JSON.parse(read('rows.json', 'utf8'));
describe('math', () => {
  it('adds', () => { for (const [a, b, sum] of rows) assert.equal(math.add(a, b), sum); });
});
test('halves', async (t) => {
  await t.test('odd numbers', () => assert.equal(math.half(3), 1.5));
  await t.test('zero', () => assert.equal(math.half(0), 0));
});
"""
TYPED_TESTS = """import { describe, expect, it, vi } from 'vitest';
import { add, half } from './math';

describe('math', () => {
  it('adds', () => {
    const seen = vi.fn((n: number): number => add(n, 1));
    expect([1, 2].map((n) => seen(n))).toStrictEqual([2, 3]);
    expect(seen).toHaveBeenCalledTimes(2);
  });
  it('halves', () => expect(half(3)).toBe(1.5));
});
"""
TYPED = (
    "export function add(a: number, b: number): number { return a + b; }\nexport const half = (n: number) => n / 2;\n"
)
EACH = """const { expect: wants, test } = require('@jest/globals');
test.each([[1, 2, 3], [2, 2, 4]])('%i + %i', (a, b, sum) => wants(add(a, b)).toBe(sum));
"""


async def test_programs_pass_a_test_file_of_jest() -> None:
    await assert_scores(REFERENCE, [*HONEST, *CHEATS])


async def test_programs_pass_a_test_file_of_node_test() -> None:
    reference = file_test(
        "js", "math.test.js", NODE_TESTS, "math > adds", "halves", files={"rows.json": '{"rows":[[1,2,3]]}'}
    )
    await assert_scores(
        reference,
        [(1.0, EXPORTS, "right"), (0.0, WRONG, "wrong"), (0.0, EXPORTS.replace("/ 2", "/ 3"), "a subtest fails")],
    )


async def test_programs_in_typescript_pass_a_test_file() -> None:
    reference = file_test("typescript", "math.spec.ts", TYPED_TESTS)
    await assert_scores(
        reference,
        [
            (1.0, TYPED, "right"),
            (0.0, TYPED.replace("a + b", "a - b"), "wrong"),
            (0.0, TYPED + "process.exit(0);", "leaves"),
            (0.0, TYPED + "const wrong: number = 'x';", "does not compile"),
        ],
    )


async def test_computed_names_are_the_references_to_list() -> None:
    reference = file_test("js", "math.test.js", EACH, "1 + 2", "2 + 2")
    await assert_scores(reference, [(1.0, RIGHT, "right"), (0.0, WRONG, "wrong")])
    assert_refused(file_test("js", "math.test.js", EACH), "expect", "must name them")


async def test_a_test_that_does_not_run_or_runs_twice_has_not_passed() -> None:
    tests = "test('a', () => expect(add(1, 2)).toBe(3));\ntest('b', () => expect(add(0, 0)).toBe(0));"
    skipped = tests.replace("test('b'", "test.skip('b'")
    twice = f"{tests}\ntest('a', () => {{}});"
    focused = tests.replace("test('b'", "test.only('b'")
    broken = f"{tests}\nadd.sums.forEach(() => {{}});"
    contents = [
        (1.0, tests),
        (0.0, skipped),
        (0.0, twice),
        (0.0, focused),
        (0.0, broken),
        (0.0, tests.replace("'b'", "'c'")),
    ]
    pairs = [(RIGHT, file_test("js", "a.test.js", content, "a", "b")) for _, content in contents]
    verdicts = await judged([(f"```js\n{code}\n```", reference) for code, reference in pairs])
    assert [verdict.score for verdict in verdicts] == [score for score, _ in contents]


async def test_each_test_that_passes_is_a_share() -> None:
    rows = [(1.0, RIGHT, "right"), (0.5, WRONG, "both halves pass")]
    await assert_scores(REFERENCE, rows, scoring="fraction")


async def test_a_test_file_that_is_no_javascript_is_the_references_fault() -> None:
    (verdict,) = await judged([(RIGHT, file_test("js", "a.test.js", "test('a', () => {", "a"))], extraction="whole")
    assert (verdict.status, verdict.fault) == ("undecided", "reference")


def test_names_are_read_from_the_files_text() -> None:
    assert jest.listed(TESTS) == NAMES
    assert jest.listed("// test('a')\ntest('it\\'s', () => { /test('c')/.test(`test('d')`); });") == ("it's",)
    assert jest.listed("describe.skip('a', () => { it('b', () => {}); }); it.todo('c'); xit('d', () => {});") == ()
    assert jest.listed("for (const n of [1, 2]) test(`${n}`, () => {});") is None
    assert jest.listed("test(name, () => {});") is None


def test_a_reference_that_no_program_can_pass_is_refused() -> None:
    assert_refused({**REFERENCE, "isolation": "separate"}, "type", "isolation: shared")
    assert_refused(file_test("js", "test_math.py", TESTS), "name", "no name of a test file of Jest")
    assert_refused(file_test("js", "main.js", TESTS), "name", "no name of a test file of Jest")
    assert_refused(file_test("js", "a.test.js", "jest.mock('fs');\n" + TESTS), "content", "jest.mock")
    assert_refused(file_test("js", "a.test.js", "expect(1).toBe(1);"), "expect", "names no test")
    assert_refused(file_test("js", "a.test.js", "test('a', f);\ntest('a', f);"), "expect", "two tests are named 'a'")
    assert_refused(file_test("c", "a.test.c", TESTS), "type", "a language with test files")
