"""Checks that a quote is in the text that the judge quotes from."""

from __future__ import annotations

from rewarden_verifiers.judges.fencing import harmless

_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'"})


LONGEST = 4000
"""Characters of a quote; judges are asked for the shortest passage that decides."""


_READ = 2_000_000
"""Characters that are compared at most."""


def readable(text: str) -> str:
    """A text as `quoted` reads it: what judges are shown, on one line, with plain quotation marks."""
    return " ".join(harmless(text).text.translate(_MARKS).split())


def quoted(quote: str, there: str) -> bool:
    """Returns whether a text (made `readable`) holds the quote word for word.

    Only what a model changes without meaning to is overlooked: white space, the shape of quotation marks, and marks
    around the whole. The quote may leave nothing out, since what is left out may be "not". It must begin and end as
    words do, and hold a letter or a digit.
    """
    wanted = readable(quote) if len(quote) <= LONGEST else ""
    if len(wanted) > 1 and wanted[0] == wanted[-1] and wanted[0] in "\"'" and wanted not in there:
        wanted = wanted[1:-1].strip()
    if not any(character.isalnum() for character in wanted):
        return False
    place = there.find(wanted)
    # Of a long quote from a text that repeats itself not every place is looked at.
    for _ in range(_READ // len(wanted) + 1):
        if place < 0:
            return False
        before, after = there[place - 1 : place], there[place + len(wanted) : place + len(wanted) + 1]
        if not _within(before, wanted[0]) and not _within(wanted[-1], after):
            return True
        place = there.find(wanted, place + 1)
    return False


def _within(left: str, right: str) -> bool:
    """Returns whether a word goes on from one character to the next. Letters beyond the first blocks of Unicode are
    left out: scripts without spaces have no such ends.
    """
    digits = left.isdigit() == right.isdigit()  # 5 ends where km begins
    return digits and left.isalnum() and right.isalnum() and left < "\u0530" and right < "\u0530"
