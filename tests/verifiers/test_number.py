"""`number`: exact arithmetic, units as pint means them, and nothing paid for hedges."""

from __future__ import annotations

import decimal
import math
import random
from fractions import Fraction
from typing import Any

import pint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.answer.number import reading
from rewarden_verifiers.answer.number.compare import digits_shared, magnitude
from rewarden_verifiers.answer.number.equivalence import NumberEquivalence
from rewarden_verifiers.answer.number.finding import last_quantity
from rewarden_verifiers.answer.number.limits import Unreadable
from rewarden_verifiers.answer.number.params import NumberParams
from rewarden_verifiers.answer.number.quantity import Quantity
from rewarden_verifiers.answer.number.reading import read_scalar
from rewarden_verifiers.answer.number.reference import prepare
from rewarden_verifiers.answer.number.units import named, registry
from rewarden_verifiers.answer.number.verifier import number
from rewarden_verifiers.contract import _is_json
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

REGISTRY = Registry()
PLANNER = Planner(REGISTRY)
SPEC = REGISTRY.get("number")


async def judged(response: str, reference: Any, **params: Any) -> Outcome:
    use = Use(name="number", params={"extraction": "whole", **params})
    return await outcome_of(PLANNER, use, Sample(response=response, reference=reference))


def direct(response: str, reference: Any, **params: Any) -> Outcome:
    made = NumberParams(**{"extraction": "whole", **params})
    return number(response, prepare(parse_reference(SPEC, reference), made), made)


def value(text: str) -> Fraction:
    found = read_scalar(text, "point")
    assert isinstance(found, Quantity)
    return found.value


