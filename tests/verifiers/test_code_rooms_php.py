"""Programs in PHP, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from tests.verifiers.rooms import (
    assert_bad_frames,
    assert_calls,
    assert_references_at_fault,
    assert_rooms,
    assert_shared,
    asserting,
    calling,
    judged,
)

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]


def script(name: str, *pairs: tuple[str, str]) -> str:
    """Test code as MultiPL-E's rows have it. Pairs: a call and its value."""
    lines = "".join(
        f'    if ({call} !== {value}) {{ throw new Exception("Test failed!"); }}\n' for call, value in pairs
    )
    candidate = f"function candidate(...$args) {{\n    return {name}(...$args);\n}}"
    return f"{candidate}\n\nfunction test(): void {{\n{lines}}}\n\ntest();"


STOP = ["\nfunction", "\n?>", "\n//", "\n#"]
ROW = {
    "language": "php",
    "prefix": "<?php\n// Returns whether two numbers lie closer than the threshold.\n"
    "function close($numbers, $threshold) {\n",
    "entry_point": "close",
    "stop": STOP,
    "tests": [
        {
            "type": "assert",
            "code": script(
                "close",
                ("candidate(array(1.0, 2.0, 2.2), 0.3)", "true"),
                ("candidate(array(1.0, 2.0), 0.3)", "false"),
            ),
        }
    ],
}
BODY = (
    "    sort($numbers);\n    for ($at = 1; $at < count($numbers); $at++)\n"
    "        if ($numbers[$at] - $numbers[$at - 1] < $threshold) return true;\n    return false;\n}"
)
PUBLISHED = {
    "name": "HumanEval_9000_count",
    "language": "php",
    "prompt": "<?php\n// Counts words, or null.\n// >>> count_words(null)\nfunction count_words($text) {\n",
    "tests": script(
        "count_words",
        ('candidate("a é a")', 'array("a" => 2, "é" => 1)'),
        ("candidate(null)", "null"),
        ('candidate("")', "array()"),
        ('candidate("7 1 7")', "array(7 => 2, 1 => 1)"),
    ),
    "stop_tokens": STOP,
}
COUNT = (
    "    if ($text === null) return null;\n    $found = [];\n"
    "    foreach (array_filter(explode(' ', $text), 'strlen') as $word) $found[$word] = ($found[$word] ?? 0) + 1;\n"
    "    return $found;\n}\n\nfunction main() { exit(1); }\nmain();"
)
LINKED = {"types": {"args": {"0": "ListNode"}, "returns": "ListNode"}}
TREE = {"types": {"args": {"0": "TreeNode"}, "returns": "TreeNode"}}

