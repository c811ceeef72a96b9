"""Gestalt pattern matching (Ratcliff and Obershelp 1988), equal to `difflib.SequenceMatcher`, with bounded work.

`difflib` compares every pair of equal elements, again for each block that it finds: hostile texts of a few thousand
characters take it minutes. Here the longest common block of two texts is found in linear time, by the suffix automaton
of one of them (Blumer et al. 1985), and all work is counted. Ties are broken as in `difflib`: the block that begins
first in the first text, then first in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate


class TooMuchWork(Exception):
    """The comparison needs more steps than it may take."""


class Budget:
    """The steps that comparisons may still take together. A step is about 1 µs."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def take(self, steps: int) -> None:
        """Raises TooMuchWork if so many steps are no longer left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork


def ratio(a: str, b: str, budget: Budget) -> float:
    """Returns twice the matched characters as a share of all, as `SequenceMatcher(None, a, b, autojunk=False).ratio()`
    does: 1 for equal texts. Raises TooMuchWork.
    """
    if a == b:
        return 1.0
    return _Characters(a, b, budget).ratio()


def unified(old: str, new: str, context: int, budget: Budget) -> str:
    """Returns the hunks of a unified diff of two texts, as `difflib.unified_diff` makes them of their lines; "" if no
    line differs. Raises TooMuchWork.
    """
    a, b = old.splitlines(), new.splitlines()
    if a == b:
        return ""
    parts: list[str] = []
    for group in _Lines(a, b, budget).get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        parts.append(f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                parts += (" " + line for line in a[i1:i2])
            else:
                parts += ("-" + line for line in a[i1:i2])
                parts += ("+" + line for line in b[j1:j2])
    return "\n".join(parts)


def _range(start: int, stop: int) -> str:
    """Returns a range of lines in the notation of unified diffs."""
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


class _Lines(SequenceMatcher[str]):
    """`difflib`'s own matcher, as `unified_diff` uses it, with counted work."""

    def __init__(self, a: Sequence[str], b: Sequence[str], budget: Budget) -> None:
        super().__init__(None, a, b)
        self._budget = budget
        budget.take((len(a) + len(b)) // 4)
        # Each line of `a` is compared with all equal lines of `b`. The base class has an index of them, but is typed
        # without it.
        places: dict[str, list[int]] = vars(self)["b2j"]
        self._end = len(a)
        self._work = list(accumulate((len(places.get(line, ())) + 2 for line in a), initial=0))

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """See the base class; it passes every pair of equal lines."""
        ahi = self._end if ahi is None else ahi
        self._budget.take((self._work[ahi] - self._work[alo]) // 8 + 1)
        return super().find_longest_match(alo, ahi, blo, bhi)


class _Characters(SequenceMatcher[str]):
    """Matches characters, the longest common block first, in linear time for each block."""

    def __init__(self, a: str, b: str, budget: Budget) -> None:
        super().__init__(None, "", "", autojunk=False)  # its index of the characters' places is not needed
        self._budget = budget
        self.a: str = a
        self.b: str = b

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """See the base class."""
        a = self.a[alo : len(self.a) if ahi is None else ahi]
        b = self.b[blo : len(self.b) if bhi is None else bhi]
        self._budget.take(2 + len(a) // 4 + 2 * len(b))
        begin_a, begin_b, size = _longest(a, b)
        return Match(alo + begin_a, blo + begin_b, size)


def _longest(a: str, b: str) -> tuple[int, int, int]:
    """Returns where the longest common block begins in both texts, and its length."""
    following, link, length, first = _automaton(b)
    best, end_a, end_b = 0, 0, 0
    state = matched = 0
    for place, one in enumerate(a, 1):
        while state and one not in following[state]:
            state = link[state]
            matched = length[state]
        if one in following[state]:
            state = following[state][one]
            matched += 1
            if matched > best:
                best, end_a, end_b = matched, place, first[state]
    return end_a - best, end_b - best, best


def _automaton(text: str) -> tuple[list[dict[str, int]], list[int], list[int], list[int]]:
    """Returns the suffix automaton of a text, by states: transitions, suffix link, longest length, first end."""
    following: list[dict[str, int]] = [{}]
    link, length, first = [-1], [0], [0]
    last = 0
    for place, one in enumerate(text, 1):
        current = len(following)
        following.append({})
        link.append(0)
        length.append(place)
        first.append(place)
        state = last
        while state >= 0 and one not in following[state]:
            following[state][one] = current
            state = link[state]
        if state >= 0:
            target = following[state][one]
            if length[target] == length[state] + 1:
                link[current] = target
            else:
                clone = len(following)
                following.append(dict(following[target]))
                link.append(link[target])
                length.append(length[state] + 1)
                first.append(first[target])
                while state >= 0 and following[state].get(one) == target:
                    following[state][one] = clone
                    state = link[state]
                link[target] = link[current] = clone
        last = current
    return following, link, length, first
