"""Answers that offer several candidates where one is asked, and mentions that deny what they mention."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_OR = re.compile(r"\b[oO][rR]\b|[|\u6216]")
_OFFERING = re.compile(r"[,;|/\n\u3001\uff0c\uff1b\u6216]|\b[oO][rR]\b")
_COMMA = re.compile(r",(?![0-9])|[\n\u3001\uff0c]")
_FEW = 3
"""More commas than a reference has make a list of candidates."""
_WORD = 3
"""Letters on both sides of a slash that make words of it: "Paris/London", but not "km/h"."""
_NEGATIONS = frozenset((
    "not", "never", "no", "neither", "nor", "isnt", "wasnt", "arent", "werent", "doesnt", "didnt", "dont", "cannot",
    "cant", "wont", "without", "except", "excluding", "unlike",
))  # fmt: skip
_TURNS = frozenset(("but", "rather", "instead", "however"))
_DENIALS = re.compile(r"(?:is|was|are|were) (?:not|wrong|incorrect|false|never)\b|(?:isnt|wasnt|arent|werent)\b")
_BEFORE, _AFTER = 40, 20


@dataclass(frozen=True, slots=True)
class Offers:
    """How a text puts alternatives: what a reference does itself is no hedge in an answer."""

    alternatives: bool
    semicolons: int
    slashes: bool
    commas: int

    def beyond(self, others: Sequence[Offers]) -> bool:
        """Whether it offers more than any of the others."""
        return (
            (self.alternatives and not any(other.alternatives for other in others))
            or (self.slashes and not any(other.slashes for other in others))
            or self.semicolons > max(other.semicolons for other in others)
            or self.commas >= max(other.commas for other in others) + _FEW
        )


def offering(text: str) -> bool:
    """Whether a text can put alternatives at all: a quick look that spares most texts a thorough one."""
    return _OFFERING.search(text) is not None


def offers(text: str) -> Offers:
    """The alternatives that a text puts by "or", strokes, semicolons and lists."""
    return Offers(
        _OR.search(text) is not None,
        text.count(";") + text.count("\uff1b"),
        "/" in text and _slashed(text),
        sum(1 for _ in _COMMA.finditer(text)),
    )


def _slashed(text: str) -> bool:
    at = text.find("/")
    while at >= 0:
        before, after = text[max(0, at - 8) : at].rstrip()[-_WORD:], text[at + 1 : at + 9].lstrip()[:_WORD]
        if len(before) == len(after) == _WORD and before.isalpha() and after.isalpha():
            return True
        at = text.find("/", at + 1)
    return False


def affirmed(wanted: str, text: str) -> bool:
    """Whether spaced tokens stand among other spaced tokens, at least once without being denied.

    "not Paris" and "Paris is wrong" mention Paris and deny it; "not London but Paris" does not.
    """
    inner, outer = f" {wanted} ", f" {text} "
    at = outer.find(inner)
    while at >= 0:
        end = at + len(inner) - 1
        if not _denied(outer[max(0, at - _BEFORE) : at], outer[end : end + _AFTER].lstrip()):
            return True
        at = outer.find(inner, end)
    return False


def _denied(before: str, after: str) -> bool:
    for word in reversed(before.split()[-4:]):
        if word in _TURNS:
            break
        if word in _NEGATIONS:
            return True
    return _DENIALS.match(after) is not None
