"""Compares a quantity with the expected one, and computes their distance. All arithmetic is exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rewarden_verifiers.answer.number.params import NumberParams
from rewarden_verifiers.answer.number.quantity import Quantity
from rewarden_verifiers.answer.number.reference import Gold, Range
from rewarden_verifiers.answer.number.units import Unit

_MILLIONTH = Fraction(1, 10**6)
_SUM_SLACK = Fraction(1, 1000)
_MOST_DIGITS = 200


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison. `distance` is in the reference's unit; None if there is none."""

    right: bool
    distance: Fraction | None = None
    reason: str = "wrong"


def compare(gold: Gold, answer: Quantity, params: NumberParams) -> Comparison:
    """Compares a quantity with the expected one."""
    values = in_terms_of(gold.quantity, answer, params)
    if isinstance(values, str):
        return Comparison(False, None, values)
    distance = min(abs(value - gold.quantity.value) for value in values)
    return Comparison(distance <= tolerance(gold, answer, params), distance)


def in_terms_of(gold: Quantity, answer: Quantity, params: NumberParams) -> tuple[Fraction, ...] | str:
    """The answer's value in the reference's unit and percent sign, or the reason why it has none."""
    if params.units != "ignored":
        if gold.unit is not None:
            if answer.percent:
                return "wrong_unit"
            unit = answer.unit
            if unit is None:
                if params.units == "required":
                    return "missing_unit"
                unit = _stray(gold.unit, answer)
            if unit is not None:
                if unit.dimension != gold.unit.dimension:
                    return "wrong_unit"
                return (unit.to(gold.unit, answer.value),)
        elif params.units == "required":
            if answer.unit is not None:
                return "wrong_unit"
            if gold.label and _stem(gold.label) not in {_stem(word) for word in answer.label.split()} | {
                _stem(answer.label)
            }:
                return "missing_unit"
    value = answer.value
    if gold.percent == answer.percent or params.percent == "as_number":
        return (value,)
    scaled = value * 100 if gold.percent else value / 100
    if params.percent == "same":
        return (scaled,)
    if params.percent == "either":
        return (value, scaled)
    return "missing_unit" if gold.percent else "wrong_unit"


def _stray(wanted: Unit, answer: Quantity) -> Unit | None:
    """The unit that is separated from the answer's number: either directly after it, or of the expected dimension."""
    return next((unit for unit, close in answer.stray if close or unit.dimension == wanted.dimension), None)


def _stem(word: str) -> str:
    return word.removesuffix("s")


def tolerance(gold: Gold, answer: Quantity, params: NumberParams) -> Fraction:
    """The largest distance that counts as right, in the reference's unit: the widest of the given tolerances."""
    value = gold.quantity.value
    if gold.abs_tol is not None or gold.rel_tol is not None:
        return max(gold.abs_tol or Fraction(0), (gold.rel_tol or Fraction(0)) * abs(value))
    if not params.tolerant:
        converted = answer.unit is not None and gold.quantity.unit is not None and answer.unit != gold.quantity.unit
        if value.denominator == 1 and not converted:
            return Fraction(0)  # whole numbers are equal or not, whatever their size
        return _MILLIONTH * abs(value)
    absolute, relative = params.tolerances
    widest = absolute or Fraction(0)
    if relative:
        widest = max(widest, relative * abs(value))
    digits = gold.quantity.digits if params.significant == "reference" else params.significant
    if digits is not None and value:
        widest = max(widest, _half(digits - 1 - magnitude(value)))
    places = gold.quantity.places if params.decimals == "reference" else params.decimals
    if places is not None:
        widest = max(widest, _half(places))
    return widest


def _half(places: int) -> Fraction:
    """Half a unit of a decimal place; places left of the point are negative."""
    return Fraction(1, 2 * 10**places) if places >= 0 else Fraction(10**-places, 2)


def magnitude(value: Fraction) -> int:
    """The power of ten of the leading digit: 0 for 1 to 9.99…, -1 for 0.1 to 0.99…"""
    size = abs(value)
    power = (size.numerator.bit_length() - size.denominator.bit_length()) * 30103 // 100_000
    while size >= Fraction(10) ** (power + 1):
        power += 1
    while size < Fraction(10) ** power:
        power -= 1
    return power


