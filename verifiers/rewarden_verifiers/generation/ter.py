"""Translation edit rate (Snover 2006): the number of word edits, including shifts of blocks, found by a greedy search.

The search is Tercom's as implemented by sacrebleu, with the same limits, so that both count the same edits; here all
shifts of a round are measured in one pass over arrays, which makes texts of hundreds of words affordable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

_LONGEST_BLOCK = 10
"""Maximum number of words of a shifted block."""
_FARTHEST = 50
"""Maximum distance in words between a block and its counterpart in the reference."""
_BEAM = 25
"""Number of cells on either side of the table's diagonal in which the edit distance is computed."""
_MOST_CANDIDATES = 1000
"""Maximum number of shifts to try. The round that reaches it shifts nothing, which also bounds the work."""
_FAR = 1 << 28
"""The distance of a cell outside the beam."""

Ids = np.ndarray[Any, np.dtype[np.int32]]
Bounds = Sequence[tuple[int, int]]


class _Shift(NamedTuple):
    """A block of the hypothesis, and the index before which it is inserted."""

    start: int
    length: int
    target: int


class _Alignment(NamedTuple):
    """A cheapest alignment: for each word of the reference, the last word of ours aligned with it, and which words are
    errors.
    """

    at: Ids
    ours_wrong: Ids
    theirs_wrong: Ids


