"""Chooses the rollouts whose texts are kept: two whole groups of each step and data source, and all that were flagged
or unscored.

Groups are chosen at their first member, so that they are kept whole. Everything is bounded: in numbers per place, and
in bytes held in memory.
"""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from rewarden.types import Batch, Sample, Verdict
from rewarden_server.engine.admission import weight
from rewarden_server.runs.place import Place

GROUPS = 2
"""Whole groups kept per place."""

SINGLES = 16
"""Samples without a group kept per place."""

ODD = 100
"""Flagged or unscored rollouts kept per place, in addition to its whole groups."""

MEMBERS = 128
"""The most members of a group."""

TIME_S = 60
"""Seconds that count as one place if there are no steps."""

_REQUESTS = itertools.count(time.time_ns() >> 10)
"""Numbers of requests, which differ between servers and restarts."""

_HELD_BYTES = 64 * 1024**2
_PLACES = 10_000


@dataclass(frozen=True, slots=True)
class Kept:
    """A rollout to store. time: when it was judged, in seconds since the epoch. request: the number of its request,
    because groups of different requests may have the same name."""

    time: float
    request: int
    header: Batch
    sample: Sample
    verdict: Verdict


@dataclass(slots=True)
class _Count:
    """Counts the rollouts kept of a place."""

    groups: int = 0
    singles: int = 0
    odd: int = 0


class Keeper:
    """Counts by recent place, and the bytes held for all requests."""

    def __init__(self) -> None:
        self._counts: OrderedDict[Place, _Count] = OrderedDict()
        self.held = 0
        self._waiting = 0

    def open(self, header: Batch) -> Keeping:
        """Makes the chooser for one request."""
        return Keeping(self, header)

    def count(self, place: Place) -> _Count:
        """Returns the counts of a place."""
        key, run, by_step, at, source = place
        near = (key, run, by_step, at if by_step else at // TIME_S, source)
        found = self._counts.get(near)
        if found is None:
            found = self._counts[near] = _Count()
            if len(self._counts) > _PLACES:
                self._counts.popitem(last=False)
        return found

    def room(self, size: int) -> bool:
        """Returns whether this many more bytes may be held."""
        return self.held + self._waiting + size <= _HELD_BYTES

    def hand_on(self, size: int) -> None:
        """Records that this many bytes now wait for the writer."""
        self._waiting += size

    def written(self) -> None:
        """Records that the writer has taken what waited."""
        self._waiting = 0


class Keeping:
    """The groups of one request that are to be kept, until they are whole."""

    def __init__(self, keeper: Keeper, header: Batch) -> None:
        self._keeper = keeper
        self._header = header
        self._request = next(_REQUESTS)
        self._groups: dict[str, list[Kept]] = {}
        self._left_out: set[str] = set()
        self._held = 0

    def verdict(self, place: Place, now: float, sample: Sample, verdict: Verdict) -> Sequence[Kept]:
        """Returns the rollouts to store now."""
        keeper, group = self._keeper, verdict.group
        size = weight(sample)
        if not keeper.room(size):
            return ()
        count = keeper.count(place)
        if group is not None:
            members = self._groups.get(group)
            if members is None and group not in self._left_out:
                if count.groups < GROUPS:
                    count.groups += 1
                    members = self._groups[group] = []
                else:
                    self._left_out.add(group)
            if members is not None and len(members) < MEMBERS:
                members.append(Kept(now, self._request, self._header, sample, verdict))
                self._held += size
                keeper.held += size
                return ()
        odd = verdict.score is None or bool(verdict.flags)
        if odd and count.odd < ODD:
            count.odd += 1
        elif group is None and count.singles < SINGLES:
            count.singles += 1
        else:
            return ()
        keeper.hand_on(size)
        return (Kept(now, self._request, self._header, sample, verdict),)

    def group(self, name: str) -> Sequence[Kept]:
        """Returns the members of a group that is whole and is to be stored."""
        self._left_out.discard(name)
        members = self._groups.pop(name, ())
        size = sum(weight(member.sample) for member in members)
        self._held -= size
        self._keeper.held -= size
        self._keeper.hand_on(size)
        return members

    def close(self) -> None:
        """Drops groups that never became whole."""
        self._keeper.held -= self._held
        self._held = 0
        self._groups.clear()
