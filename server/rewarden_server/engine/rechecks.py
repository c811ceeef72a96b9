"""The agreement of cascades' cheap verdicts with the strong verifier, on the samples that are rechecked.

A threshold that was calibrated once stops fitting as the policy changes. Rechecks neither change nor delay a verdict:
separate tasks ask the strong verifier, a few at a time, and belong to no request.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.types import Outcome, Progress, Sample
from rewarden_verifiers.group.statistics import wilson
from rewarden_verifiers.recheck import Recheck

RECHECK_S = 600.0
"""Time limit of a recheck in seconds. A strong verifier that hangs must not block the others forever."""

_AT_ONCE = 8
"""Rechecks in progress at once. The strong verifier's capacity belongs first to the samples that need it."""

_WAITING = 256
"""Rechecks that wait at most; further ones are given up, so that a strong verifier that is down cannot fill the memory.
"""

Again = Callable[[Sample, Progress | None], Awaitable[Outcome]]
"""Returns the outcome of a sample that no caller sent, at the request's progress."""

_RECENT = 200
_MOST = 64
"""Pairs of verifiers that are counted separately. Attack: callers that make up names of recipes and judges, each of
which would get a row forever."""

_OTHERS = ("other", "other")


@dataclass(slots=True)
class _Row:
    """The rechecks of one pair of verifiers. unscored: the strong one returned no score; given_up: it was not asked, or
    not waited for."""

    agreed: int = 0
    disagreed: int = 0
    unscored: int = 0
    given_up: int = 0
    expected: float = 0.0
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def status(self) -> dict[str, Any]:
        """Returns the counts, the agreement of the latest rechecks with its 95 % interval, and whether all of that
        interval is below the expected agreement."""
        agreed, count = sum(self.recent), len(self.recent)
        interval = wilson(agreed, count) if count else None
        return {
            "agreed": self.agreed,
            "disagreed": self.disagreed,
            "unscored": self.unscored,
            "given_up": self.given_up,
            "expected": self.expected,
            "agreement": agreed / count if count else None,
            "interval": None if interval is None else list(interval),
            "drifted": interval is not None and interval[1] < self.expected,
        }


class Rechecks:
    """Used on the engine's loop. again: judges a sample; None: nothing is rechecked."""

    def __init__(self, again: Again | None = None) -> None:
        self._again = again
        self._rows: dict[tuple[str, str], _Row] = {}
        self._waiting: deque[tuple[Recheck, Sample, Progress | None]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, recheck: Recheck, sample: Sample, progress: Progress | None = None) -> None:
        """Schedules a recheck of a sample, whose shared values are resolved."""
        if self._again is None:
            return
        if len(self._waiting) >= _WAITING:
            self._row(recheck).given_up += 1
            return
        self._waiting.append((recheck, replace(sample, use=recheck.use, group=None, group_size=None), progress))
        if len(self._tasks) < _AT_ONCE:
            # In a context of its own: a recheck must not count against the request's spending, trace or slot.
            task = asyncio.get_running_loop().create_task(self._work(self._again), context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, again: Again) -> None:
        while self._waiting:
            recheck, sample, progress = self._waiting.popleft()
            try:
                self.note(recheck, await again(sample, progress))
            except asyncio.CancelledError:
                self._row(recheck).given_up += 1
                raise

    def note(self, recheck: Recheck, outcome: Outcome) -> None:
        """Counts the other verifier's outcome."""
        row = self._row(recheck)
        agrees = recheck.agrees(outcome)
        if agrees is None:
            row.unscored += 1
            return
        row.recent.append(agrees)
        row.agreed += agrees
        row.disagreed += not agrees

    def status(self) -> list[dict[str, Any]]:
        """Returns a row for each pair of verifiers, ready for JSON."""
        return [{"rule": rule, "then": then, **row.status()} for (rule, then), row in self._rows.items()]

    async def settle(self) -> None:
        """Waits until all rechecks have ended."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Gives up all rechecks that have not ended."""
        self._again = None
        for recheck, *_ in self._waiting:
            self._row(recheck).given_up += 1
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()
        await self.settle()

    def _row(self, recheck: Recheck) -> _Row:
        key = (recheck.rule, recheck.then)
        if key not in self._rows and len(self._rows) >= _MOST:
            key = _OTHERS
        row = self._rows.setdefault(key, _Row())
        row.expected = recheck.expected
        return row
