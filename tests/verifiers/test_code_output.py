"""`code_output`: literals are those of Python and JSON, and nothing else is a value. Its cases run programs."""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden_verifiers.execution.literals import Unread, arguments_of, value_of
from rewarden_verifiers.execution.tagged import Untagged, fits, plain
from rewarden_verifiers.execution.values import ValueChecker, differs
from tests.verifiers.counting import HOSTILE, steps

STRICT = ValueChecker(strict=True)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
PYTHON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.tuples(inner)
        | st.just(())
        | st.dictionaries(st.integers(-9, 9), inner, max_size=3)
        | st.sets(st.integers(-9, 9), max_size=3)
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equality of a value that was read with what Python has."""
    if isinstance(other, (list, tuple)):
        return isinstance(one, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(other, dict):
        return len(one) == len(other) and all(same(one[str(key)], item) for key, item in other.items())
    if isinstance(other, set):
        return sorted(one) == sorted(other)
    return type(one) is type(other) and bool(one == other)


@given(JSON)
def test_json_is_read_as_it_is(value: Any) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=1)):
        assert differs(STRICT, plain(value_of(written)), plain_of_json(value)) is None


def plain_of_json(value: Any) -> Any:
    """A value with the key that marks tagged values taken for what it is."""
    if isinstance(value, dict):
        return {key: plain_of_json(item) for key, item in value.items()}
    return [plain_of_json(item) for item in value] if isinstance(value, list) else value


@given(PYTHON)
def test_what_python_prints_is_read_as_python_reads_it(value: Any) -> None:
    assert same(plain(value_of(repr(value))), value)
    args, kwargs = arguments_of(f"g({value!r}, x={value!r}) == {value!r}", "g")
    assert same(plain(args[0]), value)
    assert same(plain(kwargs["x"]), value)


@pytest.mark.parametrize(
    "text",
    ["1+1", "[1]*3", "f(1)", "x", "-True", "1 2", "1,", "'a' 1", "[1", "(", "{1: 2, 3}", "{'a': 1, 'a': 1}", "b'a'",
     "0o17", "1__0", "--1", "1.2.3", "lambda: 1", "'a", '"\n"', "...", "f'x'", "[*x]", "1j", "٣", "1if 1else 2"],
)  # fmt: skip
def test_what_is_no_literal_is_not_read(text: str) -> None:
    with pytest.raises(Unread):
        value_of(text)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from((*HOSTILE, "[", "]", "(", ")", "{", "}", "'", '"', "1", ",", ":", "\\", "-")), max_size=20)
)
def test_reading_agrees_with_python_or_refuses(parts: list[str]) -> None:
    text = "".join(parts).strip()
    try:
        found = plain(value_of(text))
    except (Unread, Untagged):
        return
    words = {"null": "None", "true": "True", "false": "False"}
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        assert same(found, ast.literal_eval(words.get(text, text)))


@given(PYTHON)
def test_what_is_read_can_be_sent_to_a_program(value: Any) -> None:
    assert fits(value_of(repr(value)))


@pytest.mark.parametrize("unit", ["[", "(", "'", '"', "-", "1,", "'a',", "{1:", "1_", "\\", "f(", "a=1,", '"""'])
def test_reading_takes_linear_time(unit: str) -> None:
    def read(text: str) -> None:
        for reader in (value_of, partial(arguments_of, name="f")):
            with suppress(Unread):
                reader(text)

    small, large = (steps(partial(read, unit * count)) for count in (500, 2000))
    assert large <= 6 * small + 2000
