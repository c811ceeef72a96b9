"""The choice of the waiting rows that go through the model together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol, TypeVar

from rewarden_models.overhead import CPU
from rewarden_models.prefix import SHORTEST, common

SLACK = 0.15
"""Share of a batch that may be padding while enough rows wait. On a CPU padding costs as much as tokens, and once a
batch has some hundred tokens it is no faster than its rows one by one."""

SIBLINGS = 512
"""Number of rows that are compared with the oldest for a shared prefix; bounds the cost of a choice."""


class Waits(Protocol):
    """A waiting row. family: rows of different families share no prefix worth computing once; None: it shares no
    prefix."""

    @property
    def ids(self) -> Sequence[int]: ...

    @property
    def family(self) -> object | None: ...


W = TypeVar("W", bound=Waits)


def family_of(ids: Sequence[int]) -> object | None:
    """The family of a row: rows can share a prefix only if their first tokens are equal."""
    return hash(tuple(ids[:SHORTEST])) if len(ids) > SHORTEST else None


def pick(waiting: Sequence[W], budget: int, share: bool = True, overhead: int = CPU) -> list[W]:
    """A batch from the waiting rows (in order of arrival, at least one).

    The oldest row is always included, so it cannot starve behind a stream of others. Its siblings join it if their
    shared prefix saves enough, otherwise the rows nearest to it in length, as long as rows times longest stay within
    `budget` and padding within SLACK. A batch of at most two `overhead`s is filled regardless of padding, because
    another pass would cost more. A row longer than the budget goes alone.
    """
    if share and waiting[0].family is not None:
        siblings = _siblings(waiting, budget, overhead)
        if siblings:
            return siblings
    return _near(waiting, budget, overhead)


def _siblings(waiting: Sequence[W], budget: int, overhead: int) -> list[W]:
    oldest = waiting[0]
    family = [row for row in waiting if row.family == oldest.family][:SIBLINGS]
    chosen, tokens, saved = [oldest], len(oldest.ids), 0
    for row in family[1:]:
        alike = common(oldest.ids, row.ids, SHORTEST)
        # A row must be short after the shared prefix; otherwise it does better among rows of its own length.
        if 2 * alike < len(row.ids):
            continue
        if tokens + len(row.ids) - alike > budget:
            break
        tokens += len(row.ids) - alike
        saved += alike
        chosen.append(row)
    return chosen if saved >= overhead else []


def _near(waiting: Sequence[W], budget: int, overhead: int) -> list[W]:
    oldest = waiting[0]
    ordered = sorted(waiting, key=lambda row: len(row.ids))
    lengths = [len(row.ids) for row in ordered]
    place = bisect_left(lengths, len(oldest.ids))
    while ordered[place] is not oldest:
        place += 1
    first, last, total = place, place + 1, lengths[place]
    while True:
        shorter = lengths[place] - lengths[first - 1] if first > 0 else None
        longer = lengths[last] - lengths[place] if last < len(ordered) else None
        if shorter is None and longer is None:
            break
        down = longer is None or (shorter is not None and shorter <= longer)
        added, longest = (lengths[first - 1], lengths[last - 1]) if down else (lengths[last], lengths[last])
        places = (last - first + 1) * longest
        if places > budget or (places > 2 * overhead and places - total - added > SLACK * places):
            break
        first, last, total = (first - 1, last, total + added) if down else (first, last + 1, total + added)
    return ordered[first:last]
