"""Programs in TypeScript, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from tests.verifiers.rooms import (
    assert_calls,
    assert_references_at_fault,
    assert_rooms,
    assert_shared,
    asserting,
    calling,
    judged,
)

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

HEAD = """declare var require: any;
const assert = require('node:assert');


function test() {
  let candidate = %s;
"""
TESTS = f"""{HEAD % "close"}  assert.deepEqual(candidate([1.0, 2.0, 2.2], 0.3),true);
  assert.deepEqual(candidate([1.0, 2.0], 0.3),false);
}}

test();"""
ROW = {
    "language": "typescript",
    "prefix": "//Returns whether two numbers lie closer than the threshold.\n"
    "function close(numbers: number[], threshold: number): boolean {\n",
    "entry_point": "close",
    "stop": ["\nfunction ", "\n/*", "\n//", "\nclass"],
    "tests": [{"type": "assert", "code": TESTS}],
}
BODY = (
    "  const s: number[] = [...numbers].sort((a, b) => a - b);\n"
    "  return s.some((x, at) => at > 0 && x - s[at - 1] < threshold);\n}"
)
PUBLISHED = {
    "name": "HumanEval_9000_count",
    "language": "ts",
    "prompt": "//Counts words, or undefined.\n"
    "function count(text: string | undefined): {[key: string]: number} | undefined {\n",
    "tests": f'{HEAD % "count"}  assert.deepEqual(candidate("a b a"),{{"a": 2, "b": 1}});\n'
    "  assert.deepEqual(candidate(undefined),undefined);\n}\n\ntest();",
    "stop_tokens": ROW["stop"],
}
COUNT = (
    "  if (text === undefined) return undefined;\n  const found: {[key: string]: number} = {};\n"
    "  for (const word of text.split(' ')) found[word] = (found[word] ?? 0) + 1;\n  return found;\n}"
)

CALLS = [
    (
        1.0,
        "interface Pair<T> { a: T; b: T }\nenum Way { Up = 1 }\n"
        "const add = <T extends number>(pair: Pair<T>, way: Way = Way.Up): number => pair.a + pair.b + way;",
        calling("typescript", "add", [{"a": 1, "b": 2}], 4),
    ),
    (
        1.0,
        "export class Solution { private k = 2; twice(a: bigint[] | number[]): number[] "
        "{ return (a as number[]).map((x) => x * this.k); } }",
        calling("ts", "Solution.twice", [[1, 2]], [2, 4]),
    ),
    (0.0, "function add(a: number, b: number): string { return a + b; }", calling("ts", "add", [1, 2], 3)),
    (0.0, "const add: any = () => ({ valueOf: () => 3 });", calling("ts", "add", [1, 2], 3)),
]
ROOMS = [
    (1.0, BODY, "the continuation of a prompt"),
    (
        1.0,
        f"```ts\nconst close = (numbers: number[], threshold: number): boolean => {{\n{BODY};\n```",
        "a whole program",
    ),
    (0.0, "  return true;\n}", "wrong"),
    (0.0, "  process.exit(0);\n}", "leaves during the call"),
    (0.0, "  return new Proxy({}, { get: () => true }) as any;\n}", "an object that is everything"),
    (
        0.0,
        "  const frame = Buffer.from(JSON.stringify({ is: 'value', value: true, id: 1 }));\n"
        "  const size = Buffer.alloc(4);\n  size.writeUInt32BE(frame.length);\n"
        "  for (let n = 0; n < 9; n++) require('node:fs').writeSync(3, Buffer.concat([size, frame]));\n"
        "  return true;\n}",
        "forges frames on the channel",
    ),
]


async def test_typescript_is_called_and_its_value_compared_outside() -> None:
    await assert_calls(CALLS)


async def test_typescript_is_tested_from_another_room() -> None:
    await assert_rooms(ROW, ROOMS)


async def test_a_row_of_multipl_e_is_judged_as_it_is_published() -> None:
    verdicts = await judged([(COUNT, PUBLISHED)], dataset="multipl_e", extraction="whole")
    assert [verdict.score for verdict in verdicts] == [1.0]


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    await assert_shared(ROW, [(1.0, BODY), (0.0, "  process.exit(0);\n}")])


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    await assert_references_at_fault(
        [(BODY, asserting(ROW, "clos([1], 1) === false")), (BODY, asserting(ROW, "function ("))]
    )
