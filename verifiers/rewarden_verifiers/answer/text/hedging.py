"""Answers that offer several candidates although one is expected, and mentions that are negated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_OR = re.compile(r"\b[oO][rR]\b|[|\u6216]")
_OFFERING = re.compile(r"[,;|/\n\u3001\uff0c\uff1b\u6216]|\b[oO][rR]\b")
_COMMA = re.compile(r",(?![0-9])|[\n\u3001\uff0c]")
_FEW = 3
"""This many commas more than in any reference make a list of candidates."""
_WORD = 3
"""Number of letters on both sides of a slash that make them words: "Paris/London", but not "km/h"."""
_NEGATIONS = frozenset((
    "not", "never", "no", "neither", "nor", "isnt", "wasnt", "arent", "werent", "doesnt", "didnt", "dont", "cannot",
    "cant", "wont", "without", "except", "excluding", "unlike",
))  # fmt: skip
_TURNS = frozenset(("but", "rather", "instead", "however"))
# "none other than Paris" is Paris.
_EXCEPTIONS = re.compile(
    r"(?:(?:any|every)(?:thing|where|one|body) but|\ball but|(?<!none )\bother than|\bfar from|\brather than|"
    r"\binstead of)(?: (?:in|at|being|from))?$"
)
_DENIALS = re.compile(
    r"(?:is|was|are|were|would be|seems) (?:not|wrong|incorrect|false|never)\b|(?:isnt|wasnt|arent|werent)\b"
)
_BEFORE, _AFTER = 40, 20
# The scope of a negation ends with its sentence ("Not London. Paris"), but not at an abbreviation or an ellipsis. It
# ends at a comma only if the answer follows: "not, in fact, Paris" denies Paris.
_SENTENCE = re.compile(r"(?<=[^\W\d_]{4})(?<!prof)(?<!capt)(?<!dept)(?<!univ)(?:\.(?=\s)|[;!?])\s+", re.IGNORECASE)
_COMMA_TURN = re.compile(
    r"(?:(?P<no>^\s*no)|\b(?:(?:it|this|that) (?:is|was) not|(?:it|this|that) (?:is|was)n['\u2019]t|^\s*not)"
    r"(?: [^\s,]{1,40}){1,4}),\s+(?=(?:it|this) (?:is|was)\b|it['\u2019]s\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Offers:
    """The ways in which a text offers alternatives: a way that a reference uses too is not a hedge in an answer."""

    alternatives: bool
    semicolons: int
    slashes: bool
    commas: int

    def beyond(self, others: Sequence[Offers]) -> bool:
        """Returns whether it offers more alternatives than any of the others."""
        return (
            (self.alternatives and not any(other.alternatives for other in others))
            or (self.slashes and not any(other.slashes for other in others))
            or self.semicolons > max(other.semicolons for other in others)
            or self.commas >= max(other.commas for other in others) + _FEW
        )


def offering(text: str) -> bool:
    """Returns whether a text can offer alternatives at all: a quick test that spares most texts a thorough one."""
    return _OFFERING.search(text) is not None


def offers(text: str) -> Offers:
    """The alternatives that a text offers by "or", slashes, semicolons and lists."""
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


def sentences(text: str) -> list[str]:
    """The parts of a text that limit the scope of a negation."""
    text = _COMMA_TURN.sub(lambda match: f"{match.group().rstrip()[:-1]}\n", text)
    return [part for line in text.split("\n") for part in _SENTENCE.split(line) if part.strip()]


def negations(parts: Sequence[str]) -> int:
    """The number of negations among tokens."""
    return sum(part.lower().replace("'", "") in _NEGATIONS for part in parts)


def affirmed(wanted: str, text: str, after: str = "") -> bool:
    """Returns whether the wanted tokens occur in the text, at least once without being denied. after: the text that
    follows.

    "not Paris" and "Paris is wrong" mention Paris and deny it; "not London but Paris" does not.
    """
    inner, outer = f" {wanted} ", f" {text} "
    at = outer.find(inner)
    while at >= 0:
        end = at + len(inner) - 1
        if not _denied(outer[max(0, at - _BEFORE) : at], f"{outer[end : end + _AFTER]}{after[:_AFTER]}".lstrip()):
            return True
        at = outer.find(inner, end)
    return False


def _denied(before: str, after: str) -> bool:
    if _EXCEPTIONS.search(before) is not None:
        return True
    for word in reversed(before.split()[-4:]):
        if word in _TURNS:
            break
        if word in _NEGATIONS:
            return True
    return _DENIALS.match(after) is not None
