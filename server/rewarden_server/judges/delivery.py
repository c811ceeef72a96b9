"""Delivers one attempt of a question to an address of the judge, and to others if the first is slow or fails.

An address that fails does not fail the attempt as long as another one is well: the question goes there at once. A reply
that takes longer than most is hedged: the same question goes to a second address, the first reply counts, and the other
request is cancelled. Each request is reserved in the budget before it is sent, and counts even if its reply is not
used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import BudgetExhausted, MissingDependency
from rewarden_server.engine.lanes.resizable_semaphore import ResizableSemaphore
from rewarden_server.judges.failure import Failure
from rewarden_server.judges.fleet import Address, Fleet
from rewarden_server.judges.pace import Pace
from rewarden_verifiers.chat import Question, Reply

Request = Callable[[Address], Coroutine[Any, Any, Reply]]
"""Sends the question to one address, and counts its usage. Raises Failure."""

_COSTLY = 2
"""The maximum number of requests of one attempt that may have cost something and failed. Attack: text that breaks every
server.
"""

_SHARE = 0.1
"""Hedges per request. Attack: an overload, which slows all replies and which twice the requests would worsen."""

_SAVED = 10.0
"""The maximum number of hedges saved up."""

_PROBE_S = 1.0
"""Seconds until a probe's question is hedged while the usual reply time is unknown."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """The failure of one request. story: the address's story when the request began."""

    address: Address
    story: int
    failure: Failure


@dataclass(slots=True)
class _Attempt:
    """One attempt of a question: the addresses tried, and the failures."""

    question: Question
    request: Request
    tried: list[Address] = field(default_factory=list)
    failed: list[_Failed] = field(default_factory=list)

    async def asked(self, address: Address) -> Reply | None:
        """The reply of an address; None if it fails. Raises what `request` raises, except for Failure."""
        story = address.story
        try:
            return await self.request(address)
        except Failure as failure:
            self.failed.append(_Failed(address, story, failure))
            return None

    def refusals(self) -> list[_Failed]:
        """Returns the failures of addresses that refused the question."""
        return [one for one in self.failed if one.failure.kind in ("rejected", "forbidden")]

    @property
    def spent(self) -> int:
        """The number of failed requests that may have cost something."""
        return sum(one.failure.spent for one in self.failed)

    @property
    def over(self) -> bool:
        """Returns whether no other address should be tried."""
        return self.spent >= _COSTLY or any(one.failure.kind == "form" for one in self.failed)

    def outcome(self, addresses: int) -> Failure:
        """Returns the failure with which the attempt ends: a transient one if there is one, and one of the request's
        form before all others.

        addresses: the number of the judge's addresses.
        """
        failures = [one.failure for one in self.failed]
        passing = [one for one in failures if one.kind not in ("rejected", "forbidden")]
        chosen = next((one for one in passing if one.kind == "form"), passing[0] if passing else failures[-1])
        chosen.everywhere = len(self.refusals()) == addresses
        return chosen


class Delivery:
    """See the module. quantile: the share of latest replies whose time a request may take before it is hedged; 0:
    never.
    """

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

        A question refused by one address is only refused if every healthy address refuses it. Attack: text for an
        address that refuses what others accept, so that its refusal looks like proof (`opinions.py`).
        """
        order = self._fleet.order(question)
        attempt = _Attempt(question, request)
        for address in order:
            if address in attempt.tried:
                continue
            others = [one for one in order if one is not address and one not in attempt.tried and one.until is None]
            reply = await self._raced(address, others, attempt)
            if reply is None:
                if attempt.over:
                    break
                continue
            for one in attempt.refusals():
                self._fleet.leave(one.address, one.story)  # others accept what it refuses: it differs from them
            return reply
        raise attempt.outcome(len(self._fleet.addresses))

    async def _raced(self, first: Address, others: list[Address], attempt: _Attempt) -> Reply | None:
        """The reply of an address, or of the next one if the first is slow; None if neither gives one."""
        attempt.tried.append(first)
        self._credit = min(_SAVED, self._credit + _SHARE)
        # A question that has already broken one server could break a third with its hedge.
        delay = self._delay(first) if others and not attempt.spent else None
        with self._fleet.place(first):
            if delay is None:
                return await attempt.asked(first)
            begun = asyncio.Event()
            main = asyncio.ensure_future(attempt.asked(first))
            hedge = asyncio.ensure_future(self._hedged(delay, first, others[0], attempt, begun))
            try:
                await asyncio.wait((main, hedge), return_when=asyncio.FIRST_COMPLETED)
                if main.done() and (not _failed(main) or not begun.is_set()):
                    return main.result()
                if begun.is_set():
                    attempt.tried.append(others[0])
                reply = await hedge
                return reply if reply is not None else await main
            finally:
                for task in (main, hedge):
                    task.cancel()
                await asyncio.gather(main, hedge, return_exceptions=True)

    async def _hedged(
        self, delay: float, first: Address, second: Address, attempt: _Attempt, begun: asyncio.Event
    ) -> Reply | None:
        """The reply of the second address; None if there is none, so that the first address alone decides."""
        await self._pause(delay)
        probe = first.until is not None
        if self._line.taken >= self._line.most or self._line.waiting or (self._credit < 1 and not probe):
            return None
        self._credit -= not probe
        try:
            async with self._line.turn():
                if not await self._pace.keep(attempt.question):
                    return None
                begun.set()
                self.hedges += 1
                with self._fleet.place(second):
                    return await attempt.asked(second)
        except (BudgetExhausted, MissingDependency):
            return None

    def _delay(self, first: Address) -> float | None:
        if not self._quantile:
            return None
        usual = self._fleet.delay(self._quantile)
        return usual if usual is not None or first.until is None else _PROBE_S


def _failed(task: asyncio.Future[Reply | None]) -> bool:
    return task.cancelled() or task.exception() is not None or task.result() is None
