"""Matches rows one to one if their numbers may differ within a tolerance.

Closeness is not transitive, so rows cannot be rounded and counted: 0.49 and 0.51 can agree but round differently. The
numbers close to a number form an interval whose ends grow with it, so in one dimension the sorted lists agree item by
item if they agree at all. In several dimensions, rows are split into independent clusters, and each is a bipartite
matching with bounded work.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence

from rewarden_verifiers.sql.comparison.values import Key, Number, Tolerance

Numbers = tuple[Number, ...]
Row = tuple[Key, Numbers]
"""A row without its numbers, and the numbers."""


class Exhausted(Exception):
    """The work budget is spent: the results are too similar to decide in time whether they agree."""


class Work:
    """The remaining work budget. One step costs about as much as one cell."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Raises Exhausted."""
        self._left -= steps
        if self._left < 0:
            raise Exhausted


def in_order(left: Sequence[Row], right: Sequence[Row], tolerance: Tolerance) -> bool:
    """Returns whether the rows agree position by position."""
    return len(left) == len(right) and all(
        one[0] == other[0] and _near(one[1], other[1], tolerance) for one, other in zip(left, right, strict=True)
    )


def one_to_one(left: Sequence[Row], right: Sequence[Row], tolerance: Tolerance, work: Work) -> bool:
    """Returns whether the rows can be matched one to one. Raises Exhausted."""
    return len(left) == len(right) and all(
        len(ours) == len(theirs) and _matched(ours, theirs, tolerance, work) for ours, theirs in _groups(left, right)
    )


def covered(left: Sequence[Row], right: Sequence[Row], tolerance: Tolerance, work: Work) -> bool:
    """Returns whether every row on either side agrees with some row on the other. Raises Exhausted."""
    return all(
        _all_near(ours, theirs, tolerance, work) and _all_near(theirs, ours, tolerance, work)
        for ours, theirs in _groups(left, right)
    )


def alone(left: Sequence[Row], right: Sequence[Row], tolerance: Tolerance) -> tuple[list[int], list[int]]:
    """Returns the positions of rows on each side that have no counterpart on the other, counting duplicates.

    A fast approximation if several rows are close to one: each takes the first free one among a few neighbours.
    """
    groups: dict[Key, tuple[list[_Placed], list[_Placed]]] = {}
    for side, rows in enumerate((left, right)):
        for place, (shape, numbers) in enumerate(rows):
            groups.setdefault(shape, ([], []))[side].append((numbers, place))
    found: tuple[list[int], list[int]] = ([], [])
    for ours, theirs in groups.values():
        more = _unpaired(sorted(ours), sorted(theirs), tolerance)
        found[0].extend(more[0])
        found[1].extend(more[1])
    return sorted(found[0]), sorted(found[1])


_Placed = tuple[Numbers, int]


def _unpaired(left: list[_Placed], right: list[_Placed], tolerance: Tolerance) -> tuple[list[int], list[int]]:
    """Returns the unpaired rows of two sorted sides."""
    left, right = _unequal(left, right)
    ordered = [numbers for numbers, _ in right]
    used: set[int] = set()
    alone_ = []
    for numbers, place in left:
        for other in _neighbours(ordered, numbers, tolerance):
            if other not in used and _near(numbers, ordered[other], tolerance):
                used.add(other)
                break
        else:
            alone_.append(place)
    return alone_, [place for other, (_, place) in enumerate(right) if other not in used]


def _unequal(left: list[_Placed], right: list[_Placed]) -> tuple[list[_Placed], list[_Placed]]:
    """Removes rows that both sides have exactly. Both sides are sorted."""
    rest: tuple[list[_Placed], list[_Placed]] = ([], [])
    one = other = 0
    while one < len(left) and other < len(right):
        if left[one][0] == right[other][0]:
            one, other = one + 1, other + 1
        elif left[one][0] < right[other][0]:
            rest[0].append(left[one])
            one += 1
        else:
            rest[1].append(right[other])
            other += 1
    return rest[0] + left[one:], rest[1] + right[other:]


_LOOK = 64
"""The number of neighbours that `alone` examines."""


