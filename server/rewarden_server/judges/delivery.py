"""Delivers one attempt of a question to an address of the judge, and to others where the first is slow or fails.

An address that fails is no failure of the attempt as long as another one is well: the question goes there at once. A
reply that takes longer than most is hedged: the same question goes to a second address, the first reply counts, and the
other request is cancelled. Each request is set aside in the budget before it is sent, and counts, also where its reply
is not used.
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
"""Sends the question to one address, and counts what it takes. Raises Failure."""

_COSTLY = 2
"""The requests of one attempt that may have cost something and failed. Attack: text on which each server breaks."""

_SHARE = 0.1
"""Hedges to a request. Attack: an overload, which makes all replies slow, and which twice the requests would worsen."""

_SAVED = 10.0
"""The hedges that can be saved up."""

_PROBE_S = 1.0
"""Seconds until the question of a probe is hedged, while the usual time of a reply is not known."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """The failure of one request. story: of the address, when it began."""

    address: Address
    story: int
    failure: Failure


@dataclass(slots=True)
class _Attempt:
    """One attempt of a question: the addresses that it went to, and what failed."""

    question: Question
    request: Request
    tried: list[Address] = field(default_factory=list)
    failed: list[_Failed] = field(default_factory=list)

    async def asked(self, address: Address) -> Reply | None:
        """The reply of an address; None if that fails. Raises what `request` raises, but for Failure."""
        story = address.story
        try:
            return await self.request(address)
        except Failure as failure:
            self.failed.append(_Failed(address, story, failure))
            return None

    def refusals(self) -> list[_Failed]:
        """Returns the failures of addresses that do not take the question."""
        return [one for one in self.failed if one.failure.kind in ("rejected", "forbidden")]

    @property
    def spent(self) -> int:
        """The requests that may have cost something and failed."""
        return sum(one.failure.spent for one in self.failed)

    @property
    def over(self) -> bool:
        """Returns whether no other address is to be asked."""
        return self.spent >= _COSTLY or any(one.failure.kind == "form" for one in self.failed)

    def outcome(self, addresses: int) -> Failure:
        """Returns the failure that the attempt ends with: one that may pass, if there is one; of a form, before all.

        addresses: how many the judge has.
        """
        failures = [one.failure for one in self.failed]
        passing = [one for one in failures if one.kind not in ("rejected", "forbidden")]
        chosen = next((one for one in passing if one.kind == "form"), passing[0] if passing else failures[-1])
        chosen.everywhere = len(self.refusals()) == addresses
        return chosen


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
                self._fleet.leave(one.address, one.story)  # another address takes what it refuses: it is set up apart
            return reply
        raise attempt.outcome(len(self._fleet.addresses))

    async def _raced(self, first: Address, others: list[Address], attempt: _Attempt) -> Reply | None:
        """The reply of an address, or of the next one where the first is slow; None if none of them gives one."""
        attempt.tried.append(first)
        self._credit = min(_SAVED, self._credit + _SHARE)
        # A hedge of a question that broke one server already could be the third that it breaks.
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
        """The reply of the second address; None if there is none, so that the first alone decides."""
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
