"""JSON text: every digit kept, every fault placed, nothing that breaks the process or lies."""

from __future__ import annotations

import enum
import json
import math
import types
from collections import OrderedDict
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidRequest, TooLarge
from rewarden.types import BadSample, Sample
from rewarden.wire import json as wire


@pytest.fixture(params=["msgspec", "standard library"], autouse=True)
def codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test holds with msgspec and without it."""
    if request.param == "standard library":
        monkeypatch.setattr(wire, "_msgspec", None)
    else:
        pytest.importorskip("msgspec")


@pytest.mark.parametrize(
    ("text", "line", "column"), [(b"", 1, 1), (b"{", 1, 2), (b'{"a": 1,\n "b" 2}', 2, 6), (b"1 2", 1, 3), (b"01", 1, 2)]
)
def test_what_is_no_json_is_refused_with_line_and_column(text: bytes, line: int, column: int) -> None:
    with pytest.raises(InvalidRequest, match="not JSON") as caught:
        wire.loads(text)
    assert (caught.value.details["line"], caught.value.details["column"]) == (line, column)


def test_what_is_no_utf8_is_refused_with_its_byte() -> None:
    with pytest.raises(InvalidRequest, match="not UTF-8: byte 2 ") as caught:
        wire.loads(b'"a\xff"')
    assert caught.value.details["byte"] == 2


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000])
def test_nesting_without_end_is_refused_and_not_followed(text: bytes) -> None:
    with pytest.raises(TooLarge, match="nested too deeply"):
        wire.loads(text)


@pytest.mark.parametrize(
    "poison", [b"NaN", b"-Infinity", b"1e999", b'"\\ud800"', b'"\\udc00\\ud800"', b'"\xed\xa0\x80"', b"1" * 5000]
)
def test_a_poisoned_value_costs_its_row_only(poison: bytes) -> None:
    value = wire.loads(b'{"samples": [{"response": "a"}, {"response": "b", "reference": ' + poison + b"}]}")
    good, bad = wire.batch_from_json(value).samples
    assert good == Sample(response="a")
    assert isinstance(bad, BadSample)
    assert bad.path == "reference"


def test_a_byte_order_mark_is_no_fault() -> None:
    assert wire.loads(b"\xef\xbb\xbf[1]") == [1]


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, 10**40, -(10**40), 0, -1])
def test_integers_keep_every_digit(number: int) -> None:
    assert wire.loads(wire.dumps([number])) == [number]
    assert type(wire.loads(wire.dumps(number))) is int


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_never_written_as_null(number: float) -> None:
    with pytest.raises(ValueError, match=r"verdicts\[0\]\.evidence\.x: is not a finite number"):
        wire.dumps({"verdicts": [{"evidence": {"x": number}}]})


@pytest.mark.parametrize("thing", [{1, 2}, b"bytes", object(), 1j])
def test_what_json_cannot_hold_is_refused_by_path(thing: Any) -> None:
    with pytest.raises(ValueError, match=r"a\[1\]: is a Python "):
        wire.dumps({"a": [0, thing]})
    with pytest.raises(ValueError, match="JSON keys are strings"):
        wire.dumps({"a": {1: 2}})


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested too deeply, or contains itself"):
        wire.dumps(loop)


def test_subclasses_of_plain_types_are_written_as_what_they_are() -> None:
    class Colour(str, enum.Enum):
        RED = "red"

    class Real(float):
        pass

    class Whole(int):
        pass

    frozen = types.MappingProxyType({"x": Real(0.5)})
    value = {"c": Colour.RED, "n": [Whole(3), (1, 2)], "m": frozen, "o": OrderedDict(a=1), Colour.RED: 1}
    assert wire.loads(wire.dumps(value)) == {"c": "red", "n": [3, [1, 2]], "m": {"x": 0.5}, "o": {"a": 1}, "red": 1}
    assert value["c"] is Colour.RED, "the value that was given is left as it was"


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    assert wire.dumps({"t": "é\ud800"}) == b'{"t":"\\u00e9\\ud800"}'
    assert wire.loads(wire.dumps("\udfff!")) == "\udfff!"


def test_other_text_is_written_as_it_stands() -> None:
    assert wire.dumps("é\u2028😀") == '"é\u2028😀"'.encode()


@settings(max_examples=120, deadline=None)
@given(st.binary(max_size=30) | st.text(alphabet='[]{}",:0123456789.eE+-\\utrfalsn ', max_size=30).map(str.encode))
def test_no_bytes_whatever_break_the_reader(data: bytes) -> None:
    with suppress(InvalidRequest, TooLarge):
        value = wire.loads(data)
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            with pytest.raises(ValueError, match="is not a finite number"):
                wire.dumps(value)
        else:
            text = wire.dumps(value)
            assert wire.dumps(wire.loads(text)) == text


def test_of_a_key_that_comes_twice_the_last_value_counts() -> None:
    assert wire.loads(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}') == {"a": 3, "b": {"c": 2}}
