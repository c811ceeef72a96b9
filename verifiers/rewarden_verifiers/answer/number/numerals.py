"""Numerals as exact fractions: "1,234.5", "1.234,5", "1.2e-3". Nothing is rounded, and nothing grows without bound."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rewarden_verifiers.answer.number.limits import LARGE, MAX_DIGITS, MAX_EXPONENT, TooExpensive

Decimal = Literal["point", "comma", "either"]

_POINT = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}|[0-9]+)?(?:\.([0-9]*))?")
_COMMA = re.compile(r"([0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+)?(?:,([0-9]*))?")


@dataclass(frozen=True, slots=True)
class Numeral:
    """A value and its notation: significant digits and decimal places (None for notations that are exact)."""

    value: Fraction
    digits: int | None = None
    places: int | None = None
    large: bool = False


def numeral(run: str, exponent: str, decimal: Decimal) -> Numeral | None:
    """Reads a run of digits, points and commas, with the digits of its exponent (or ""), as a number; None if it is not
    one.

    Raises TooExpensive for a number with too many digits.
    """
    if len(run) > MAX_DIGITS:
        raise TooExpensive
    match = None if decimal == "comma" else _POINT.fullmatch(run)
    if match is None and decimal != "point":
        match = _COMMA.fullmatch(run)
    if match is None:
        return None
    whole = (match.group(1) or "").replace(",", "").replace(".", "")
    part = match.group(2) or ""
    if not whole and not part:
        return None
    power = bounded(exponent) if exponent else 0
    written = (whole + part).lstrip("0")
    number = int(whole + part)
    shift = power - len(part)
    value = Fraction(number * 10**shift) if shift >= 0 else Fraction(number, 10**-shift)
    large = len(written) + abs(power) > LARGE
    return Numeral(value, len(written), -shift, large)


def bounded(exponent: str) -> int:
    """The exponent as a number. Raises TooExpensive if it exceeds the limit."""
    if len(exponent) > 12 or abs(int(exponent)) > MAX_EXPONENT:
        raise TooExpensive  # 1e999999999, 10^10^10
    return int(exponent)


def as_float(value: Fraction) -> float | None:
    """The nearest float; None for a number too large for one."""
    try:
        return float(value)
    except OverflowError:
        return None


def power(base: Fraction, exponent: str) -> Fraction:
    """An integer power of a number that is not 0. Raises TooExpensive if it would have too many digits."""
    size = bounded(exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(size) > MAX_EXPONENT * 4:
        raise TooExpensive
    return Fraction(base**size)