def edits(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """The number of edits that turn a text into the reference: words inserted, deleted or replaced, and blocks
    shifted.
    """
    if not hypothesis or not reference:
        return max(len(hypothesis), len(reference))
    known: dict[str, int] = {}
    ours, theirs = (
        np.array([known.setdefault(word, len(known)) for word in words], np.int32) for words in (hypothesis, reference)
    )
    bounds = _bounds(len(ours), len(theirs))
    shifts = tried = 0
    while True:
        table = _table(ours, theirs, bounds)
        distance = int(table[-1, -1])
        found = _shifts(ours, theirs, _aligned(table, ours, theirs), _MOST_CANDIDATES - tried)
        tried += len(found)
        if not found or tried >= _MOST_CANDIDATES:
            return shifts + distance
        moved = np.stack([_shifted(ours, shift) for shift in found])
        gains = distance - _distances(moved, theirs, bounds)
        best = max(
            range(len(found)),
            key=lambda place: (gains[place], found[place].length, -found[place].start, -found[place].target),
        )
        if gains[best] <= 0:
            return shifts + distance
        shifts += 1
        ours = moved[best]


def _bounds(ours: int, theirs: int) -> Bounds:
    """The columns of each row within the beam, which follows the diagonal; the last row includes the end."""
    slope = theirs / ours
    beam = math.ceil(slope / 2 + _BEAM) if slope / 2 > _BEAM else _BEAM
    found = [(0, theirs + 1)]
    for row in range(1, ours + 1):
        middle = math.floor(row * slope)
        found.append((max(0, middle - beam), min(theirs + 1, middle + beam) if row < ours else theirs + 1))
    return found


def _rows(texts: Ids, reference: Ids, bounds: Bounds) -> Iterator[Ids]:
    """The rows of the edit distance table within the bounds, each for all texts (of equal length) at once."""
    (before, until), *others = bounds
    row: Ids = np.tile(np.arange(before, until, dtype=np.int32), (len(texts), 1))
    yield row
    for place, (low, high) in enumerate(others):
        above = np.full((len(texts), 1 + high - low), _FAR, np.int32)  # one column more on the left
        left, right = max(before, low - 1), min(until, high)
        above[:, left - low + 1 : right - low + 1] = row[:, left - before : right - before]
        first = max(low, 1)
        differs = texts[:, place, None] != reference[first - 1 : high - 1]
        cells = above[:, 1:] + 1  # deletion
        np.minimum(cells[:, first - low :], above[:, first - low : -1] + differs, out=cells[:, first - low :])
        steps = np.arange(high - low, dtype=np.int32)
        row = np.minimum(np.minimum.accumulate(cells - steps, axis=1) + steps, _FAR)  # insertions
        before, until = low, high
        yield row


def _table(text: Ids, reference: Ids, bounds: Bounds) -> Ids:
    """The complete table of one text."""
    table: Ids = np.full((len(bounds), len(reference) + 1), _FAR, np.int32)
    for place, (row, (low, high)) in enumerate(zip(_rows(text[None], reference, bounds), bounds, strict=True)):
        table[place, low:high] = row[0]
    return table


def _distances(texts: Ids, reference: Ids, bounds: Bounds) -> Ids:
    """The edit distance of each text."""
    for row in _rows(texts, reference, bounds):
        last = row[:, -1]
    return last


def _aligned(table: Ids, ours: Ids, theirs: Ids) -> _Alignment:
    """The alignment along a cheapest path; ties prefer a match or replacement, then a deletion."""
    row, column = len(ours), len(theirs)
    at, ours_wrong, theirs_wrong = np.zeros(column, np.int32), np.ones(row, np.int32), np.ones(column, np.int32)
    while row or column:
        cost = table[row, column]
        if row and column:
            differs = int(ours[row - 1] != theirs[column - 1])
            if table[row - 1, column - 1] + differs == cost:
                row, column = row - 1, column - 1
                at[column], ours_wrong[row], theirs_wrong[column] = row, differs, differs
                continue
        if row and (not column or table[row - 1, column] + 1 == cost):
            row -= 1
        else:
            column -= 1
            at[column] = row - 1
    return _Alignment(at, ours_wrong, theirs_wrong)


def _shifts(ours: Ids, theirs: Ids, alignment: _Alignment, most: int) -> list[_Shift]:
    """The shifts to try: blocks that occur elsewhere in the reference, are wrong here and missing there. Stops once
    there are at least `most`.
    """
    start = np.arange(len(ours))[:, None]
    goal = start + np.arange(-_FARTHEST, _FARTHEST + 1)
    # Limits of a block's length: it extends as long as the words agree, must contain an error on both sides, and must
    # not reach beyond the word that its goal is aligned with.
    run = np.zeros(goal.shape, np.int64)
    same = np.ones(goal.shape, bool)
    for length in range(_LONGEST_BLOCK):
        inside = (goal >= 0) & (goal + length < len(theirs)) & (start + length < len(ours))
        words = ours[np.minimum(start + length, len(ours) - 1)]
        same &= inside & (words == theirs[np.clip(goal + length, 0, len(theirs) - 1)])
        run += same
    reach = np.clip(goal, 0, len(theirs) - 1)
    least = 1 + np.maximum(_to_next(alignment.ours_wrong)[start], _to_next(alignment.theirs_wrong)[reach])
    aligned = alignment.at[reach]
    run = np.where(aligned >= start, np.minimum(run, aligned - start), run)
    found: list[_Shift] = []
    for place, offset in np.argwhere(run >= least).tolist():
        to = place + offset - _FARTHEST
        for length in range(int(least[place, offset]), int(run[place, offset]) + 1):
            before = 0 if to == 0 else int(alignment.at[to - 1]) + 1
            targets = dict.fromkeys((before, *(alignment.at[to : to + length] + 1).tolist()))
            found += [_Shift(place, length, target) for target in targets]
            if len(found) >= most:
                return found
    return found


def _to_next(wrong: Ids) -> Any:
    """The number of words from each one to the next error; more than a block has if no error follows."""
    places = np.where(wrong > 0, np.arange(len(wrong)), len(wrong) + _LONGEST_BLOCK)
    return np.minimum.accumulate(places[::-1])[::-1] - np.arange(len(wrong))


def _shifted(words: Ids, shift: _Shift) -> Ids:
    """The words after shifting a block. A target within the block moves it to the right by as many words."""
    start, length, target = shift
    end = start + length
    if target < start:
        parts = (words[:target], words[start:end], words[target:start], words[end:])
    else:
        behind = target if target > end else length + target
        parts = (words[:start], words[end:behind], words[start:end], words[behind:])
    return np.concatenate(parts)
