"""Checks that a quote occurs in the text that the judge quotes from."""

from __future__ import annotations

from rewarden_verifiers.judges.fencing import harmless

_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'"})


LONGEST = 4000
"""Maximum number of characters of a quote; judges are told to quote the shortest passage that decides."""


_READ = 2_000_000
"""Maximum number of characters to compare."""


def readable(text: str) -> str:
    """Prepares a text for `quoted`: neutralised as for a judge, on one line, with plain quotation marks."""
    return " ".join(harmless(text).text.translate(_MARKS).split())


def quoted(quote: str, there: str) -> bool:
    """Returns whether a text (made `readable`) contains the quote word for word.

    Only differences that a model makes unintentionally are ignored: white space, the shape of quotation marks, and
    marks around the whole quote. Nothing can be left out of the quote, since that could be a "not". The quote must
    begin and end at word boundaries, and contain a letter or a digit.
    """
    wanted = readable(quote) if len(quote) <= LONGEST else ""
    if len(wanted) > 1 and wanted[0] == wanted[-1] and wanted[0] in "\"'" and wanted not in there:
        wanted = wanted[1:-1].strip()
    if not any(character.isalnum() for character in wanted):
        return False
    place = there.find(wanted)
    # A long, repetitive text is not searched to the end.
    for _ in range(_READ // len(wanted) + 1):
        if place < 0:
            return False
        before, after = there[place - 1 : place], there[place + len(wanted) : place + len(wanted) + 1]
        if not _within(before, wanted[0]) and not _within(wanted[-1], after):
            return True
        place = there.find(wanted, place + 1)
    return False


def _within(left: str, right: str) -> bool:
    """Returns whether two adjacent characters belong to the same word. Letters beyond the first Unicode blocks are left
    out: scripts without spaces have no such boundaries.
    """
    digits = left.isdigit() == right.isdigit()  # a number ends where its unit begins: 5km
    return digits and left.isalnum() and right.isalnum() and left < "\u0530" and right < "\u0530"
