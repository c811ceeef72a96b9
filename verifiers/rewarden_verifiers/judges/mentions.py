"""Searches one text for the words of another: the form of consistency that needs no judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rewarden_verifiers.judges.unified import unified
from rewarden_verifiers.words import visible, words

Of = Literal["answer", "reasoning", "both"]


def mentioned(names: Sequence[str], text: str) -> list[str]:
    """Returns the names that occur in the text as a whole. Case, white space and invisible characters are ignored. A
    match within a word or number does not count ("1.5" does not contain "5", nor "h10" "h1").
    """
    there = _plain(text)
    return [name for name in names if (wanted := _plain(name)) and _occurs(wanted, there)]


def overlap(answer: str, reasoning: str, of: Of) -> float | None:
    """The share of distinct words of one text that occur in the other; None if that text has no words.

    of: `answer`: the answer's words; `reasoning`: the reasoning's words; `both`: the harmonic mean of the two shares
    (F1).
    """
    left, right = ({word.casefold() for word in words(_plain(text))} for text in (answer, reasoning))
    if not left or (of != "answer" and not right):
        return None
    common = len(left & right)
    if of == "both":
        return 2 * common / (len(left) + len(right))
    return common / len(left if of == "answer" else right)


def _plain(text: str) -> str:
    return visible(unified(text)).casefold()


def _occurs(wanted: str, there: str) -> bool:
    place = there.find(wanted)
    # A long, repetitive text is not searched to the end.
    for _ in range(_READ // len(wanted) + 1):
        if place < 0:
            return False
        end = place + len(wanted)
        before, after = there[max(place - 2, 0) : place], there[end : end + 2]
        in_quotes = before.endswith("'") and after.startswith("'")
        if in_quotes or not (_begun(before, wanted[0]) or _goes_on(wanted[-1], after)):
            return True
        # No other word begins within a run of letters; checking every position of a long run would take quadratic time.
        skipped = _RUN.match(there, place) if _INSIDE.match(wanted[0]) else None
        place = there.find(wanted, max(place + 1, skipped.end() if skipped else 0))
    return False


_INSIDE = re.compile(r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_READ = 2_000_000
"""Maximum number of characters to compare."""
_RUN = re.compile(rf"(?:{_INSIDE.pattern})+")
"""The characters of words and names. Scripts without spaces are left out, since words have no visible end in them."""


def _begun(before: str, first: str) -> bool:
    """Returns whether the two preceding characters are the beginning of the same word or number."""
    if not before:
        return False
    if _INSIDE.match(first) and _INSIDE.match(before[-1]):
        return True
    if not first.isdigit():
        return False
    if before[-1] in ".,":
        return before[:-1].isdigit()
    # A sign, unless it is a minus between two operands.
    return before[-1] in "-\u2212" and not (before[:-1].isalnum() or before[:-1] == ")")


def _goes_on(last: str, after: str) -> bool:
    """Returns whether the two following characters continue the word or number: "h1'" is not "h1"."""
    if not after or not _INSIDE.match(last):
        return False
    if _INSIDE.match(after[0]):
        return True
    if after[0] in ".,":
        return last.isdigit() and after[1:].isdigit()
    return after[0] == "'" and last.isdigit() and not after[1:].isalpha()