def _neighbours(ordered: list[Numbers], numbers: Numbers, tolerance: Tolerance) -> range:
    """Returns the positions where close rows can be: all that the first number permits, or, if there are too many,
    those around its place in sorted order.
    """
    if not numbers:
        return range(0)
    reach = tolerance.reach(numbers[0])
    low = bisect_left(ordered, (numbers[0] - reach,))
    high = bisect_right(ordered, (numbers[0] + reach, math.inf))
    if high - low <= _LOOK:
        return range(low, high)
    place = bisect_left(ordered, numbers)
    return range(max(low, place - _LOOK // 2), min(high, place + _LOOK // 2))


def _near(one: Numbers, other: Numbers, tolerance: Tolerance) -> bool:
    return all(tolerance.near(a, b) for a, b in zip(one, other, strict=True))


def _groups(left: Sequence[Row], right: Sequence[Row]) -> Iterator[tuple[list[Numbers], list[Numbers]]]:
    """Groups the numbers of both sides by the rest of the row. Equal shapes have equally many numbers."""
    found: dict[Key, tuple[list[Numbers], list[Numbers]]] = {}
    for side, rows in enumerate((left, right)):
        for shape, numbers in rows:
            found.setdefault(shape, ([], []))[side].append(numbers)
    yield from found.values()


def _matched(left: list[Numbers], right: list[Numbers], tolerance: Tolerance, work: Work) -> bool:
    width = len(left[0])
    if width == 0:
        return True
    waiting = [(left, right, 0, 0)]
    while waiting:
        ours, theirs, axis, unsplit = waiting.pop()
        if len(ours) != len(theirs):
            return False
        work.spend(len(ours) * width)
        ours.sort()
        theirs.sort()
        if all(_near(one, other, tolerance) for one, other in zip(ours, theirs, strict=True)):
            continue
        if len(ours) == 1 or (width == 1 and not _mixed(ours, theirs)):
            return False
        if unsplit == width:
            if not _bipartite(ours, theirs, tolerance, work):
                return False
            continue
        parts = _clusters(ours, theirs, axis, tolerance)
        unsplit = unsplit + 1 if len(parts) == 1 else 0
        waiting += ((*part, (axis + 1) % width, unsplit) for part in parts)
    return True


def _mixed(left: list[Numbers], right: list[Numbers]) -> bool:
    """Returns whether whole numbers are present. Two of them agree only if they are equal, so sorted order proves
    nothing.
    """
    return any(type(row[0]) is int for row in left) and any(type(row[0]) is int for row in right)


def _clusters(
    left: list[Numbers], right: list[Numbers], axis: int, tolerance: Tolerance
) -> list[tuple[list[Numbers], list[Numbers]]]:
    """Splits both sides along an axis, wherever nothing below the split is close to anything above it."""
    both = sorted(
        [(row[axis], 0, row) for row in left] + [(row[axis], 1, row) for row in right],
        key=lambda item: item[0],
    )
    parts: list[tuple[list[Numbers], list[Numbers]]] = []
    before: Number | None = None
    for value, side, row in both:
        # As floats: although two whole numbers agree only if they are equal, they connect other numbers.
        if before is None or not tolerance.near(float(before), value):
            parts.append(([], []))
        parts[-1][side].append(row)
        before = value
    return parts


def _bipartite(left: list[Numbers], right: list[Numbers], tolerance: Tolerance, work: Work) -> bool:
    """Returns whether a perfect matching exists, using augmenting paths, breadth first. Both sides are sorted."""
    firsts = [row[0] for row in right]
    edges: dict[int, list[int]] = {}
    taken: dict[int, int] = {}  # position on the right to position on the left

    def near(place: int) -> list[int]:
        if place not in edges:
            found = _window(firsts, left[place][0], tolerance)
            work.spend(8 + len(found) * len(left[place]))
            edges[place] = [other for other in found if _near(left[place], right[other], tolerance)]
        return edges[place]

    for start in range(len(left)):
        came_from: dict[int, int] = {}
        waiting = deque([start])
        free = None
        while waiting and free is None:
            place = waiting.popleft()
            found = near(place)
            work.spend(1 + len(found))
            for other in found:
                if other in came_from:
                    continue
                came_from[other] = place
                if other not in taken:
                    free = other
                    break
                waiting.append(taken[other])
        if free is None:
            return False
        holder = {taken[other]: other for other in came_from if other in taken}
        while free is not None:
            place = came_from[free]
            taken[free] = place
            free = None if place == start else holder[place]
    return True


def _all_near(left: list[Numbers], right: list[Numbers], tolerance: Tolerance, work: Work) -> bool:
    """Returns whether each row on the left is close to some row on the right."""
    if not left or not right:
        return not left
    if not left[0]:
        return True
    ordered = sorted(right)
    firsts = [row[0] for row in ordered]
    for row in left:
        work.spend(8)
        for place in _window(firsts, row[0], tolerance):
            work.spend(len(row))
            if _near(row, ordered[place], tolerance):
                break
        else:
            return False
    return True


def _window(sorted_values: list[Number], value: Number, tolerance: Tolerance) -> range:
    reach = tolerance.reach(value)
    return range(bisect_left(sorted_values, value - reach), bisect_right(sorted_values, value + reach))


def shared(left: Sequence[Row], right: Sequence[Row], tolerance: Tolerance) -> int:
    """Returns how many rows of one side can be matched with a distinct row of the other."""
    if not any(numbers for _, numbers in left) or not any(numbers for _, numbers in right):
        return sum((Counter(left) & Counter(right)).values())
    return len(left) - len(alone(left, right, tolerance)[0])