# Spellings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("42", "42"),
        ("+42", "42"),
        ("-42.50", "-42.5"),
        ("−42", "-42"),
        ("１２", "12"),
        ("١٢", "12"),
        ("1,234,567.89", "1234567.89"),
        ("12,34,567", "1234567"),
        ("1 234 567", "1234567"),
        ("1\u202f234\u202f567", "1234567"),
        (r"1{,}234", "1234"),
        (r"1\,234\,567", "1234567"),
        ("1'234", "1234"),
        (".5", "1/2"),
        ("5.", "5"),
        ("1.2e-3", "12/10000"),
        ("1.2E+3", "1200"),
        ("1.2×10^5", "120000"),
        ("1.2 x 10^-3", "12/10000"),
        ("1.2 * 10**4", "12000"),
        (r"1.2 \times 10^{5}", "120000"),
        (r"$1.2 \cdot 10^{-2}$", "12/1000"),
        ("1.2·10⁻²", "12/1000"),
        ("10^6", "1000000"),
        ("2^10", "1024"),
        ("3/4", "3/4"),
        ("-3/4", "-3/4"),
        ("1 3/4", "7/4"),
        ("-1 3/4", "-7/4"),
        ("1¾", "7/4"),
        ("⅔", "2/3"),
        (r"\frac{3}{4}", "3/4"),
        (r"-\dfrac{3}{4}", "-3/4"),
        (r"\frac34", "3/4"),
        (r"1\frac{1}{2}", "3/2"),
        ("twelve", "12"),
        ("minus twelve", "-12"),
        ("one hundred and twenty-three", "123"),
        ("three million", "3000000"),
        ("nineteen hundred", "1900"),
        ("two million three hundred thousand and one", "2300001"),
        ("three point one four", "314/100"),
        ("one half", "1/2"),
        ("two thirds", "2/3"),
        ("2 thirds", "2/3"),
        ("three quarters", "3/4"),
        ("two and a half", "5/2"),
        ("2 and a half million", "2500000"),
        ("half a million", "500000"),
        ("half a dozen", "6"),
        ("a dozen", "12"),
        ("1.5 million", "1500000"),
        ("3 hundred thousand", "300000"),
        ("2.5 crore", "25000000"),
        ("3rd", "3"),
        ("$1,250.50", "125050/100"),
        ("-$5", "-5"),
        ("$5k", "5000"),
        ("€1.5 million", "1500000"),
        ("USD 12", "12"),
        ("Rs. 500", "500"),
        ("about 5", "5"),
        ("≈ 5", "5"),
        ("x = 5", "5"),
        ("x_2 = 7", "7"),
        ("5 apples", "5"),
        ("there are 5 of them", "5"),
        ("**5**", "5"),
        ("`5`", "5"),
        ("(5)", "5"),
        (r"\text{5 apples}", "5"),
        ("60 * 2 = 120", "120"),
        (r"\frac{1}{4} = 0.25", "1/4"),
        ("1/3 ≈ 0.333", "1/3"),
        ("0.333 = 1/3", "1/3"),
        ("0.33 (1/3)", "1/3"),
        ("0.34 (1/3)", None),
        ("0.5 (1/2)", "1/2"),
        ("5 (five)", "5"),
        (r"1.\overline{3}", None),
        ("1,23", None),
        ("1.2.3", None),
        ("5/0", None),
        ("5!", None),
        ("5x", None),
        ("5 x", None),
        ("5π", None),
        (r"2\sqrt{3}", None),
        (r"\sqrt{4}", None),
        ("log(100)", None),
        ("square root of 25", None),
        ("5 squared", None),
        ("12_5", None),
        ("12₅", None),
        ("0x1F", None),
        ("NaN", None),
        ("inf", None),
        ("-∞", None),
        ("", None),
        ("no idea", None),
        ("1/2/3", None),
    ],
)
def test_each_spelling(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(Unreadable):
            read_scalar(text, "point")
    else:
        assert value(text) == Fraction(expected)


@pytest.mark.parametrize(
    "text",
    [
        "5 or 6", "5, 6", "5 and 6", "either 5 or 6", "not 5", "5 not 6", "5; 6", "5 / or 6", "5+",
        "x = 5; x = 6", "5 = 6",
        "5 (6)", "5 km or 6 km", "five or six", "5 maybe", "5 5", "x = 5, y = 5 = 6", "5 ≈ 6", "5, possibly 6",
        "[5, 6, 7]", "{5, 6, 7}", "5\n6",
    ],
)  # fmt: skip
def test_each_hedge(text: str) -> None:
    for reference in (5, 6):
        outcome = direct(text, reference, wrong_score=0.1, partial="exponential", scale=1e6)
        assert (outcome.score, outcome.reason) == (0.0, "hedged")


@pytest.mark.parametrize(
    "text", ["at least 5", "≥ 5", "more than 5", "up to 5", "3 to 5", "5±1", "[5, 6]", "5 or more"]
)
def test_a_bound_or_a_range_is_no_number(text: str) -> None:
    assert direct(text, 5).reason == "hedged"


@pytest.mark.parametrize(
    ("text", "decimal", "expected"),
    [
        ("1.234,5", "comma", "12345/10"),
        ("1.234", "comma", "1234"),
        ("3,14", "comma", "314/100"),
        ("1.234,5", "either", "12345/10"),
        ("1,234.5", "either", "12345/10"),
        ("3,14", "either", "314/100"),
        ("1,234", "either", "1234"),
        ("3.14", "either", "314/100"),
    ],
)
def test_decimal_signs(text: str, decimal: Any, expected: str) -> None:
    found = read_scalar(text, decimal)
    assert isinstance(found, Quantity)
    assert found.value == Fraction(expected)


# Comparison


@pytest.mark.parametrize(
    ("answer", "reference", "params", "right"),
    [
        ("3.1", 3, {"abs_tol": 0.1}, True),
        ("3.1001", 3, {"abs_tol": 0.1}, False),
        ("101", 100, {"rel_tol": 0.01}, True),
        ("101.1", 100, {"rel_tol": 0.01}, False),
        ("-101", -100, {"rel_tol": 0.01}, True),
        ("3.14", 3.14159, {}, False),
        ("3.14159", 3.14159265, {}, True),
        ("3.1415", 3.14159265, {}, False),
        ("1000001", 1000000, {}, False),
        ("0.30000000000000004", 0.3, {}, True),
        ("3.14", 3.14159, {"significant": 3}, True),
        ("3.1", 3.14159, {"significant": 3}, False),
        ("0.00123", 0.0012345, {"significant": 3}, True),
        ("12300", 12345, {"significant": 3}, True),
        ("12200", 12345, {"significant": 3}, False),
        ("2.6458", "2.65", {"significant": "reference"}, True),
        ("2.6458", "2.650", {"significant": "reference"}, False),
        ("2.6458", 2.65, {"decimals": "reference"}, True),
        ("0.33", "1/3", {"decimals": 2}, True),
        ("0.34", "1/3", {"decimals": 2}, False),
        ("1.2e5", "1.23e5", {"decimals": "reference"}, False),
        ("122900", "1.23e5", {"decimals": "reference"}, True),
        ("12%", 0.12, {}, True),
        ("12 percent", 0.12, {}, True),
        ("12%", 12, {}, False),
        ("12%", 12, {"percent": "as_number"}, True),
        ("12", "12%", {"percent": "as_number"}, True),
        ("0.12", "12%", {"percent": "as_number"}, False),
        ("12%", "12%", {"percent": "required"}, True),
        ("0.12", "12%", {"percent": "required"}, False),
        ("12%", 0.12, {"percent": "required"}, False),
        ("12%", "12%", {"percent": "either"}, True),
        ("12", "12%", {"percent": "either"}, True),
        ("0.12", "12%", {"percent": "either"}, True),
        ("0.12%", "12%", {"percent": "either"}, False),
        ("12%", 12, {"percent": "either"}, True),
        ("12%", 0.12, {"percent": "either"}, True),
        ("5‰", "0.5%", {}, True),
        ("3200 m", "3.2 km", {}, True),
        ("3.2", "3.2 km", {}, True),
        ("3.2", "3.2 km", {"units": "required"}, False),
        ("3.2 km", "3.2", {}, True),
        ("3.2 km", "3.2", {"units": "required"}, False),
        ("3.2 kg", "3.2 km", {}, False),
        ("3.2 kg", "3.2 km", {"units": "ignored"}, True),
        ("5 apples", "5 apples", {"units": "required"}, True),
        ("5 apple", "5 apples", {"units": "required"}, True),
        ("5", "5 apples", {"units": "required"}, False),
        ("5 pears", "5 apples", {"units": "required"}, False),
        ("$5", "5 dollars", {}, True),
        ("500 cents", "$5", {}, True),
        ("€5", "$5", {}, False),
        ("3.106855961 miles", "5 km", {}, True),
        ("77 °F", "25 °C", {}, True),
        ("298.15 K", "25 degC", {}, True),
        ("25 K", "25 degC", {}, False),
        ("77 degrees Fahrenheit", "25 degrees Celsius", {}, True),
        (r"77^\circ \text{F}", "25° C", {}, True),
        ("90 degrees", "90°", {}, True),
        ("5 ft 3 in", "63 in", {}, True),
        ("5 ft 13 in", "73 in", {}, False),
        ("4", {"low": 3, "high": 5}, {}, True),
        ("5.01", {"low": 3, "high": 5}, {}, False),
        ("5.01", {"low": 3, "high": 5}, {"abs_tol": 0.01}, True),
        ("1e9", {"low": 3}, {}, True),
        ("at least 3", {"low": 3}, {}, True),
        ("3-5", {"low": 3, "high": 5}, {}, True),
        ("between 3 and 5", {"low": 3, "high": 5}, {"interval": "within"}, False),
        ("3 ≤ x ≤ 5", {"low": 3, "high": 5}, {"interval": "same"}, True),
        ("4", {"low": 3, "high": 5}, {"interval": "same"}, False),
        ("from 3 to 4", {"low": 3, "high": 5}, {}, False),
        ("3 to 5 km", {"low": "3000 m", "high": "5000 m"}, {}, True),
        ("400 cm", {"low": "3 m", "high": "5 m"}, {}, True),
        ("4 kg", {"low": "3 m", "high": "5 m"}, {}, False),
        ("(1, 2, 3)", [1, 2, 3], {}, True),
        ("<1, 2, 3>", [1, 2, 3], {}, False),
        ("1 2 3", [1, 2, 3], {}, True),
        ("1, 2 and 3", "[1, 2, 3]", {}, True),
        ("[1, 3, 2]", [1, 2, 3], {}, False),
        ("[1,234, 5]", [1234, 5], {}, True),
        ("[1,2] or [2,1]", [1, 2], {}, False),
        ("(100, 200) cm", ["1 m", "2 m"], {}, True),
        ("a: 1, b: 2", {"a": 1, "b": 2}, {}, True),
        ('{"a": 1, "b": 2}', {"a": 1, "b": 2}, {}, True),
        ('{"a": 1, "b": 2, "c": 3}', {"a": 1, "b": 2}, {}, False),
        ('{"a": 1, "b": NaN}', {"a": 1, "b": 2}, {}, False),
        ("-2", {"any": [2, -2]}, {}, True),
        ("9.8 m/s^2", {"value": 9.81, "unit": "m/s^2", "rel_tol": 0.01}, {}, True),
        ("0.5 m", {"value": 0.5, "unit": "meters"}, {}, True),
        ('["a", "b", "b"]', 2, {"count": True}, True),
        ("[,,,]", 3, {"count": True}, False),
        ("- cat\n- dog", 2, {"count": True}, True),
    ],
)  # fmt: skip
async def test_each_option(answer: str, reference: Any, params: dict[str, Any], right: bool) -> None:
    outcome = await judged(answer, reference, **params)
    assert outcome.status == "scored"
    assert (outcome.score == 1.0, outcome.passed) == (right, right)


@pytest.mark.parametrize(
    ("answer", "reference", "params", "score"),
    [
        ("12", 10, {"partial": "linear", "scale": 5}, 0.6),
        ("20", 10, {"partial": "linear", "scale": 5}, 0.0),
        ("11", 10, {"partial": "exponential", "scale": 2}, math.exp(-0.5)),
        ("110", 100, {"partial": "exponential", "scale": 0.1, "distance": "relative"}, math.exp(-1)),
        ("1 km", "1100 m", {"partial": "linear", "scale": 200}, 0.5),
        ("6", {"low": 3, "high": 5}, {"partial": "linear", "scale": 4}, 0.75),
        ("1e4000", 1, {"partial": "exponential", "scale": 1e-9}, 0.0),
        ("1235", 1234, {"partial": "digits"}, 0.75),
        ("11234", 1234, {"partial": "digits"}, 0.8),
        ("-1235", 1234, {"partial": "digits"}, 0.0),
        ("[1, 2, 4]", [1, 2, 3], {"partial": "items"}, 2 / 3),
        ("[1, 2, 3, 4]", [1, 2, 3], {"partial": "items"}, 0.75),
        ("a: 1", {"a": 1, "b": 2}, {"partial": "items"}, 0.5),
        ("[0, 1]", [1, 0], {"partial": "linear", "metric": "l1", "scale": 4}, 0.5),
        ("[0, 1]", [1, 0], {"partial": "linear", "metric": "total_variation", "scale": 4}, 0.75),
        ("[3, 4]", [0, 0], {"partial": "linear", "metric": "l2", "scale": 10}, 0.5),
        ("[3, 4]", [0, 0], {"partial": "linear", "metric": "max", "scale": 8}, 0.5),
        ("[1/4, 3/4]", [0.5, 0.5], {"partial": "exponential", "metric": "kl"}, math.sqrt(0.75)),
        ("[0, 1]", [0.5, 0.5], {"partial": "exponential", "metric": "kl"}, 0.0),
        ("[0.5, 0.6]", [0.5, 0.5], {"partial": "exponential", "metric": "kl"}, 0.0),
        ("7", 42, {"wrong_score": 0.1}, 0.1),
        ("7 kg", "42 m", {"wrong_score": 0.1}, 0.1),
        ("seven", 42, {"wrong_score": 0.1}, 0.1),
        ("none", 42, {"wrong_score": 0.1}, 0.0),
    ],
)
async def test_what_is_not_right_may_earn(answer: str, reference: Any, params: dict[str, Any], score: float) -> None:
    outcome = await judged(answer, reference, **params)
    assert outcome.score == pytest.approx(score)
    assert outcome.passed is False


@pytest.mark.parametrize(
    "reference",
    [
        "", "none", True, float("nan"), float("inf"), "1e99999", "5 or 6", [], [1, True], {}, {"low": 5, "high": 3},
        {"low": None, "high": None}, {"any": []}, {"value": 5, "unit": "5 m"}, {"value": "5 m", "unit": "m"},
        {"value": 5, "abs_tol": -1}, {"low": "1 m", "high": "2 kg"}, {"a": 1, "A": 2}, {"a": "x"}, {"low": "1-2"},
        "9" * 5000,
    ],
)  # fmt: skip
async def test_a_bad_reference_is_undecided(reference: Any) -> None:
    outcome = await judged("5", reference)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


@pytest.mark.parametrize(
    "params",
    [
        {"abs_tol": -1},
        {"rel_tol": math.inf},
        {"significant": 0},
        {"decimals": -1},
        {"scale": 0},
        {"passes": 0},
        {"passes": 1.1},
        {"wrong_score": 1.0},
        {"wrong_score": -0.1},
        {"metric": "l3"},
        {"extraction": "some"},
        {"extraction": []},
        {"percent": "never"},
        {"tolerance": 1},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="number", params=params))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It takes 2 hours, so the distance is 120 km in total.", "120 km in total"),
        ("There are 6.02 x 10^23 of them", "6.02 x 10^23 of them"),
        ("Either 5 or 7.", "Either 5 or 7"),
        ("so -5", "-5"),
        ("2-5", "2-5"),
        ("the cost is $1,250.50.", "$1,250.50"),
        (r"it is \frac{3}{4} of it", r"\frac{3}{4} of it"),
        ("no number", None),
    ],
)
def test_the_last_quantity(text: str, expected: str | None) -> None:
    found = last_quantity(text)
    assert (None if found is None else found.text) == expected
    if found is not None:
        assert text[found.span[0] : found.span[1]] == found.text


