"""Cells from any engine as values that compare the same."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_verifiers.sql.comparison.comparison import difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.comparison.values import Reading, Tolerance
from rewarden_verifiers.sql.engines.engine import ResultSet

EXACT = Comparison(abs=0, rel=0)
NAN = float("nan")
INF = float("inf")
TEXT = "6f9619ff-8b86-d011-b42d-00c04fc964ff"


def equal(one: Any, other: Any, how: Comparison = EXACT) -> bool:
    """Returns whether results of these single cells agree, both ways round."""
    sides = ResultSet(("a",), [(one,)]), ResultSet(("a",), [(other,)])
    found = difference(sides[0], sides[1], how)
    assert found == difference(sides[1], sides[0], how)
    return found is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, None),
        (2, 2.0),
        (2, Decimal("2.00")),
        (2.5, Decimal("2.50")),
        (True, 1),
        (False, 0.0),
        (0.0, -0.0),
        (0, Decimal("-0.000")),
        (2**70, Decimal(2**70)),
        (2**70, float(2**70)),
        (10**30, Decimal("1E+30")),
        (NAN, NAN),
        (NAN, Decimal("NaN")),
        (NAN, Decimal("sNaN")),
        (INF, Decimal("Infinity")),
        ("a", "a"),
        ("\ud800", "\ud800"),
        (b"ab", bytearray(b"ab")),
        (date(2020, 1, 2), "2020-01-02"),
        (date(2020, 1, 2), "2020-01-02 00:00:00"),
        (date(2020, 1, 2), datetime(2020, 1, 2)),
        (datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05"),
        (datetime(2020, 1, 2, 3, 4, 5), "2020-01-02T03:04:05.000"),
        (datetime(2020, 1, 2, 3, 4, 5, 500_000), "2020-01-02 03:04:05.5"),
        (datetime(2020, 1, 2, 3, 4), "2020-01-02 03:04"),
        (datetime(2020, 1, 2, tzinfo=UTC), "2020-01-02 01:00:00+01:00"),
        (datetime(2020, 1, 2, tzinfo=UTC), datetime(2020, 1, 2, 2, tzinfo=timezone(timedelta(hours=2)))),
        (time(12, 30), "12:30:00"),
        (time(12, 30), timedelta(hours=12, minutes=30)),
        (timedelta(days=1, hours=2), "1 day, 2:00:00"),
        (timedelta(days=-1, hours=2), "-1 days +02:00:00".replace("+", "")),
        (timedelta(hours=26), "26:00:00"),
        (UUID(TEXT), TEXT.upper()),
        ([1, 2.0, None], (1.0, 2, None)),
        ({"b": [1], "a": NAN}, {"a": NAN, "b": [1.0]}),
        ([], ()),
    ],
)
def test_the_same_value_is_equal_whatever_its_type(one: Any, other: Any) -> None:
    assert equal(one, other)
    assert equal(one, other, Comparison())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (5, "5"),
        (None, 0),
        (None, ""),
        ("", 0),
        (b"a", "a"),
        ("a", "A"),
        ("a", "a "),
        (2**53, 2**53 + 1),
        (2**70, 2**70 + 1),
        (Decimal(2**53), 2**53 + 1),
        (NAN, None),
        (INF, -INF),
        (INF, 1.7e308),
        ("2020-01-02", "2020-01-02 00:00:00"),
        (date(2020, 1, 2), "2020-01-03"),
        (date(2020, 1, 2), "2 January 2020"),
        (date(2020, 1, 2), datetime(2020, 1, 2, 0, 0, 1)),
        (datetime(2020, 1, 2), datetime(2020, 1, 2, tzinfo=UTC)),
        (date(2020, 1, 2), 20200102),
        (time(12, 30), "12:31:00"),
        ([1, 2], [2, 1]),
        ([1, [2]], [[1], 2]),
        ([], [[]]),
        ([], {}),
        ({"a": 1}, {"a": 1, "b": None}),
        ({"a": 1}, ["a", 1]),
        ([1], "[1]"),
    ],
)
def test_other_values_are_not_equal(one: Any, other: Any) -> None:
    assert not equal(one, other)
    assert not equal(one, other, Comparison())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Decimal("0.1"), 0.1),
        (Decimal("0.1000000000000000000001"), Decimal("0.1")),
        (1.0, 1.0000000001),
        (1, 1.0000000001),
        ([0.1 + 0.2], [0.3]),
        ({"a": Decimal("3.6666666666666667")}, {"a": 11 / 3}),
        (1e300, 1e300 * (1 + 1e-12)),
    ],
)
def test_numbers_that_are_not_whole_agree_within_the_tolerance_only(one: Any, other: Any) -> None:
    assert not equal(one, other)
    assert equal(one, other, Comparison())


@pytest.mark.parametrize(("one", "other"), [("Straße", "STRASSE"), (" a\n", "A"), ([" a"], ["A"])])
def test_folded_texts_agree_without_case_and_white_space_at_the_ends(one: Any, other: Any) -> None:
    assert not equal(one, other)
    assert equal(one, other, Comparison(folded=True))


def test_the_tolerance_is_the_greater_of_the_absolute_and_the_relative() -> None:
    tolerance = Tolerance(0.5, 0.01)
    assert tolerance.near(1.0, 1.5)
    assert not tolerance.near(1.0, 1.51)
    assert tolerance.near(1000.0, 1010.0)
    assert not tolerance.near(1000.0, 1010.2)
    assert tolerance.near(1000, 1001.0)
    assert not tolerance.near(1000, 1001)


def test_a_value_nested_ten_thousand_times_is_compared_like_any_other() -> None:
    one: Any = 1
    other: Any = 2
    for _ in range(10_000):
        one, other = [one], [other]
    assert equal(one, one)
    assert not equal(one, other)


def test_multiples_that_share_one_hash_have_keys_of_their_own() -> None:
    # ATTACK: 100,000 numbers of one hash make a table of them quadratic.
    reading = Reading()
    for make in (int, Decimal):
        cells = [make(number * (2**61 - 1)) for number in range(5000)]
        assert len({hash(reading.key(cell)) for cell in cells}) > 4900


CELLS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals(allow_nan=True)
    | st.text(max_size=30)
    | st.binary(max_size=4)
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(UTC))
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from(
        ["2020-01-02", "24:00:00", "0000-00-00", "9999-12-31T23:59:59-23:59", "999999999 days", "\udfff"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    max_leaves=5,
)


@given(CELLS, CELLS, st.booleans(), st.booleans())
def test_every_cell_can_be_read_and_equals_itself(one: Any, other: Any, folded: bool, dated: bool) -> None:
    reading = Reading(folded, dated)
    assert reading.key(one) == reading.key(one)
    hash(reading.key(one)), hash(reading.shape(one)[0])
    assert equal(one, one)
    assert equal(one, one, Comparison(folded=folded))
    equal(one, other, Comparison(folded=folded))
