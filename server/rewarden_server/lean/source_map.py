"""A text as it is sent to a process, and the mapping from places in it back to places in the original text.

A process must always see the same header (it exits at another one), so a text is sent as the canonical header, one line
of ours, and the body. The process counts UTF-16 code units; callers count characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from rewarden_verifiers.lean.source import Header
from rewarden_verifiers.provers import Position

INFOTREE = "set_option trace.Elab.info true"
"""On our line: makes the process report what it knows of each term and tactic."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_PLACE = re.compile(r"⟨(\d+), (\d+)⟩")


class SourceMap:
    """A text, split by its header. `sent`: the text for the process, with `ours` on the line between header and
    body."""

    __slots__ = ("_body_line", "_column", "_line", "_lines", "_starts", "sent", "text")

    def __init__(self, text: str, header: Header, ours: str = "") -> None:
        self.text = text
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._line, self._column = self._locate(header.body)
        self._body_line = len(header.imports) + 1
        # Half a surrogate pair is not a character in JSON. Its substitute has the same width, so that places stay the
        # same.
        self.sent = f"{header.text}{ours}\n" + _SURROGATE.sub("\ufffd", text[header.body :])

    def place(self, line: int, units: int) -> Position:
        """Returns the place in the text for a place in the sent text (line from 0, UTF-16 units); for the header and
        our line: the beginning of the text."""
        if line < self._body_line:
            return Position(line=1, column=0)
        at = min(line - self._body_line + self._line, len(self._lines) - 1)
        begin = self._column if at == self._line else 0
        return Position(line=at + 1, column=begin + _characters(self._lines[at][begin:], units))

    def point(self, offset: int) -> tuple[int, int]:
        """Returns the place in the sent text (line from 0, UTF-16 units) of an offset in the body."""
        line, column = self._locate(offset)
        begin = self._column if line == self._line else 0
        return line - self._line + self._body_line, _units(self._lines[line][begin:column])

    def position(self, offset: int) -> Position:
        """Returns the place of an offset."""
        line, column = self._locate(offset)
        return Position(line=line + 1, column=column)

    def known(self, words: str) -> tuple[tuple[int, int], str]:
        """Returns the first place that a trace of a command names, and the trace with all its places (⟨line, column⟩)
        translated to the text.

        Raises ValueError for a command of ours.
        """
        first = _PLACE.search(words)
        if first is None or int(first[1]) <= self._body_line:
            raise ValueError("this belongs to no command of the text")
        return self._given(first), _PLACE.sub(lambda found: "⟨{}, {}⟩".format(*self._given(found)), words)

    def _given(self, place: re.Match[str]) -> tuple[int, int]:
        line, column = int(place[1]) - self._body_line + self._line, int(place[2])
        return line, column + (self._column if line == self._line + 1 else 0)

    def _locate(self, offset: int) -> tuple[int, int]:
        line = min(bisect_right(self._starts, offset), len(self._lines)) - 1
        return line, offset - self._starts[line]


def _characters(line: str, units: int) -> int:
    """Returns the number of characters in the first UTF-16 units of a line, at most the length of the line."""
    if line.isascii():
        return min(units, len(line))
    count = 0
    for character in line:
        units -= 2 if character > "\uffff" else 1
        if units < 0:
            break
        count += 1
    return count


def _units(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if character > "\uffff" else 1 for character in text)
