"""The feed: sums up the engine's verdicts on the loop until the writer takes them.

Each request, stream or job has a tap. All methods run on the engine's loop and take microseconds. Nothing here waits,
and nothing grows without bound while the disk is slow: figures are sums, and each place of a run has one set of them,
however many verdicts arrive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from rewarden.types import BadSample, Batch, Group, Sample, Text, Verdict
from rewarden_server.access.caller import CURRENT
from rewarden_server.access.key_record import ANONYMOUS
from rewarden_server.engine.plan import RUN
from rewarden_server.observe.rewards import kind_of
from rewarden_server.observe.series import OTHER
from rewarden_server.runs.figures import Figures
from rewarden_server.runs.keeper import Keeper, Kept
from rewarden_server.runs.place import TIME_S, Place
from rewarden_server.runs.stored_name import stored_name
from rewarden_verifiers.chat import Usage

DEFAULT = "default"
"""The run of verdicts that name none, if the server has no keys."""

NAME_CHARS = 200
"""The longest stored name of a run or data source, in characters."""

_LARGEST = 2**63 - 1

_MOST_PLACES = 20_000
"""Places, by run and data source, whose figures may wait for the writer; verdicts of further ones are not stored."""

_MOST_RUNS = 100
"""Runs of one key that may begin between two writes; further ones count as `other`. Attack: a run for each sample."""

_MOST_SOURCES = 100
"""Data sources of a run between two writes; further ones count as `other`."""

_STORED: ContextVar[bool] = ContextVar("rewarden_runs_stored", default=True)


@dataclass(slots=True)
class Taken:
    """The figures and rollouts that go to the writer together. lost: verdicts that were not counted meanwhile."""

    figures: dict[Place, Figures] = field(default_factory=dict)
    rollouts: list[tuple[Place, Kept]] = field(default_factory=list)
    lost: int = 0


@contextmanager
def unstored() -> Any:
    """In the block, this task's requests count in no run: they judge stored rollouts again."""
    token = _STORED.set(False)
    try:
        yield
    finally:
        _STORED.reset(token)


class Feed:
    """The figures that wait for the writer. wake: called when there is something to write after there was nothing.
    texts: also keep rollouts.
    """

    def __init__(self, wake: Callable[[], None], *, texts: bool = False) -> None:
        self._wake = wake
        self._taken = Taken()
        self.figures = self._taken.figures
        self._runs: dict[str, set[str]] = {}
        self._sources: dict[tuple[str, str], set[str]] = {}
        self.keeper = Keeper() if texts else None

    def open(self, header: Batch) -> Tap | None:
        """Opens the tap of a request; see `engine.tap`."""
        if not _STORED.get():
            return None
        caller = CURRENT.get()
        return Tap(self, caller.name if caller is not None else ANONYMOUS, header)

    @property
    def empty(self) -> bool:
        """Returns whether nothing waits."""
        return not self._taken.figures and not self._taken.rollouts

    def take(self) -> Taken:
        """Takes everything that waits."""
        taken, self._taken = self._taken, Taken()
        self.figures = self._taken.figures
        self._runs.clear()
        self._sources.clear()
        if self.keeper is not None:
            self.keeper.written()
        return taken

    def begin(self, place: Place, now: float) -> tuple[Place, Figures | None]:
        """Returns the place under which a new one is counted, and its figures, if there is room."""
        key, run, by_step, at, source = place
        runs = self._runs.setdefault(key, set())
        if run not in runs:
            run = stored_name(run, NAME_CHARS) or DEFAULT
            if run not in runs and len(runs) >= _MOST_RUNS:
                run = OTHER
            runs.add(run)
        sources = self._sources.setdefault((key, run), set())
        if source not in sources:
            source = stored_name(source, NAME_CHARS)
            if source not in sources and len(sources) >= _MOST_SOURCES:
                source = OTHER
            sources.add(source)
        place = (key, run, by_step, at, source)
        found = self.figures.get(place)
        if found is None:
            if len(self.figures) >= _MOST_PLACES:
                self._taken.lost += 1
                return place, None
            if self.empty:
                self._wake()
            found = self.figures[place] = Figures(now)
        return place, found

    def keep(self, place: Place, rollouts: Sequence[Kept]) -> None:
        """Hands rollouts to the writer."""
        if self.empty:
            self._wake()
        self._taken.rollouts.extend((place, rollout) for rollout in rollouts)


class Tap:
    """See `engine.tap.Tap`."""

    __slots__ = ("_feed", "_header", "_keeping", "_key", "_run", "_step")

    def __init__(self, feed: Feed, key: str, header: Batch) -> None:
        self._feed = feed
        self._key = key
        self._run = DEFAULT if key == ANONYMOUS else key
        progress = header.progress
        self._step = None if progress is None else max(0, min(progress.step, _LARGEST))
        self._keeping = None if feed.keeper is None else feed.keeper.open(header)

    def verdict(self, sample: Sample | BadSample, verdict: Verdict) -> None:
        """Counts a verdict."""
        now = time.time()
        place = self._place(verdict, now)
        figures = self._feed.figures.get(place)
        if figures is None:
            place, figures = self._feed.begin(place, now)
            if figures is None:
                return
        if type(sample) is not Sample:
            figures.add(now, verdict, -1, None)
            return
        response = sample.response
        length = len(response) if type(response) is str else length_of(response)
        figures.add(now, verdict, length, sample.token_count)
        if self._keeping is not None:
            kept = self._keeping.verdict(place, now, sample, verdict)
            if kept:
                self._feed.keep(place, kept)

    def group(self, group: Group, members: Sequence[Verdict]) -> None:
        """Counts a group, at the place of its first member."""
        now = time.time()
        place = self._place(members[0], now)
        figures = self._feed.figures.get(place)
        if figures is None:
            place, figures = self._feed.begin(place, now)
        if figures is not None:
            figures.add_group(kind_of(group))
        if self._keeping is not None:
            kept = self._keeping.group(group.group)
            if kept:
                self._feed.keep(place, kept)

    def spent(self, sample: Sample, usage: Usage) -> None:
        """Counts a request to a judge, at the place of its sample."""
        now = time.time()
        place = self._place(sample, now)
        figures = self._feed.figures.get(place)
        if figures is None:
            place, figures = self._feed.begin(place, now)
        if figures is not None:
            figures.spend(now, usage)

    def _place(self, of: Sample | Verdict, now: float) -> Place:
        step = self._step
        metadata = of.metadata
        run = (run_of(metadata) or self._run) if metadata else self._run
        if step is None:
            return self._key, run, False, int(now) // TIME_S * TIME_S, of.data_source or ""
        return self._key, run, True, step, of.data_source or ""

    def close(self) -> None:
        """Releases what is held."""
        if self._keeping is not None:
            self._keeping.close()


def run_of(metadata: Mapping[str, Any]) -> str | None:
    """Returns the run that a sample's metadata names."""
    run = metadata.get(RUN)
    return run[:NAME_CHARS] if type(run) is str and run else None


def length_of(text: Text) -> int:
    """Returns the number of characters of a text, or of a chat's messages."""
    if isinstance(text, str):
        return len(text)
    length = 0
    for message in text:
        content = message.get("content")
        if isinstance(content, str):
            length += len(content)
        elif isinstance(content, (list, tuple)):
            length += sum(len(part["text"]) for part in content if type(part) is dict and type(part.get("text")) is str)
    return length
