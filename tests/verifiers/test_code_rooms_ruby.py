"""Programs in Ruby, called and tested in two rooms: honest programs pass, and no cheat does."""

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


def unit(name: str, *lines: str) -> str:
    """Test code as MultiPL-E's rows have it."""
    body = "".join(f"    {line}\n" for line in (f"candidate = method(:{name})", *lines))
    return f"require 'test/unit'\nclass TestHumanEval < Test::Unit::TestCase\n  def test_{name}\n{body}  end\nend\n"


STOP = ["\nclass", "\ndef", "\n#", "\n\n"]
ROW = {
    "language": "ruby",
    "prefix": "# Returns whether two numbers lie closer than the threshold.\ndef close(numbers, threshold)\n",
    "entry_point": "close",
    "stop": STOP,
    "tests": [
        {
            "type": "assert",
            "code": unit(
                "close",
                "assert_equal(true, candidate.call([1.0, 2.0, 2.2], 0.3))",
                "assert_equal(false, candidate.call([1.0, 2.0], 0.3))",
            ),
        }
    ],
}
BODY = "  numbers.sort.each_cons(2).any? { |a, b| b - a < threshold }\nend"
PUBLISHED = {
    "name": "HumanEval_9000_count",
    "language": "rb",
    "prompt": "# Counts words, or nil.\n# >>> count.call(nil)\ndef count(text)\n",
    "tests": unit(
        "count",
        'assert_equal({"a" => 2, "é" => 1}, candidate.call("a é a"))',
        "assert_equal(nil, candidate.call(nil))",
    ),
    "stop_tokens": STOP,
}
COUNT = "  text&.split(' ')&.tally\nend\n\nputs count('a')"
LINKED = {"types": {"args": {"0": "ListNode"}, "returns": "ListNode"}}
TREE = {"types": {"args": {"0": "TreeNode"}, "returns": "TreeNode"}}

CALLS = [
    (1.0, "def f(a, b)\n  a + b\nend\nputs f(1, 2) if __FILE__ == $0", calling("ruby", "f", [1, 2], 3)),
    (
        1.0,
        "f = ->(a) { { a: a, 'b' => [nil, 'é', 0.1, -1.5e300, 2**70, true] } }",
        calling("rb", "f", [1], {"a": 1, "b": [None, "é", 0.1, -1.5e300, 2**70, True]}),
    ),
    (
        1.0,
        "class Solution\n  def initialize(k) = @k = k\n  def f(a) = Set.new(a.map { |x| x * @k })\nend",
        calling("rb", "Solution.f", [[1, 1]], {"$": {"s": [{"i": "2"}]}}, init=[2]),
    ),
    (
        1.0,
        "def f(head)\n  last = nil\n  head.next, last, head = last, head, head.next while head\n  last\nend",
        calling("rb", "f", [[1, 2, 3]], [3, 2, 1], **LINKED),
    ),
    (
        1.0,
        "def f(root)\n  return nil if root.nil?\n  root.left, root.right = f(root.right), f(root.left)\n  root\nend",
        calling("rb", "f", [[1, 2, 3, None, 4]], [1, 3, 2, None, None, 4], **TREE),
    ),
    (1.0, "def format(a) = raise(a)\ndef raise(a) = a\ndef f(a) = format(a)", calling("rb", "f", [0.5], 0.5)),
    (0.0, "def f(a, b)\n  a - b\nend", calling("rb", "f", [1, 2], 3)),
    (
        0.0,
        "class Any\n  def ==(other) = true\n  def class = Integer\nend\ndef f(a, b) = Any.new",
        calling("rb", "f", [1, 2], 3),
    ),
    (0.0, "exit!(0)\ndef f(a, b) = a + b", calling("rb", "f", [1, 2], 3)),
    (0.0, "def g(a, b) = a + b", calling("rb", "f", [1, 2], 3)),
    (0.0, 'def f(a, b)\n  puts \'{"value":{"i":"3"}}\'\n  exit(0)\nend', calling("rb", "f", [1, 2], 3)),
    (0.0, "def f(a, b) = f(b, a)", calling("rb", "f", [1, 2], 3)),
]
ROOMS = [
    (1.0, BODY, "the continuation of a prompt"),
    (1.0, BODY + "\n# The end.\nexit(1)", "what follows a stop token is not part of it"),
    (1.0, f"```ruby\nrequire 'set'\ndef close(numbers, threshold)\n{BODY}\n```", "a whole program"),
    (1.0, f"close = lambda do |numbers, threshold|\n{BODY}", "a lambda"),
    (0.0, "  true\nend", "wrong"),
    (0.0, "  exit(0)\nend", "leaves during the call"),
    (0.0, "  exit!(0)\nend", "leaves at once during the call"),
    (0.0, "  true\nend\nexit!(0)", "leaves while it loads"),
    (0.0, "  raise StopIteration\nend", "raises something that ends loops"),
    (0.0, "  Class.new { def ==(o) = true; def equal?(o) = true }.new\nend", "an object that is equal to everything"),
    (
        0.0,
        "  true\nend\nmodule Test; module Unit; class TestCase; def assert_equal(*) = nil; end; end; end",
        "replaces the assertion",
    ),
    (
        0.0,
        '  IO.for_fd(4, autoclose: false).write(\'{"done":true,"outcome":"passed","tests":{},"provenance":{}}\')\n'
        "  exit!(0)\nend",
        "forges the report",
    ),
    (0.0, "  File.read('tests_code.rb').include?('false') && numbers.size > 2\nend", "reads the other room"),
]
ONE_CALL = asserting(ROW, "close([2.0, 1.0], 0.3) == false or raise")
OPEN, SHUT = '{"l":[', "]}"
FORGED = [
    '{"is":"value","value":false,"id":2}',
    '{"is":"value","value":{"f":"0x1p+9999"},"id":1}',
    '{"is":"value","value":{"f":"1.5"},"id":1}',
    '{"is":"value","value":{"i":"%s"},"id":1}' % ("f" * 100_001),
    '{"is":"value","value":{"l":[1]},"id":1}',
    *(f'{{"is":"value","value":{OPEN * depth}false{SHUT * depth},"id":1}}' for depth in (102, 9999)),
    '{"is":"value","value":false,"id":1,"after":{"0":{"d":[]}}}',
    '{"is":"value","value":false,"id":1,"after":{"9":{"l":[]}}}',
    '{"is":"value","value":NaN,"id":1}',
    '{"is":"value","value":"\\xff","id":1}',
    '{"is":"thing","id":1}',
    "[]",
]
"""Frames that answer no question."""


