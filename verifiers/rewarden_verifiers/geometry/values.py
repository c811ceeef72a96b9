"""Reads the number of an answer, and compares it with the value of a diagram."""

from __future__ import annotations

import re

from rewarden_verifiers.answer.math.limits import Budget, Unreadable
from rewarden_verifiers.answer.math.numeric import Evaluator, Undefined
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import Braces, Listing
from rewarden_verifiers.geometry.plane import CONTEXT, Real
from rewarden_verifiers.science.expressions import NoExpression, expression

_DEGREES = re.compile(r"\s*(?:\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree|°|\\?deg(?:rees?)?)\s*$")
_UNIT = re.compile(r"\s*(?:\\(?:text|mathrm)\{\s*)?(?:square )?(?:units?|[cdkm]?m)(?:\^\{?2\}?|²)?\}?\s*$")
_LABEL = re.compile(r"(?:\\(?:angle|overline|triangle|text|mathrm)|[A-Za-z'{}()\[\]\s∠△])+")
_DECIMAL = re.compile(r"-?[0-9]{0,40}\.[0-9]{1,40}")
_SEVERAL = (Braces, Listing)
_EXACT = CONTEXT.mpf(10) ** -30


class NoNumber(Exception):
    """The text is not one real number; says why."""


class Several(Exception):
    """The text offers several numbers."""


def same(text: str, wanted: Real, significant_digits: int) -> bool:
    """Returns whether a text is a value: an exact expression, or a decimal number that is rounded as it says.

    A decimal number needs so many significant digits; 0: it must be exact. Raises NoNumber, Several, TooExpensive.
    """
    left, equals, right = text.partition("=")
    if equals:
        if _LABEL.fullmatch(left) is None:
            raise NoNumber("the equation does not give one value")
        text = right
    text = _UNIT.sub("", _DEGREES.sub("", text.strip().strip("$")))
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
        return True
    decimal = text.strip().replace("{,}", "").replace(",", "")
    if not significant_digits or _DECIMAL.fullmatch(decimal) is None:
        return False
    whole, _, places = decimal.lstrip("-").partition(".")
    given = len((whole + places).lstrip("0"))
    return given >= significant_digits and bool(away <= CONTEXT.mpf("0.5001") * CONTEXT.mpf(10) ** -len(places))
