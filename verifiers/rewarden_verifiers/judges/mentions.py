"""Occurrence of one text's words in another: the form of consistency that needs no judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rewarden_verifiers.judges.unified import unified
from rewarden_verifiers.words import visible, words

Of = Literal["answer", "reasoning", "both"]


def mentioned(names: Sequence[str], text: str) -> list[str]:
    """Returns which of the names occur in the text as wholes: without regard to case, white space and invisible
    characters, and neither within a word nor within a number ("1.5" does not hold "5", "h10" not "h1").
    """
    there = _plain(text)
    return [name for name in names if (wanted := _plain(name)) and _occurs(wanted, there)]


def overlap(answer: str, reasoning: str, of: Of) -> float | None:
    """The share of the different words of one text that occur in the other; None if that text has no words.

    of: `answer`: of the answer's words; `reasoning`: of the reasoning's; `both`: the harmonic mean of the two (F1).
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
    # Of a long text that repeats itself not every place is looked at.
    for _ in range(_READ // len(wanted) + 1):
        if place < 0:
            return False
        end = place + len(wanted)
        before, after = there[max(place - 2, 0) : place], there[end : end + 2]
        in_quotes = before.endswith("'") and after.startswith("'")
        if in_quotes or not (_begun(before, wanted[0]) or _goes_on(wanted[-1], after)):
            return True
        # Within a run of letters no other word begins; stepping through a long one would take its square.
        skipped = _RUN.match(there, place) if _INSIDE.match(wanted[0]) else None
        place = there.find(wanted, max(place + 1, skipped.end() if skipped else 0))
    return False


_INSIDE = re.compile(r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_READ = 2_000_000
"""Characters that are compared at most."""
_RUN = re.compile(rf"(?:{_INSIDE.pattern})+")
"""Of what a word or name consists; scripts without spaces are left out, since no word ends in them."""


def _begun(before: str, first: str) -> bool:
    """Returns whether a word or number has begun in the two characters before."""
    if not before:
        return False
    if _INSIDE.match(first) and _INSIDE.match(before[-1]):
        return True
    if not first.isdigit():
        return False
    if before[-1] in ".,":
        return before[:-1].isdigit()
    # A sign, unless something comes before it from which the number is taken.
    return before[-1] in "-\u2212" and not (before[:-1].isalnum() or before[:-1] == ")")


def _goes_on(last: str, after: str) -> bool:
    """Returns whether a word or number goes on in the two characters behind: "h1'" is another name than "h1"."""
    if not after or not _INSIDE.match(last):
        return False
    if _INSIDE.match(after[0]):
        return True
    if after[0] in ".,":
        return last.isdigit() and after[1:].isdigit()
    return after[0] == "'" and last.isdigit() and not after[1:].isalpha()
