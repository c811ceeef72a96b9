"""Comparing outputs and values: what each checker accepts, and that nothing hostile passes, raises, or takes long."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.execution.checkers import TextChecker, compare, kattis
from rewarden_verifiers.execution.output import as_bytes, as_text
from rewarden_verifiers.execution.tagged import MAX_DEPTH, Untagged, decode, encode, loads, plain
from rewarden_verifiers.execution.values import Bag, Opaque, Tuple, ValueChecker, brief, differs
from rewarden_verifiers.registry import Registry
from tests.verifiers.counting import steps
from tests.verifiers.direct import outcome_of

TYPES = ("exact", "trimmed", "tokens", "lines", "floats", "unordered_lines")


def agrees(kind: str, output: bytes, expected: bytes, **options: Any) -> str:
    return compare(TextChecker(type=kind, **options), output, expected).verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "output", "expected", "verdict"),
    [
        ("exact", b"a\n", b"a\n", "AC"),
        ("exact", b"a", b"a\n", "PE"),
        ("exact", b"a \n", b"a\n", "PE"),
        ("exact", b"b\n", b"a\n", "WA"),
        ("trimmed", b"a  \nb\t\r\n\n\n", b"a\nb", "AC"),
        ("trimmed", b"a\r\nb\r\n", b"a\nb\n", "AC"),
        ("trimmed", b"  a", b"a", "PE"),
        ("trimmed", b"a\n\nb", b"a\nb", "PE"),
        ("trimmed", b"a b", b"ab", "WA"),
        ("trimmed", b"", b"", "AC"),
        ("trimmed", b"   \n\n", b"", "AC"),
        ("tokens", b" 1\n\n2  3", b"1 2 3\n", "AC"),
        ("tokens", b"1 2", b"1 2 3", "WA"),
        ("tokens", b"1 2 3 4", b"1 2 3", "WA"),
        ("tokens", b"-0", b"0", "WA"),
        ("tokens", b"1.0", b"1", "WA"),
        ("floats", b"0.3333333", b"0.33333333", "AC"),
        ("floats", b"0.333", b"0.33333333", "WA"),
        ("floats", b"1e3", b"1000.0", "AC"),
        ("floats", b"-0.0", b"0", "AC"),
        ("floats", b"yes 1.0", b"yes 1", "AC"),
        ("floats", b"no 1.0", b"yes 1", "WA"),
        ("floats", b"1 2", b"1", "WA"),
        ("lines", b"\n 1   2\r\n\n3\n", b"1 2\n3", "AC"),
        ("lines", b"1\n2 3", b"1 2\n3", "PE"),
        ("lines", b"1 2\n4", b"1 2\n3", "WA"),
        ("unordered_lines", b"b\na\n", b"a\nb", "AC"),
        ("unordered_lines", b"b\na\na\n", b"a\nb\nb", "WA"),
        ("unordered_lines", b"a", b"a\nb", "WA"),
    ],
)
def test_what_agrees(kind: str, output: bytes, expected: bytes, verdict: str) -> None:
    assert agrees(kind, output, expected) == verdict


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (b"nan", b"1.0"),
        (b"NaN", b"0"),
        (b"inf", b"1e308"),
        (b"-inf", b"inf"),
        (b"infinity", b"1e400"),
        (b"1e400", b"1e399"),
        (b"1e400", b"2"),
        ("\u0661".encode(), b"1"),  # an Arabic one
        ("\uff11".encode(), b"1"),  # a full-width one
        (b"1_000", b"1000"),
        (b"0x10", b"16"),
        (b"1,000", b"1000"),
        (b"1\0", b"1"),
        (b"\xff1", b"1"),
        (b"9" * 10_000_000, b"8" * 10_000_000),
        (b"1" + b"0" * 100_000, b"1"),
        (b"0." + b"0" * 10_000_000 + b"1", b"0.5"),
    ],
    ids=lambda value: value[:12].decode("utf-8", "replace"),
)
def test_what_only_looks_like_a_number_agrees_with_none(output: bytes, expected: bytes) -> None:
    assert agrees("floats", output, expected) == "WA"
    assert agrees("floats", expected, output) == "WA"


@pytest.mark.parametrize("text", [b"nan", b"inf", b"-inf", b"1e400", b"9" * 100_000, b"\xff\0\xfe"])
@pytest.mark.parametrize("kind", TYPES)
def test_what_was_expected_agrees_whatever_it_is(kind: str, text: bytes) -> None:
    assert agrees(kind, text, text) == "AC"


def test_the_tolerances_are_those_named() -> None:
    assert agrees("floats", b"1.05", b"1", abs=0.1) == "AC"
    assert agrees("floats", b"1000.05", b"1000", abs=0.01) == "WA"
    assert agrees("floats", b"1000.05", b"1000", rel=0.01) == "AC"
    assert agrees("floats", b"0.00001", b"0", rel=0.5) == "WA"
    assert agrees("floats", b"1.0000001", b"1", abs=0.0) == "WA"


def test_capital_letters_may_be_ignored() -> None:
    for kind in TYPES:
        assert agrees(kind, b"YES", b"Yes", ignore_case=True) == "AC"
        assert agrees(kind, b"YES", b"Yes") == "WA"


@pytest.mark.parametrize(
    ("options", "output", "expected", "verdict"),
    [
        ({"pattern": r"[a-z]+ \d+"}, b"abc 42\n", b"", "AC"),
        ({"pattern": r"[a-z]+"}, b"abc 42", b"", "WA"),
        ({"pattern": r"\d+", "match": "search"}, b"abc 42", b"", "AC"),
        ({}, b"ab\nab\n", b"(ab\n?)+\n", "AC"),
        ({"pattern": "a.b"}, b"a\nb", b"", "AC"),
        ({"pattern": "yes", "ignore_case": True}, b"YES", b"", "AC"),
        ({"pattern": "(a*)*b"}, b"a" * 100_000, b"", "WA"),
        ({"pattern": "x"}, b"\xff\xfe", b"", "WA"),
    ],
)
def test_patterns(options: dict[str, Any], output: bytes, expected: bytes, verdict: str) -> None:
    assert agrees("regex", output, expected, **options) == verdict


@pytest.mark.parametrize(
    "options",
    [
        {"type": "floats", "abs": -1.0},
        {"type": "floats", "rel": math.inf},
        {"type": "floats", "abs": math.nan},
        {"type": "tokens", "abs": 0.1},
        {"type": "exact", "pattern": "x"},
        {"type": "regex", "pattern": "("},
        {"type": "regex", "pattern": "(?=a)"},
    ],
)
def test_checkers_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"finite|belong|refuses"):
        TextChecker(**options)


@given(st.binary(), st.binary(), st.sampled_from(TYPES), st.booleans())
def test_no_output_raises_and_every_one_agrees_with_itself(one: bytes, other: bytes, kind: str, case: bool) -> None:
    assert agrees(kind, one, one, ignore_case=case) == "AC"
    assert agrees(kind, one, other, ignore_case=case) in ("AC", "WA", "PE")


@given(st.lists(st.text("ab1 \t.", max_size=6), max_size=6), st.sampled_from(TYPES[1:]))
def test_white_space_at_the_end_never_matters_but_for_exact(lines: list[str], kind: str) -> None:
    text = "\n".join(lines).encode()
    assert agrees(kind, text + b" \r\n\n", text) == "AC"


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("unit", [b" ", b"\n", b" \n", b"a ", b"1 ", b"nan ", b"\0", b"\xff\r\n", b"\t\x0b", b"9"])
def test_work_grows_no_faster_than_the_text(kind: str, unit: bytes) -> None:
    def work(count: int) -> int:
        return steps(lambda: agrees(kind, unit * count + b"x", unit * count + b"y"))

    assert work(4000) <= 4.6 * work(1000) + 500


# --- `output` ----------------------------------------------------------------------------------------------------

PLANNER = Planner(Registry())


async def judged(response: str, reference: Any = None, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="output", params=params), Sample(response=response, reference=reference))


async def test_output_says_what_it_compared() -> None:
    assert (await judged("1\n2 \n", "1\n2")).score == 1.0
    wrong = await judged("1\n3", "1\n2")
    assert (wrong.score, wrong.reason, wrong.feedback) == (0.0, "wrong_answer", "line 2: expected '2', got '3'")
    assert (await judged("1\n2", "1 2", type="exact")).reason == "presentation_error"


async def test_output_sees_the_text_as_it_is() -> None:
    printed = "<think>3</think>\n3</s>"
    assert (await judged(printed, "3", view={"part": "full", "special_tokens": []})).passed is False
    assert (await judged(printed, printed, view={"part": "full", "special_tokens": []})).passed


@pytest.mark.parametrize(("reference", "params"), [(None, {}), ("(", {"type": "regex"}), (7, {})])
async def test_output_with_a_bad_reference_is_undecided(reference: Any, params: dict[str, Any]) -> None:
    outcome = await judged("x", reference, **params)
    assert (outcome.status, outcome.fault, outcome.reason) == ("undecided", "reference", InvalidReference.reason)


@given(st.binary())
def test_any_bytes_become_a_text_and_come_back(data: bytes) -> None:
    assert as_bytes(as_text(data)) == data


def test_half_a_surrogate_pair_is_no_defect() -> None:
    assert as_bytes("a\ud800") == b"a\xed\xa0\x80"


# --- values ------------------------------------------------------------------------------------------------------

STRICT = ValueChecker(strict=True)


@pytest.mark.parametrize(
    ("got", "wanted", "options"),
    [
        (1, 1.0, {}),
        (True, 1, {}),
        (0.1 + 0.2, 0.3, {}),
        (1e-17, 0.0, {}),
        (math.nan, math.nan, {}),
        (math.inf, math.inf, {}),
        (10**400, 10**400, {}),
        (Tuple([1, 2]), [1, 2], {}),
        ([Tuple([1, "a"])], [[1, "a"]], {}),
        ({"a": [1]}, {"a": [1.0]}, {}),
        (None, None, {}),
        ("x", "x", {}),
        (Bag([2, 1]), Bag([1, 2]), {}),
        ([2, 1], [1, 2], {"unordered": True}),
        (Bag([2, 1]), [1, 2], {"unordered": True}),
        ([[2, 1], [3]], [[3], [1, 2]], {"unordered": "deep"}),
        ([2.0000000001, "a", None], [None, 2, "a"], {"unordered": True}),
        (1.05, 1, {"abs": 0.1}),
        (1 + 2j, 1 + 2j, {}),
        (Opaque("date", ("2020", "1", "2")), Opaque("date", ("2020", "1", "2")), {}),
    ],
)
def test_values_that_are_the_same(got: Any, wanted: Any, options: dict[str, Any]) -> None:
    assert differs(ValueChecker(**options), got, wanted) is None


@pytest.mark.parametrize(
    ("got", "wanted", "options"),
    [
        ("1", 1, {}),
        (1, "1", {}),
        (None, 0, {}),
        (None, False, {}),
        ("", None, {}),
        ([], None, {}),
        ({}, [], {}),
        (1.001, 1, {}),
        (math.nan, 1.0, {}),
        (1.0, math.nan, {}),
        (math.inf, 1e308, {}),
        (10**400, 1e308, {}),
        (10**400, math.inf, {}),
        ([1, 2], [2, 1], {}),
        ([[2, 1]], [[1, 2]], {"unordered": True}),
        (Bag([1]), [1], {}),
        ([1, 1, 2], [1, 2, 2], {"unordered": True}),
        ([1], [1, 1], {"unordered": True}),
        ({"a": 1}, {"a": 1, "b": 2}, {}),
        (b"x", "x", {}),
        (1 + 2j, 1, {}),
        ("x", 1j, {}),
        (Opaque("range", ("0", "2", "1")), [0, 1], {}),
        (True, 1, {"strict": True}),
        (1.0, 1, {"strict": True}),
        (Tuple([1]), [1], {"strict": True}),
    ],
)
def test_values_that_differ(got: Any, wanted: Any, options: dict[str, Any]) -> None:
    assert differs(ValueChecker(**options), got, wanted) is not None


def test_a_difference_is_told_where_it_is() -> None:
    assert differs(ValueChecker(), {"a": [1, Tuple([2, 3])]}, {"a": [1, [2, 4]]}) == "['a'][1][1]: expected 4, got 3"
    assert differs(ValueChecker(), [1], [1, 2]) == "the result: expected 2 items, got 1"


def test_a_value_is_shown_in_a_line_however_large_it_is() -> None:
    for value in (10**1_000_000, ["x" * 10**6] * 100, {"k" * 10**6: 1}, list(range(10**6)), b"\0" * 10**6):
        assert len(brief(value)) < 400
    assert brief({"a": Tuple([1, None]), "b": Bag([2.5])}) == "{'a': (1, None), 'b': {2.5}}"


# --- tagged JSON -------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
).filter(lambda value: "$" not in json.dumps(value))


@given(JSON)
def test_a_references_value_crosses_and_is_itself(value: Any) -> None:
    crossed = decode(loads(json.dumps(encode(value)).encode()))
    assert differs(STRICT, crossed, plain(value)) is None


@pytest.mark.parametrize(
    ("tagged", "value"),
    [
        ({"i": "-1f"}, -31),
        ({"f": "0x1.8000000000000p+0"}, 1.5),
        ({"f": "-inf"}, -math.inf),
        ({"t": [{"i": "1"}]}, Tuple([1])),
        ({"frozenset": ["a"]}, Bag(["a"])),
        ({"d": [[{"i": "1"}, "a"], [None, "b"], [True, "c"]]}, {"1": "a", "null": "b", "true": "c"}),
        ({"counter": [["a", {"i": "2"}]]}, {"a": 2}),
        ({"bytes": "00ff"}, b"\x00\xff"),
        ({"text": "eda080"}, "\ud800"),
        ({"complex": ["0x1.0000000000000p+0", "inf"]}, complex(1, math.inf)),
        ({"fraction": ["1", "2"]}, 0.5),
        ({"decimal": "1.50"}, 1.5),
        ({"decimal": "-Infinity"}, -math.inf),
        ({"deque": [None, [{"i": "1"}]]}, [1]),
        ({"scalar": ["int64", {"i": "7"}]}, 7),
        ({"array": ["int64", [2, 2], [{"i": "1"}, {"i": "2"}, {"i": "3"}, {"i": "4"}]]}, [[1, 2], [3, 4]]),
        ({"array": ["int64", [2, 0], []]}, [[], []]),
        ({"array": ["int64", [0, 1_000_000_000], []]}, []),
        ({"array": ["int64", [], [{"i": "1"}]]}, 1),
        ({"range": ["0", "3", "1"]}, Opaque("range", ("0", "3", "1"))),
        ({"date": [2020, 1, 2]}, Opaque("date", ("2020", "1", "2"))),
    ],
)
def test_what_the_border_writes_is_read(tagged: Any, value: Any) -> None:
    read = decode(tagged)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "hostile",
    [
        5,
        [1],
        {},
        {"i": "1", "f": "nan"},
        {"i": 5},
        {"i": ""},
        {"i": "0x5"},
        {"i": "\u0661"},
        {"i": "f" * 100_001},
        {"f": "1.5"},
        {"f": "0x1.0p+99999"},
        {"f": "NAN"},
        {"d": [["a"]]},
        {"d": {"a": 1}},
        {"d": [["1", None], [{"i": "1"}, None]]},
        {"bytes": "0g"},
        {"text": "ff"},
        {"fraction": ["1", "0"]},
        {"fraction": ["1", "2", "3"]},
        {"decimal": "1e"},
        {"decimal": "\u0661"},
        {"complex": ["nan"]},
        {"date": ["2020", 1, 2]},
        {"array": ["int64", [1_000_000_000, 0], []]},
        {"array": ["int64", [-1], []]},
        {"array": ["int64", [3], [{"i": "1"}]]},
        {"array": ["int64", "x", []]},
        {"scalar": 1},
        {"object": "os.system"},
        {"l": None},
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_what_is_no_value_is_refused(hostile: Any) -> None:
    with pytest.raises(Untagged):
        decode(hostile)
    with pytest.raises(Untagged):
        decode({"l": [hostile]})


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff", b"NaN", b'{"i": Infinity}', b"[" * 100_000, b"9" * 5000, b" " * (9 << 20)]
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(Untagged):
        loads(text)


def test_nesting_is_bounded() -> None:
    def nested(depth: int) -> Any:
        value: Any = None
        for _ in range(depth):
            value = {"l": [value]}
        return value

    decode(nested(MAX_DEPTH))
    with pytest.raises(Untagged):
        decode(nested(MAX_DEPTH + 1))


def test_keys_that_collide_cost_no_more_than_others() -> None:
    def table(step: int, count: int) -> Any:
        return {"d": [[{"i": format(step * place, "x")}, None] for place in range(count)]}

    same, other = table(2**61 - 1, 2000), table(1, 2000)
    assert steps(lambda: decode(same)) <= 2 * steps(lambda: decode(other))


def test_an_integer_of_many_digits_is_read_and_compared() -> None:
    value = decode({"i": "f" * 100_000})
    assert differs(ValueChecker(), value, 0) is not None
    assert differs(ValueChecker(), value, value) is None
    decode({"d": [[{"t": [{"i": "f" * 3000}]}, None]]})  # small enough to be written
    with pytest.raises(Untagged):
        decode({"d": [[{"t": [{"i": "f" * 100_000}]}, None]]})


# --- Kattis's default validator ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "output", "expected", "verdict"),
    [
        ("", b"YES\n\n 1", b"yes 1", "AC"),
        ("", b"1.0", b"1", "WA"),
        ("case_sensitive", b"YES", b"yes", "WA"),
        ("space_change_sensitive", b"a  b\n", b"a b\n", "PE"),
        ("space_change_sensitive", b"A b\n", b"a b\n", "AC"),
        ("space_change_sensitive", b"a b", b"a b\n", "PE"),
        ("float_tolerance 1e-2", b"1.001 Yes", b"1 yes", "AC"),
        ("float_tolerance 1e-2", b"1.1", b"1", "WA"),
        ("float_tolerance 1e-2", b"nan", b"1", "WA"),
        ("float_absolute_tolerance 1e-2", b"1001", b"1000", "WA"),
        ("float_relative_tolerance 1e-2", b"1001", b"1000", "AC"),
        ("float_relative_tolerance 1e-2", b"0.001", b"0", "WA"),
        ("float_tolerance 1e-2 space_change_sensitive", b"1.0  2\n", b"1 2\n", "PE"),
        ("float_tolerance 1e-2 space_change_sensitive", b"1.0 2\n", b"1 2\n", "AC"),
        ("float_absolute_tolerance 1 float_relative_tolerance 0 case_sensitive", b"2 a", b"1 a", "AC"),
    ],
)
def test_the_flags_of_the_default_validator(flags: str, output: bytes, expected: bytes, verdict: str) -> None:
    assert compare(kattis(flags.split()), output, expected).verdict == verdict


@pytest.mark.parametrize(
    "flags",
    ["case", "float_tolerance", "float_tolerance x", "float_tolerance nan", "float_tolerance 1 float_tolerance 1"],
)
def test_flags_that_the_default_validator_lacks(flags: str) -> None:
    with pytest.raises(ValueError, match="flag"):
        kattis(flags.split())