# Agreement with Python's exact arithmetic

FRACTIONS = st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**6)


@given(FRACTIONS)
def test_fractions_are_read_as_python_reads_them(one: Fraction) -> None:
    assert value(str(one)) == Fraction(str(one))
    assert value(f"\\frac{{{one.numerator}}}{{{one.denominator}}}") == one


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=9))
def test_decimals_are_read_as_python_reads_them(one: decimal.Decimal) -> None:
    assert value(f"{one:f}") == Fraction(one)
    assert value(f"{one:,f}") == Fraction(one)
    assert value(f"{one:e}") == Fraction(one)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_equals_itself_and_its_repr(one: float) -> None:
    assert direct(repr(one), one).score == 1.0
    assert value(repr(one)) == Fraction(repr(one))


@given(st.integers())
def test_integers_of_any_size_are_exact(one: int) -> None:
    assert direct(str(one), one).score == 1.0
    assert direct(f"{one:,}", str(one)).score == 1.0
    assert direct(str(one + 1), one).score == 0.0


@given(FRACTIONS, FRACTIONS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_tolerances_are_exact(one: Fraction, other: Fraction, absolute: int, relative: int) -> None:
    limits = {"abs_tol": absolute / 1000, "rel_tol": relative / 10**7}
    exact = [Fraction(repr(limit)) for limit in limits.values()]
    right = abs(one - other) <= max(exact[0], exact[1] * abs(one))
    assert (direct(str(other), str(one), **limits).score == 1.0) is right


@given(st.decimals(min_value="1e-20", max_value="1e20", allow_nan=False), st.integers(1, 12))
def test_a_correct_rounding_is_right(one: decimal.Decimal, digits: int) -> None:
    with decimal.localcontext() as context:
        context.prec = digits
        for context.rounding in (decimal.ROUND_HALF_EVEN, decimal.ROUND_HALF_UP, decimal.ROUND_HALF_DOWN):
            assert direct(f"{+one:e}", f"{one:e}", significant=digits).score == 1.0
    assert magnitude(Fraction(one)) == one.adjusted()


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_digits_shared_is_what_counting_says(one: int, other: int) -> None:
    size = max(len(str(one)), len(str(other)))
    ours, theirs = str(one).rjust(size), str(other).rjust(size)
    same = sum(a == b and a != " " for a, b in zip(ours, theirs, strict=True))
    assert digits_shared(Fraction(one), Fraction(other)) == same / size


# Agreement with number words

ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spelled(number: int, joined: str = " ") -> str:
    """A number in words: the other way round from what is tested."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    for size, word in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = number % size
            return f"{spelled(number // size, joined)} {word}" + (joined + spelled(rest, joined) if rest else "")
    raise AssertionError


@given(st.integers(0, 10**12 - 1), st.sampled_from([" ", " and "]))
def test_number_words(one: int, joined: str) -> None:
    if joined == " and " and one % 1000 >= 100 and one >= 1000:
        joined = " "
    assert value(spelled(one, joined if one < 1000 else " ")) == one


# Agreement with pint

UNITS = (
    "m", "km", "cm", "mm", "inch", "foot", "yard", "mile", "s", "min", "hour", "day", "week", "g", "kg", "mg",
    "lb", "oz",
    "tonne", "L", "mL", "gallon", "N", "J", "kJ", "cal", "kcal", "kWh", "W", "kW", "Pa", "kPa", "bar", "atm", "V", "mV",
    "A", "mA", "ohm", "F", "C", "Hz", "MHz", "mol", "mmol", "K", "eV", "byte", "MB", "acre", "hectare", "knot", "mph",
    "liters", "meters", "kilometers", "hours", "pounds", "joules", "newtons", "kilograms",
    "microseconds", "psi", "degree",
)  # fmt: skip


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(UNITS), st.integers(-3, 3).filter(bool)), min_size=1, max_size=4),
    st.fractions(min_value=-1000, max_value=1000, max_denominator=1000),
)
def test_products_of_units_mean_what_pint_says(parts: list[tuple[str, int]], size: Fraction) -> None:
    written = "*".join(f"{name}^{power}" for name, power in parts)
    theirs = registry().Quantity(size, registry().parse_units(written.replace("^", "**")))
    base = theirs.to_root_units()
    found = read_scalar(f"{size} {written}", "point")
    assert isinstance(found, Quantity)
    if found.unit is None:
        assert theirs.dimensionless
        return
    assert found.value * found.unit.factor == base.magnitude
    assert {name: int(power) for name, power in found.unit.dimension} == {
        str(name): int(power) for name, power in base._units.items()
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("km/h", "km/hour"),
        ("kilometers per hour", "km/hour"),
        ("km h^-1", "km/hour"),
        ("m/s²", "m/s**2"),
        ("meters per second squared", "m/s**2"),
        ("m s⁻²", "m/s**2"),
        ("N·m", "N*m"),
        ("N m", "N*m"),
        ("J/(kg·K)", "J/(kg*K)"),
        ("J/kg/K", "J/kg/K"),
        ("J/kg*K", "J/kg*K"),
        ("kg m^2 / s^2", "kg*m**2/s**2"),
        ("square feet", "foot**2"),
        ("sq ft", "foot**2"),
        ("cubic centimeters", "cm**3"),
        ("cm3", "cm**3"),
        ("1/s", "1/s"),
        ("kWh", "kWh"),
        ("Kg", "kg"),
        (r"\mathrm{m\,s^{-1}}", "m/s"),
        ("mph", "mile/hour"),
        ("µm", "micrometer"),
        ("Ω", "ohm"),
        ("square m", "m**2"),
    ],
)
def test_spellings_of_units(ours: str, theirs: str) -> None:
    found = read_scalar(f"7 {ours}", "point")
    assert isinstance(found, Quantity)
    assert found.unit is not None
    base = registry().Quantity(Fraction(7), registry().parse_units(theirs)).to_root_units()
    assert found.value * found.unit.factor == base.magnitude


@given(st.integers(-(10**6), 10**6), st.sampled_from(["degC", "degF", "kelvin"]), st.sampled_from(["degC", "degF"]))
def test_offsets_convert_as_pint_converts_them(hundredths: int, one: str, other: str) -> None:
    size = Fraction(hundredths, 100)
    first, second = named(one), named(other)
    assert first is not None
    assert second is not None
    assert first.to(second, size) == registry().Quantity(size, one).to(other).magnitude


def test_floats_of_pint_agree_within_rounding() -> None:
    floats = pint.UnitRegistry()
    rng = random.Random(4)
    pairs = [("mile", "km"), ("degF", "degC"), ("lb", "kg"), ("kWh", "MJ"), ("atm", "kPa"), ("gallon", "L")]
    for one, other in pairs:
        for _ in range(20):
            size = round(rng.uniform(-500, 500), 3)
            converted = floats.Quantity(size, one).to(other).magnitude
            assert direct(f"{size} {one}", f"{converted!r} {other}", abs_tol=1e-9, rel_tol=1e-9).score == 1.0


@pytest.mark.parametrize("word", ["cats", "rats", "mats", "apples", "people", "dogs", "as", "at", "is", "pi", "e", "x"])
def test_words_are_no_units_by_accident(word: str) -> None:
    assert named(word) is None


# Bounds


@pytest.mark.parametrize(
    "text",
    [
        "10**10**10", "10^10^10 m", "1e999999999", "1e5000", "9" * 5000, "2^99999999", "10^(99999)", "1e-99999",
        "m" * 9000, "1 " * 5000, "1e3000 " * 20, "5 m^99", "5 " + "(" * 3000 + "m" + ")" * 3000, "5 " + "m/" * 3000,
        "9" * 3999 + "/" + "7" * 3999,
    ],
)  # fmt: skip
def test_nothing_explodes(text: str) -> None:
    outcome = direct(text, 7)
    assert outcome.score == 0.0
    assert outcome.reason in ("too_expensive", "hedged", "unparseable_answer", "wrong")


def test_no_text_reaches_the_evaluator_of_pint(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("pint evaluates text")

    for name in ("parse_expression", "parse_units", "__call__"):
        monkeypatch.setattr(type(registry()), name, refused)
    for text in ("5 km/h", "10**10**10 m", "5 furlongs per fortnight", "5 __import__('os')", "3 (m+s)", "5 degC/min"):
        direct(text, "5 stones/acre")


PIECES = (
    "1", "2", "12", "0", "3.5", "1,234", ".", "e5", "^", "(", ")", "[", "]", "-", "+", "/", "*", "×10^",
    "10", "%", "km",
    "/h", "m^2", "°C", "$", " or ", " and ", " to ", "between ", "half ", "a ", "million ", "twelve ", "=", "≈", "±",
    "≥", "NaN", "∞",
    "\\frac{1}{2}", "\\times", "²", "½", "−", "\n", ";", ", ", ": ", "x", '{"a": 1}', "１", "٣", "per ",
    "square feet", " ", *HOSTILE,
)  # fmt: skip
TEXTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=15).map("".join)
PARAMS = (
    NumberParams(extraction="whole"),
    NumberParams(extraction="whole", decimal="either", percent="either", partial="exponential", metric="kl"),
    NumberParams(extraction="lax", units="required", partial="digits", wrong_score=0.1),
    NumberParams(extraction="whole", count=True, partial="linear", significant="reference", distance="relative"),
    NumberParams(extraction="whole", decimal="comma", percent="required", partial="items", units="ignored"),
    NumberParams(extraction="lax", partial="linear", metric="l2", percent="as_number", decimals="reference"),
)
REFERENCES = (5, "32 km", "12%", [1, 2], {"a": 0.3, "b": 0.7}, {"low": 1, "high": 5}, "25 degC", {"any": [3, "4 m"]})
PREPARED = [(params, prepare(parse_reference(SPEC, ref), params)) for params in PARAMS for ref in REFERENCES]


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for params, prepared in PREPARED:
        outcome = number(text, prepared, params)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert (outcome.score == 1.0) is bool(outcome.passed)
        assert _is_json(outcome.evidence)
        assert _is_json(outcome.extracted)


SAME = [NumberEquivalence(params) for params in PARAMS]


@settings(max_examples=50, deadline=None)
@given(TEXTS, TEXTS)
def test_sameness_is_reflexive_and_symmetric_and_keys_agree_with_it(one: str, other: str) -> None:
    for same in SAME:
        same.extract(one)
        assert same.same(one, one) is True
        assert same.same(one, other) == same.same(other, one)
        key = same.key(one)
        if key is not None and key == same.key(other):
            assert same.same(one, other) is True


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1/2", "0.5", True),
        ("50%", "0.5", True),
        ("3200 m", "3.2 km", True),
        ("3 m", "3 kg", False),
        ("twelve", "12", True),
        ("(1, 2)", "[1, 2]", True),
        ("(1, 2)", "(2, 1)", False),
        ("12", "13", False),
        ("12", "cats", None),
    ],
)
def test_sameness(one: str, other: str, same: bool | None) -> None:
    equivalence = NumberEquivalence(NumberParams())
    assert equivalence.same(one, other) is same
    if same:
        assert equivalence.key(one) == equivalence.key(other) is not None


def test_what_hedges_has_no_answer() -> None:
    equivalence = NumberEquivalence(NumberParams())
    assert equivalence.extract(r"\boxed{12}") == "12"
    assert equivalence.extract(r"\boxed{12 or 13}") is None
    assert equivalence.extract(r"\boxed{12} or \boxed{13}") is None
    assert equivalence.extract(r"\boxed{0.5} or \boxed{1/2}") == "0.5"
    assert equivalence.extract("12") == "12"
    assert equivalence.extract("12 or 13") is None


GROWING = [
    (params, prepare(parse_reference(SPEC, reference), params))
    for params, reference in (
        (NumberParams(extraction="lax"), 5),
        (NumberParams(extraction="whole"), 5),
        (NumberParams(extraction="whole"), [1, 2]),
        (NumberParams(extraction="whole"), {"a": 1, "b": 2}),
    )
]


@pytest.mark.parametrize("piece", [*HOSTILE, "1 ", "1=", "1/", "½", "one ", "m/", "(m ", "a: 1\n", "\\frac{1}{2}", "°"])
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    for params, prepared in GROWING:
        sizes = []
        for size in (100, 400, 1600):
            text = (piece * (size // len(piece) + 1))[:size]
            reading._kept.cache_clear()
            sizes.append(steps(lambda text=text, made=params, read=prepared: number(text, read, made)))
        assert sizes[1] <= 5 * sizes[0] + 3000
        assert sizes[2] <= 5 * sizes[1] + 3000