def forging(frame: str) -> str:
    """A response that writes a frame on the channel, and then gives the right answer."""
    ruby = frame.replace("\\", "\\\\").replace('"', '\\"').replace("\\\\xff", "\\xff")
    return f'  said = "{ruby}".b\n  IO.for_fd(3, autoclose: false).syswrite([said.size].pack("N") + said)\n  false\nend'


async def test_ruby_is_called_and_its_value_compared_outside() -> None:
    await assert_calls(CALLS)


async def test_ruby_is_tested_from_another_room() -> None:
    await assert_rooms(ROW, ROOMS)


async def test_a_forged_frame_is_a_value_or_a_fault_of_its_own() -> None:
    await assert_rooms(ONE_CALL, [(1.0, forging('{"is":"value","value":false,"id":1}'), "a value")])
    await assert_bad_frames(ONE_CALL, [forging(frame) for frame in FORGED])


async def test_a_row_of_multipl_e_is_judged_as_it_is_published() -> None:
    pairs = [(COUNT, PUBLISHED), (COUNT.replace("' '", "''"), PUBLISHED)]
    verdicts = await judged(pairs, dataset="multipl_e", extraction="whole")
    assert [(verdict.score, verdict.reason) for verdict in verdicts] == [(1.0, None), (0.0, "wrong_answer")]


async def test_what_a_call_changes_and_raises_reaches_the_tests() -> None:
    code = unit(
        "change",
        "list, text = [2, 1], +'a'",
        "assert_equal(:done, candidate.call(list, text))",
        "assert_equal([[1, 2], 'ab'], [list, text])",
        "assert_raise(ArgumentError) { candidate.call(list, nil) }",
    )
    row = {**asserting(ROW, code), "entry_point": "change", "prefix": ""}
    change = "```ruby\ndef change(list, text)\n  raise %s if text.nil?\n  list.sort!\n  text << 'b'\n  :done\nend\n```"
    verdicts = await judged([(change % "ArgumentError", row), (change % "'text'", row)])
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0]


async def test_tests_of_minitest_are_run() -> None:
    test = "class CloseTest < Minitest::Test\n  def test_it\n    refute close([1, 2], 1)\n  end\nend"
    code = f"require 'minitest/autorun'\n{test}"
    await assert_rooms(asserting(ROW, code), [(1.0, BODY, "right"), (0.0, "  true\nend", "wrong")])


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    await assert_shared(ROW, [(1.0, BODY), (0.0, "  true\nend"), (0.0, "  exit(0)\nend"), (0.0, "  exit!(0)\nend")])


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    codes = ["clos([1], 1) == false", "def (", "exit", "require 'test/unit'", "close(Object.new, 1)"]
    await assert_references_at_fault([(BODY, asserting(ROW, code)) for code in codes])
