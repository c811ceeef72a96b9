"""Samples to verdicts, with the time and the tokens that they take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import aclosing

from rewarden.client import AsyncClient
from rewarden.types import Sample, Verdict
from rewarden_server.studies.calibration.judged_responses import Spent
from rewarden_server.studies.rescore.progress import Watcher


class Asking:
    """Requests verdicts, and reports the progress. most: about how many will be requested."""

    def __init__(self, client: AsyncClient, watcher: Watcher, most: int) -> None:
        self._client = client
        self._watcher = watcher
        self._most = max(1, most)
        self.done = 0
        watcher.advance(0, 0.0)

    async def ask(self, samples: Sequence[Sample]) -> list[Verdict]:
        """The verdicts, in order. Raises RequestError."""
        found: dict[int, Verdict] = {}
        if samples:
            async with aclosing(self._client.stream(samples)) as items:
                async for item in items:
                    if isinstance(item, Verdict):
                        found[item.index] = item
                        self.done += 1
                        self._watcher.advance(self.done, min(1.0, self.done / self._most))
        return [found[place] for place in range(len(samples))]

    async def timed(self, samples: Sequence[Sample]) -> tuple[list[Verdict], Cost]:
        """The verdicts, and their cost: after the first one, which starts what must be started."""
        if not samples:
            return [], Cost()
        first = await self.ask(samples[:1])
        began = time.monotonic()
        rest = await self.ask(samples[1:])
        seconds = time.monotonic() - began
        spent = Spent()
        spent.add([*first, *rest])
        return [*first, *rest], Cost(sum(not one.cached for one in rest), len(samples), seconds, spent)


class Cost:
    """The cost of verdicts. fresh: those that were not remembered, and took these seconds. asked: all of them, which
    spent these tokens."""

    def __init__(self, fresh: int = 0, asked: int = 0, seconds: float = 0.0, spent: Spent | None = None) -> None:
        self.fresh, self.asked, self.seconds = fresh, asked, seconds
        self.spent = spent or Spent()

    def to_json(self) -> dict[str, float | bool | None]:
        """Returns the cost of a million samples; None for what was not measured."""
        spent, share = self.spent, 1e6 / self.asked if self.asked else 0.0
        return {
            "seconds": 1e6 * self.seconds / self.fresh if self.fresh else None,
            "judge_calls": spent.calls * share,
            "judge_tokens": (spent.prompt_tokens + spent.completion_tokens) * share,
            "judge_usd": None if spent.cost_usd is None else spent.cost_usd * share,
            "estimated": spent.estimated,
        }
