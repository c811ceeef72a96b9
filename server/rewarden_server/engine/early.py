"""Advice on early answers: which extraction would find them, given once for each use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from rewarden.early_answers import EarlyAnswers, Judge, Unread
from rewarden.types import Sample, Use, Verdict

Advise = Callable[[str, str], None]
"""Receives a verifier's name and the advice, which contains only numbers and names, and no model output."""


class Early:
    """Watches a server's first verdicts of each use, without delaying any request."""

    def __init__(self, judge: Judge, advise: Advise) -> None:
        self._judge = judge
        self._advise = advise
        self._answers = EarlyAnswers()
        self._tasks: set[asyncio.Task[None]] = set()

    def watches(self, verdict: Verdict) -> bool:
        """See `EarlyAnswers.watches`."""
        return self._answers.watches(verdict)

    def add(self, use: Use, sample: Sample, verdict: Verdict) -> None:
        """Counts a watched verdict, after the sample's shared values are resolved."""
        unread = self._answers.add(use, sample, verdict)
        if unread is not None:
            task = asyncio.ensure_future(self._tell(unread))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell(self, unread: Unread) -> None:
        # A verdict's feedback can quote model output, which must not be logged.
        advice = await replace(unread, feedback=None).advice(self._judge)
        if advice is not None:
            self._advise(unread.name, advice)

    async def close(self) -> None:
        """Ends the work in progress."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
