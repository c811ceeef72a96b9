"""Arithmetic on whole numbers, parsed by a grammar of `+ - * /` and brackets.

Nothing else is evaluated: names, calls, powers, factorials, decimals and joined digits are rejected. Values are exact
fractions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

MAX_TOKENS = 500
MAX_DEPTH = 60

_TOKEN = re.compile(
    r"\s*(?:(\d{1,15}(?![\d.,]*\d))|([-+*/()\[\]{}\u2212\u2013\u00d7\u00b7\u22c5\u2217\u2022\u00f7\u2215]"
    r"|\\(?:times|cdot|ast|div|left|right|[dt]?frac)(?![A-Za-z])))",
    re.ASCII,
)
_LAYOUT = re.compile(r"\\[,;:! ]|\\(?:q?quad|displaystyle|[bB]igg?[lr]?)(?![A-Za-z])")
"""Commands that only add space, or enlarge a bracket."""
_DIGITS = re.compile(r"(\\[dt]?frac)\s{0,4}(\d)\s{0,4}(\d)", re.ASCII)
_SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(("\u2212", "\u2013"), "-"),
    **dict.fromkeys(("\u00d7", "\u00b7", "\u22c5", "\u2217", "\u2022", "\\times", "\\cdot", "\\ast"), "*"),
    **dict.fromkeys(("\u00f7", "\u2215", "\\div"), "/"),
    **dict.fromkeys(("\\dfrac", "\\tfrac"), "\\frac"),
    "[": "(",
    "]": ")",
}


class Malformed(Exception):
    """The text is not such an expression; the message says why."""


class Undefined(Exception):
    """The expression divides by zero."""


@dataclass(slots=True)
class Expression:
    """A value, and the numbers in the expression, in order."""

    value: Fraction
    numbers: list[int] = field(default_factory=list)


def tokens(text: str) -> list[str]:
    """Numbers, signs and brackets, each in canonical form. Raises Malformed."""
    # White space of any script may separate tokens, and the pattern does not match all of it.
    text = " ".join(_DIGITS.sub(r"\1{\2}{\3}", _LAYOUT.sub(" ", text)).split())
    found: list[str] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Malformed(f"{text[at : at + 12].strip()!r} does not belong in an expression")
        at = match.end()
        token = match.group(1) or match.group(2)
        token = _SPELLINGS.get(token, token)
        if token not in ("\\left", "\\right"):
            found.append(token)
        if len(found) > MAX_TOKENS:
            raise Malformed("the expression is too long")
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._at = 0
        self._depth = 0
        self.numbers: list[int] = []

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise Malformed(f"{wanted!r} is missing")
        self._at += 1

    def whole(self) -> Fraction:
        value = self._sum()
        if self._at < len(self._tokens):
            raise Malformed(f"{self._peek()!r} is where an operator should be")
        return value

    def _sum(self) -> Fraction:
        value = self._product()
        while (sign := self._peek()) in ("+", "-") and sign:
            self._at += 1
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> Fraction:
        value = self._factor()
        while (sign := self._peek()) in ("*", "/") and sign:
            self._at += 1
            value = value * self._factor() if sign == "*" else _divided(value, self._factor())
        return value

    def _factor(self) -> Fraction:
        negative = False
        while (sign := self._peek()) in ("+", "-") and sign:
            self._at += 1
            negative ^= sign == "-"
        value = self._atom()
        return -value if negative else value

    def _atom(self) -> Fraction:
        token = self._peek()
        if token.isdigit():
            self._at += 1
            self.numbers.append(int(token))
            return Fraction(int(token))
        if token == "\\frac":
            self._at += 1
            top = self._within("{", "}")
            return _divided(top, self._within("{", "}"))
        if token in ("(", "{"):
            return self._within(token, ")" if token == "(" else "}")
        raise Malformed(f"{token!r} is where a number should be" if token else "it ends where a number should be")

    def _within(self, opening: str, closing: str) -> Fraction:
        self._take(opening)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Malformed("brackets are nested too deep")
        value = self._sum()
        self._take(closing)
        self._depth -= 1
        return value


def _divided(top: Fraction, bottom: Fraction) -> Fraction:
    if bottom == 0:
        raise Undefined
    return top / bottom


def evaluate(text: str) -> Expression:
    """The value of an expression, and its numbers. Raises Malformed, or Undefined for a division by zero."""
    parser = _Parser(text)
    return Expression(parser.whole(), parser.numbers)
