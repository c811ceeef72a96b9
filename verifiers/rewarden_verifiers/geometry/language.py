"""Parses constructions and claims: words, points and numbers, with limits on their number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MOST_TEXT = 4_000
"""The maximum length of constructions or claims."""
MOST_CONSTRUCTIONS = 40
MOST_POINTS = 60
MOST_CLAIMS = 100

_NAME = re.compile(r"[a-z][a-z0-9_']{0,7}")
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?(?:/[0-9]{1,12})?")
_CALL = re.compile(r"([A-Za-z_0-9]{1,30})[ ]?\(([^()\n;]*)\)")
_BULLET = re.compile(r"^(?:[-*•]\s+|[0-9]{1,3}[.)]\s+)")
_LATEX = re.compile(r"\\(?:text|texttt|mathrm)\{([^{}]*)\}|\\([_{}])|\\\\|\\[,;: ]")
_FILLING = frozenset(("of", "the", "and", "line", "lines", "from", "to"))
_AROUND = " \t\r`\"'*$."
_LARGEST = 10**6


class Unread(Exception):
    """The text is neither a construction nor a claim; the message says why."""


class TooMuch(Exception):
    """The text exceeds a limit on characters, constructions, points or claims."""


@dataclass(frozen=True, slots=True)
class Part:
    """A word with its points and numbers."""

    word: str
    arguments: tuple[str | Fraction, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """New points, and the construction that defines them, or the loci that contain one point."""

    names: tuple[str, ...]
    parts: tuple[Part, ...]


def clauses(text: str) -> list[Clause]:
    """Parses constructions, one per line or separated by semicolons. Raises Unread, TooMuch."""
    found = [clause(line) for line in _lines(text)]
    if len(found) > MOST_CONSTRUCTIONS or sum(len(one.names) for one in found) > MOST_POINTS:
        raise TooMuch("there are too many constructions")
    return found


def clause(text: str) -> Clause:
    """Parses one construction, such as `d = midpoint a b`. Raises Unread."""
    left, equals, right = _called(text).replace(":=", "=").partition("=")
    names = left.replace(",", " ").split()
    if not equals or not names or "=" in right:
        raise Unread(f"{text[:80]!r} is not of the form `points = construction`")
    for name in names:
        if _NAME.fullmatch(name) is None:
            raise Unread(f"{name[:40]!r} is not the name of a point")
    if len(set(names)) < len(names):
        raise Unread("a point is named twice")
    return Clause(tuple(names), tuple(_part(part) for part in right.split(",")))


def claims(text: str) -> list[Part]:
    """Parses claims, one per line or separated by commas or semicolons. Raises Unread, TooMuch."""
    found = [_part(piece) for line in _lines(text) for piece in _called(line).split(",") if piece.strip(_AROUND)]
    if len(found) > MOST_CLAIMS:
        raise TooMuch("there are too many claims")
    return found


def joined(texts: Sequence[str]) -> str:
    """Joins texts as lines."""
    return "\n".join(texts)


def _lines(text: str) -> list[str]:
    if len(text) > MOST_TEXT:
        raise TooMuch("the text is too long")
    text = _LATEX.sub(lambda found: found[1] or found[2] or "\n" * (found[0] == "\\\\"), text).lower()
    text = text.replace("’", "'").replace("′", "'").strip(_AROUND + "\n")
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].replace('",', '"\n').replace("',", "'\n")
    pieces = [_BULLET.sub("", piece.strip(_AROUND)).strip(_AROUND) for piece in re.split(r"[\n;]", text)]
    return [piece for piece in pieces if piece]


def _called(text: str) -> str:
    """Rewrites `midpoint(a, b)` as `midpoint a b`."""
    return _CALL.sub(lambda found: f"{found[1]} {found[2].replace(',', ' ')}", text.lower())


def _part(text: str) -> Part:
    words = [word for word in text.strip(_AROUND).split() if word not in _FILLING]
    if len(words) < 1 or len(words) > 12 or not re.fullmatch(r"[a-z_]{2,30}", words[0]):
        raise Unread(f"{text.strip()[:80]!r} is not a word with points")
    return Part(words[0], tuple(map(_argument, words[1:])))


def _argument(word: str) -> str | Fraction:
    if _NAME.fullmatch(word) is not None:
        return word
    if _NUMBER.fullmatch(word) is None:
        raise Unread(f"{word[:40]!r} is neither a point nor a number")
    top, _, bottom = word.partition("/")
    if bottom and not int(bottom):
        raise Unread("a number is divided by zero")
    number = Fraction(top) / int(bottom or 1)
    if abs(number) > _LARGEST:
        raise Unread(f"the number {word} is too large")
    return number