CALLS = [
    (1.0, "<?php\n$k = 1;\nfunction f($a, $b) { global $k; return $a + $b + $k; }", calling("php", "f", [1, 2], 4)),
    (
        1.0,
        "$f = fn ($a) => ['a' => $a, 'b' => [null, 'é', 0.1, -1.5e300, 5e-324, PHP_INT_MIN, true], 'c' => new stdClass,"
        " 'd' => 1.0];",
        calling("php", "f", [1], {"a": 1, "b": [None, "é", 0.1, -1.5e300, 5e-324, -(2**63), True], "c": {}, "d": 1}),
    ),
    (
        1.0,
        "function f($a) { return $a; }",
        calling("php", "f", [[{"a": -7, "1": 2.5e-310}, 2**40]], [{"a": -7, "1": 2.5e-310}, 2**40]),
    ),
    (
        1.0,
        "<?php\ndeclare(strict_types=1);\nnamespace App;\nclass Solution {\n"
        "    function __construct(private int $k) {}\n"
        "    function f(array $a): array { return \\array_map(fn ($x) => $x * $this->k, $a); }\n}",
        calling("php", "Solution.f", [[1, 2]], [2, 4], init=[2]),
    ),
    (
        1.0,
        "function f($head) { $last = null; while ($head) { [$head->next, $last, $head] = [$last, $head, $head->next]; }"
        " return $last; }",
        calling("php", "f", [[1, 2, 3]], [3, 2, 1], **LINKED),
    ),
    (
        1.0,
        "function f($root) { if ($root) [$root->left, $root->right] = [f($root->right), f($root->left)];"
        " return $root; }",
        calling("php", "f", [[1, 2, 3, None, 4]], [1, 3, 2, None, None, 4], **TREE),
    ),
    (0.0, "function f($a, $b) { return $a - $b; }", calling("php", "f", [1, 2], 3)),
    (
        0.0,
        "class Any { function __toString() { return '3'; } }\nfunction f($a, $b) { return new Any; }",
        calling("php", "f", [1, 2], 3),
    ),
    (0.0, "exit(0);\nfunction f($a, $b) { return $a + $b; }", calling("php", "f", [1, 2], 3)),
    (0.0, "function g($a, $b) { return $a + $b; }", calling("php", "f", [1, 2], 3)),
    (0.0, 'function f($a, $b) { echo \'{"value":{"i":"3"}}\'; exit(0); }', calling("php", "f", [1, 2], 3)),
    (0.0, "function f($a, $b) { return 3", calling("php", "f", [1, 2], 3)),
]
ROOMS = [
    (1.0, BODY, "the continuation of a prompt"),
    (1.0, BODY + "\n// The end.\nexit(1);", "what follows a stop token is not part of it"),
    (1.0, f"```php\n<?php\nfunction close(array $numbers, float $threshold): bool {{\n{BODY}\n```", "a whole program"),
    (1.0, f"```php\nfunction CLOSE($numbers, $threshold) {{\n{BODY}\n```", "without an opening tag"),
    (0.0, "    return true;\n}", "wrong"),
    (0.0, "    return 1;\n}", "equal, but not identical"),
    (0.0, "    exit(0);\n}", "leaves during the call"),
    (0.0, "    return true;\n}\nexit(0);", "leaves while it loads"),
    (0.0, "    return new class { function __toString() { return 'true'; } };\n}", "an object that seems to be equal"),
    (0.0, '    throw new Rewarden\\Fault("passed", "", "candidate");\n}', "raises what the tests' room uses"),
    (
        0.0,
        '    fwrite(fopen(\'php://fd/4\', \'wb\'), \'{"done":true,"outcome":"passed","tests":{},"provenance":{}}\');\n'
        "    exit(0);\n}",
        "forges the report",
    ),
    (
        0.0,
        "    return str_contains((string) @file_get_contents('tests_code.php'), 'false') && count($numbers) > 2;\n}",
        "reads the other room",
    ),
]
ONE_CALL = asserting(ROW, "assert(close([2.0, 1.0], 0.3) === false);")
OPEN, SHUT = '{"l":[', "]}"
FORGED = [
    '{"is":"value","value":false,"id":2}',
    '{"is":"value","value":{"f":"0x1p+9999"},"id":1}',
    '{"is":"value","value":{"i":"8000000000000000"},"id":1}',
    '{"is":"value","value":{"l":[1]},"id":1}',
    '{"is":"value","value":{"array":[[{"l":[]},1]]},"id":1}',
    *(f'{{"is":"value","value":{OPEN * depth}false{SHUT * depth},"id":1}}' for depth in (102, 9999)),
    '{"is":"value","value":NaN,"id":1}',
    '{"is":"value","value":"\\ud800","id":1}',
    '{"is":"value","value":false,"id":18446744073709551617}',
    '{"is":"thing","id":1}',
    "[]",
]
"""Frames that answer no question."""


def forging(frame: str) -> str:
    """A response that writes a frame on the channel, and then gives the right answer."""
    return f"    fwrite(fopen('php://fd/3', 'wb'), pack('N', {len(frame)}) . '{frame}');\n    return false;\n}}"


async def test_php_is_called_and_its_value_compared_outside() -> None:
    await assert_calls(CALLS)


async def test_php_is_tested_from_another_room() -> None:
    await assert_rooms(ROW, ROOMS)


async def test_a_forged_frame_is_a_value_or_a_fault_of_its_own() -> None:
    await assert_rooms(ONE_CALL, [(1.0, forging('{"is":"value","value":false,"id":1}'), "a value")])
    await assert_bad_frames(ONE_CALL, [forging(frame) for frame in FORGED])


async def test_a_row_of_multipl_e_is_judged_as_it_is_published() -> None:
    pairs = [(COUNT, PUBLISHED), (COUNT.replace("+ 1", "+ 1.0"), PUBLISHED)]
    verdicts = await judged(pairs, dataset="multipl_e", extraction="whole")
    assert [(verdict.score, verdict.reason) for verdict in verdicts] == [(1.0, None), (0.0, "wrong_answer")]


async def test_assertions_and_exceptions_of_test_code_count() -> None:
    """PHP's own `assert` does nothing in the image, as its php.ini says."""
    code = (
        "try { close(null, 1); assert(false); }\n"
        "catch (InvalidArgumentException $e) { assert($e->getMessage() === 'no'); }\n"
        "assert(close([1], 1) === false, 'one number');"
    )
    check = "    if ($numbers === null) throw new %s('no');\n" + BODY
    rows = [
        (1.0, check % "InvalidArgumentException", "the expected one"),
        (0.0, check % "TypeError", "another one"),
        (
            0.0,
            "    if ($numbers === null) throw new InvalidArgumentException('no');\n    return true;\n}",
            "a wrong value",
        ),
    ]
    await assert_rooms(asserting(ROW, code), rows)


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    rows = [(1.0, BODY), (0.0, "    return true;\n}"), (0.0, "    exit(0);\n}")]
    await assert_shared(ROW, rows)
    await assert_shared(ONE_CALL, rows[:2])


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    codes = ["clos([1], 1) === false;", "function (", "exit(0);", "close(fn () => 1, 1);", "assert(false);"]
    await assert_references_at_fault([(BODY, asserting(ROW, code)) for code in codes])
