"""The advice on early answers: which extraction would find them, told once for each use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from rewarden.early_answers import EarlyAnswers, Judge, Unread
from rewarden.types import Sample, Use, Verdict

Advise = Callable[[str, str], None]
"""Takes a verifier's name and the advice: numbers and names alone, nothing that a model wrote."""


class Early:
    """Watches a server's first verdicts of each use. Its work waits for nobody, and nobody for it."""

    def __init__(self, judge: Judge, advise: Advise) -> None:
        self._judge = judge
        self._advise = advise
        self._answers = EarlyAnswers()
        self._tasks: set[asyncio.Task[None]] = set()

    def watches(self, verdict: Verdict) -> bool:
        """See `EarlyAnswers.watches`."""
        return self._answers.watches(verdict)

    def add(self, use: Use, sample: Sample, verdict: Verdict) -> None:
        """Count a verdict that is watched; the sample's shared values are in place."""
        unread = self._answers.add(use, sample, verdict)
        if unread is not None:
            task = asyncio.ensure_future(self._tell(unread))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell(self, unread: Unread) -> None:
        # A verdict's feedback may quote what a model wrote, which no log shows.
        advice = await replace(unread, feedback=None).advice(self._judge)
        if advice is not None:
            self._advise(unread.name, advice)

    async def close(self) -> None:
        """Ends what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
