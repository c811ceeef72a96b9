"""Parses the number in an answer, and compares it with a value in a diagram."""

from __future__ import annotations

import math
import re

from rewarden_verifiers.answer.math.limits import Budget, Unreadable
from rewarden_verifiers.answer.math.numeric import Evaluator, Undefined
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import Braces, Listing
from rewarden_verifiers.geometry.plane import CONTEXT, Real
from rewarden_verifiers.science.expressions import NoExpression, expression

_DEGREES = re.compile(r"\s*(?:\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree|°|\\?deg(?:rees?)?)\s*$")
_UNIT = re.compile(
    r"\s*(?:\\[,;: ]\s*)?(?:\\(?:text|mathrm)\{\s*)?(?:(?:square|sq\.?)\s)?\s*(?:units?|[cdkm]?m)"
    r"(?:(?:\^\{?2\}?|²)?\s*\}?|\}\s*(?:\^\{?2\}?|²))\s*$"
)
_EQUALS = re.compile(r"=|≈|\\approx(?![A-Za-z])")
_LABEL = re.compile(r"(?:\\(?:angle|overline|triangle|text|mathrm)|[A-Za-z'{}()\[\]\s∠△])+")
_DECIMAL = re.compile(r"-?[0-9]{0,40}\.[0-9]{1,40}")
_SEVERAL = (Braces, Listing)
_MOST_NUMBERS = 6
_ALL = math.inf
_EXACT = CONTEXT.mpf(10) ** -30


class NoNumber(Exception):
    """The text is not a single real number; the message says why."""


class Several(Exception):
    """The text offers several numbers."""


def same(text: str, wanted: Real, significant_digits: int) -> bool:
    """Returns whether a text states the value: as an exact expression, or as a decimal number rounded to its digits.

    A decimal number needs this many significant digits; 0 requires an exact value. In `x = 3/2 = 1.5` and `√2 ≈ 1.4`,
    each number must equal the value, and one of them must have enough digits. Raises NoNumber, Several, TooExpensive.
    """
    label, *numbers = _EQUALS.split(text)
    if not numbers or not (label.strip(" $") == "" or _LABEL.fullmatch(label)):
        numbers.insert(0, label)
    if len(numbers) > _MOST_NUMBERS:
        raise NoNumber("it has too many numbers")
    right = [_digits(number, wanted) for number in numbers]
    if significant_digits == 0:
        return all(digits == _ALL for digits in right)
    return min(right) > 0 and max(right) >= significant_digits


def _digits(text: str, wanted: Real) -> float:
    """The number of significant digits to which a number equals the value: infinite if it is exact, 0 if it differs."""
    text = _UNIT.sub("", _DEGREES.sub("", text.strip().strip("$").rstrip(". ")))
    evaluator = Evaluator(CONTEXT.dps)
    try:
        if isinstance(read(text).node, _SEVERAL):
            raise Several("it offers several numbers")
        found = evaluator.value(expression(text, ()), {}, Budget())
    except (NoExpression, Unreadable) as error:
        raise NoNumber(str(error)) from None
    except Undefined:
        raise NoNumber("it is not a finite real number") from None
    if isinstance(found, evaluator.context.mpc):
        if found.imag:
            raise NoNumber("it is not a finite real number")
        found = found.real
    away = abs(CONTEXT.mpf(found) - wanted)
    if away <= _EXACT * (1 + abs(wanted)):
        return _ALL
    decimal = text.strip().replace("{,}", "").replace(",", "")
    if _DECIMAL.fullmatch(decimal) is None or away > CONTEXT.mpf("0.5001") * CONTEXT.mpf(10) ** -_places(decimal):
        return 0
    return len(decimal.lstrip("-").replace(".", "").lstrip("0"))


def _places(decimal: str) -> int:
    return len(decimal.partition(".")[2])