def within(expected: Range, answer: Quantity, params: NumberParams) -> Comparison:
    """Compares a number with a range: the distance is to the nearer end, and 0 within the range."""
    distance = Fraction(0)
    right = True
    for end, sign in ((expected.low, 1), (expected.high, -1)):
        if end is None:
            continue
        values = in_terms_of(end.quantity, answer, params)
        if isinstance(values, str):
            return Comparison(False, None, values)
        outside = min(sign * (end.quantity.value - value) for value in values)
        slack = tolerance(end, answer, params) if params.tolerant or end.abs_tol or end.rel_tol else Fraction(0)
        right = right and outside <= slack
        distance = max(distance, outside)
    return Comparison(right, distance)


def shaped(distance: Fraction | None, gold: Sequence[Gold], params: NumberParams) -> float:
    """The score for a distance, by `linear` or `exponential`; 0 if there is no distance."""
    if distance is None:
        return 0.0
    if params.distance == "relative":
        size = sum((abs(one.quantity.value) for one in gold), Fraction(0))
        distance = distance / size if size else distance
    try:
        far = float(distance) / params.scale
    except OverflowError:
        return 0.0
    return max(0.0, 1.0 - far) if params.partial == "linear" else math.exp(-far)


def between(gold: Sequence[Gold], values: Sequence[Fraction], params: NumberParams) -> Fraction | None:
    """The distance of two vectors by the metric; None if it is infinite or one is not a distribution."""
    expected = [one.quantity.value for one in gold]
    gaps = [abs(value - one) for value, one in zip(values, expected, strict=True)]
    if params.metric == "max":
        return max(gaps)
    if params.metric == "l1":
        return sum(gaps, Fraction(0))
    if params.metric == "l2":
        return _root(sum((gap * gap for gap in gaps), Fraction(0)))
    if not (_distribution(expected) and _distribution(values)):
        return None
    if params.metric == "total_variation":
        return sum(gaps, Fraction(0)) / 2
    divergence = 0.0
    for one, value in zip(expected, values, strict=True):
        if one:
            if not value:
                return None  # the answer gives probability 0 to a possible outcome: infinitely far
            divergence += float(one) * (_log(one) - _log(value))
    return Fraction(max(0.0, divergence))


def _root(value: Fraction) -> Fraction | None:
    try:
        return Fraction(math.sqrt(value))
    except OverflowError:
        return None


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _distribution(values: Sequence[Fraction]) -> bool:
    return all(value >= 0 for value in values) and abs(sum(values, Fraction(0)) - 1) <= _SUM_SLACK


def digits_shared(gold: Fraction, answer: Fraction) -> float:
    """The share of right digits, place by place from the decimal point; 0 if the signs differ.

    Extra digits count as wrong, so that writing more of them never helps.
    """
    ours, theirs = written(abs(gold)), written(abs(answer))
    if ours is None or theirs is None or (gold < 0) != (answer < 0):
        return 0.0
    places = range(-max(len(ours[0]), len(theirs[0])), max(len(ours[1]), len(theirs[1])))
    same = sum(_digit(ours, place) == _digit(theirs, place) != "" for place in places)
    return same / len(places)


def _digit(parts: tuple[str, str], place: int) -> str:
    whole, part = parts
    if place < 0:
        return whole[place] if -place <= len(whole) else ""
    return part[place] if place < len(part) else ""


def written(value: Fraction) -> tuple[str, str] | None:
    """The digits before and after the point; None if there are infinitely many, or too many."""
    below, places = value.denominator, 0
    while below > 1 and places <= _MOST_DIGITS:
        if below % 10 == 0:
            below //= 10
        elif below % 5 == 0:
            below //= 5
        elif below % 2 == 0:
            below //= 2
        else:
            return None
        places += 1
    if below > 1 or value.numerator.bit_length() > 4 * _MOST_DIGITS:
        return None
    whole, part = divmod(value.numerator * 10**places // value.denominator, 10**places)
    return str(whole), str(part).zfill(places) if places else ""
