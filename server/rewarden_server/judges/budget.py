"""The budget of a judge: dollars, tokens, calls. Never exceeded by more than one request.

Before a request, its upper bound is reserved; afterwards, its real usage is counted. A request that does not fit next
to the reservations waits until they are settled; a single request is sent as long as anything is left.
"""

from __future__ import annotations

import asyncio

from rewarden.errors import BudgetExhausted
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Usage

_NAMES = ("usd", "tokens", "calls")


class Budget:
    """Used on one event loop only. Raises ValueError for a budget in dollars if the judge has no price."""

    def __init__(self, judge: str, settings: JudgeEndpoint) -> None:
        if settings.budget_usd is not None and settings.input_usd is None and settings.output_usd is None:
            raise ValueError(f"judge {judge!r}: budget_usd needs input_usd and output_usd")
        self._judge = judge
        limits = (settings.budget_usd, settings.budget_tokens, settings.budget_calls)
        self._limits = {name: limit for name, limit in zip(_NAMES, limits, strict=True) if limit is not None}
        self._spent = dict.fromkeys(_NAMES, 0.0)
        self._aside = dict.fromkeys(_NAMES, 0.0)
        self._out = 0
        self._settled = asyncio.Event()

    def left(self) -> dict[str, float]:
        """Returns the remainder of each limit."""
        return {name: max(0.0, limit - self._spent[name]) for name, limit in self._limits.items()}

    def whole(self) -> dict[str, float]:
        """Returns the limits."""
        return dict(self._limits)

    def check(self) -> None:
        """Raises BudgetExhausted if nothing is left."""
        for name, limit in self._limits.items():
            if self._spent[name] >= limit:
                raise BudgetExhausted(f"judge {self._judge!r}: budget_{name} ({limit:g}) is spent", judge=self._judge)

    async def reserve(self, bound: Usage) -> None:
        """Waits until a request's bound fits, and reserves it. Raises BudgetExhausted."""
        wanted = _amounts(bound)
        while True:
            self.check()
            if not self._out or all(
                self._spent[name] + self._aside[name] + wanted[name] <= limit for name, limit in self._limits.items()
            ):
                break
            await self._settled.wait()
        self._out += 1
        for name in _NAMES:
            self._aside[name] += wanted[name]

    def settle(self, bound: Usage, used: Usage | None) -> None:
        """Settles a reserved request with its usage, or None if it was never sent."""
        self._out -= 1
        taken = _amounts(used) if used is not None else dict.fromkeys(_NAMES, 0.0)
        for name, amount in _amounts(bound).items():
            # Reset to exactly 0 when no request is in flight: sums of fractions would drift.
            self._aside[name] = self._aside[name] - amount if self._out else 0.0
            self._spent[name] += taken[name]
        settled, self._settled = self._settled, asyncio.Event()
        settled.set()


def _amounts(usage: Usage) -> dict[str, float]:
    return {"usd": usage.cost_usd or 0.0, "tokens": usage.prompt_tokens + usage.completion_tokens, "calls": 1}
