"""Delivers one attempt of a question to an address of the judge, and to others where the first is slow or fails.

An address that fails is no failure of the attempt as long as another one is well: the question goes there at once. A
reply that takes longer than most is hedged: the same question goes to a second address, the first reply counts, and the
other request is cancelled. Each request is set aside in the budget before it is sent, and counts, also where its reply
is not used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from rewarden.errors import BudgetExhausted, MissingDependency
from rewarden_server.engine.lanes.resizable_semaphore import ResizableSemaphore
from rewarden_server.judges.failure import Failure
from rewarden_server.judges.fleet import Address, Fleet
from rewarden_server.judges.pace import Pace
from rewarden_verifiers.chat import Question, Reply

Request = Callable[[Address], Coroutine[Any, Any, Reply]]
"""Sends the question to one address, and counts what it takes. Raises Failure."""

_COSTLY = 2
"""The requests of one attempt that may have cost something and failed. Attack: text on which each server breaks."""

_SHARE = 0.1
"""Hedges to a request. Attack: an overload, which makes all replies slow, and which twice the requests would worsen."""

_SAVED = 10.0
"""The hedges that can be saved up."""

_PROBE_S = 1.0
"""Seconds until the question of a probe is hedged, while the usual time of a reply is not known."""


class Delivery:
    """See the module. quantile: the share of replies after whose time a request is hedged; 0: none is."""

    def __init__(
        self,
        fleet: Fleet,
        quantile: float,
        line: ResizableSemaphore,
        pace: Pace,
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self._fleet = fleet
        self._quantile = quantile
        self._line = line
        self._pace = pace
        self._pause = pause
        self._credit = 1.0
        self.hedges = 0

    async def reply(self, question: Question, request: Request) -> Reply:
        """The reply of the first address that gives one. Raises Failure, and what `request` raises.

        A question that an address refuses is refused only if each address that is well refuses it. Attack: text for an
        address that refuses what others take, so that its refusal looks like proof (`opinions.py`).
        """
        order = self._fleet.order(question)
        tried: list[Address] = []
        refusals: list[tuple[Address, int]] = []
        failures: list[Failure] = []
        for address in order:
            if address in tried:
                continue
            story = address.story
            others = [one for one in order if one is not address and one not in tried and one.until is None]
            try:
                reply = await self._raced(address, others, question, request, tried)
            except Failure as failure:
                failures.append(failure)
                if failure.kind == "form" or sum(one.spent for one in failures) >= _COSTLY:
                    raise
                if failure.kind in ("rejected", "forbidden"):
                    refusals.append((address, story))
                continue
            for one, began in refusals:
                self._fleet.leave(one, began)  # another address takes what it refuses: it is not set up as the others
            return reply
        raise self._outcome(failures, len(refusals))

    def _outcome(self, failures: list[Failure], refusals: int) -> Failure:
        """Returns the failure that the attempt ends with: one that may pass, if there is one."""
        chosen = next((one for one in failures if one.kind not in ("rejected", "forbidden")), failures[-1])
        chosen.everywhere = refusals == len(self._fleet.addresses)
        return chosen

    async def _raced(
        self, first: Address, others: list[Address], question: Question, request: Request, tried: list[Address]
    ) -> Reply:
        """The reply of an address, or of the next one where the first is slow."""
        tried.append(first)
        self._credit = min(_SAVED, self._credit + _SHARE)
        delay = self._delay(first) if others else None
        if delay is None:
            return await request(first)
        begun = asyncio.Event()
        main = asyncio.ensure_future(request(first))
        hedge = asyncio.ensure_future(self._hedged(delay, first, others[0], question, request, begun))
        try:
            await asyncio.wait((main, hedge), return_when=asyncio.FIRST_COMPLETED)
            if main.done() and (not _failed(main) or not begun.is_set()):
                return main.result()
            if begun.is_set():
                tried.append(others[0])
            reply = await hedge
            return reply if reply is not None else await main
        finally:
            for task in (main, hedge):
                task.cancel()
            await asyncio.gather(main, hedge, return_exceptions=True)

    async def _hedged(
        self,
        delay: float,
        first: Address,
        second: Address,
        question: Question,
        request: Request,
        begun: asyncio.Event,
    ) -> Reply | None:
        """The reply of the second address; None where there is none, so that the first alone decides."""
        await self._pause(delay)
        probe = first.until is not None
        if self._line.taken >= self._line.most or self._line.waiting or (self._credit < 1 and not probe):
            return None
        self._credit -= not probe
        try:
            async with self._line.turn():
                if not await self._pace.keep(question):
                    return None
                begun.set()
                self.hedges += 1
                return await request(second)
        except (Failure, BudgetExhausted, MissingDependency):
            return None

    def _delay(self, first: Address) -> float | None:
        if not self._quantile:
            return None
        usual = self._fleet.delay(self._quantile)
        return usual if usual is not None or first.until is None else _PROBE_S


def _failed(task: asyncio.Future[Reply]) -> bool:
    return task.cancelled() or task.exception() is not None
