"""One judge: its addresses, called within limits of concurrency, rate and budget, with retries where they can help.

A place in the line is held from the moment at which a request may be sent until it ends, and never during a pause, nor
while the breaker is tripped. The time for one question, without its waits for a place, is bounded: outage_s in line at
a judge that is down or until the time that a 429 names, and (retries + 1) × timeout_s + retries × 2 × backoff_s.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rewarden.errors import MissingDependency, ProviderError, ProviderRefused
from rewarden_server.engine.lanes.resizable_semaphore import ResizableSemaphore
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.spending import spend
from rewarden_server.judges.breaker import Breaker, Caller, OutageError, Turn
from rewarden_server.judges.budget import Budget
from rewarden_server.judges.delivery import Delivery
from rewarden_server.judges.failure import Failure, timed_out
from rewarden_server.judges.fleet import Address, Fleet
from rewarden_server.judges.pace import Pace
from rewarden_server.judges.price import bound, needed
from rewarden_server.judges.provider import OpenAIProvider, Provider
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_server.judges.vendors import LiteLLMProvider
from rewarden_server.observe.telemetry.span import current, within
from rewarden_verifiers.chat import Question, Reply, Usage

_FIRST_PAUSE_S = 0.5
_FORMS = 8
"""The number of refusals of a request's form, each for another field, that do not count as attempts: more than there
are forms.
"""


_SMALL = 4096
"""Tokens that fit into the context of any judge, so that its server need not be asked."""


class _SidelinedError(Exception):
    """The breaker tripped before the request was sent: the question returns to the breaker's line."""


class Endpoint:
    """See the module. `settings` is the judge's configuration. Tests supply providers (one per address), pause (awaits
    a number of seconds), clock (seconds) and chance (0 to 1).
    """

    def __init__(
        self,
        name: str,
        settings: JudgeEndpoint,
        observer: Observer,
        *,
        providers: Sequence[Provider] | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self.settings = settings
        self._observer = observer
        self._pause = pause
        self._clock = clock
        self._chance = chance
        made = providers or [provider_of(name, one) for one in settings.addressed()]
        addresses = [Address(number, provider) for number, provider in enumerate(made, start=1)]
        self._fleet = Fleet(addresses, settings.concurrency, settings.breaker_s, clock, self._resize)
        self._line = ResizableSemaphore(settings.concurrency * len(addresses))
        self._pace = Pace(name, settings)
        self._delivery = Delivery(self._fleet, settings.hedge, self._line, self._pace, pause)
        self._budget = Budget(name, settings)
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_s, settings.outage_s, clock, pause)
        self._took = {"attempts": 0, "failures": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._cost_usd = 0.0
        self._last: Failure | None = None
        self._closed = False
        self._context: int | None = None
        self._context_asked = False
        self._asking_context = asyncio.Lock()

    async def ask(self, question: Question, *, patient: bool = True) -> Reply:
        """The reply, after as many attempts as allowed. patient: wait while the judge is down; otherwise, only for the
        current probe.

        Raises ProviderError (kind `breaker` only if not patient), BudgetExhausted, MissingDependency.
        """
        most = bound(self.settings, question)
        caller = self._breaker.caller(patient=patient)
        failure: Failure | None = None
        retries = forms = 0
        while True:
            try:
                return await self._attempt(question, most, caller, again=bool(retries or forms))
            except OutageError:
                raise self._given_up(caller, failure) from None
            except Failure as caught:
                failure = caught
            if failure.kind == "form" and forms < _FORMS * len(self._fleet.addresses):
                forms += 1
                continue
            caller.failures += not failure.answered
            pause = self._pause_before(retries, failure, caller)
            if pause is None:
                refused = failure.kind in ("rejected", "forbidden") and failure.everywhere
                kind = ProviderRefused if refused else ProviderError
                raise kind(f"judge {self.name!r}: {failure}", judge=self.name, kind=failure.kind)
            self._observer.judge_retried(self.name)
            await self._pause(pause)
            retries += 1

    async def spare(self, question: Question) -> int | None:
        """See `Judge.spare`, for this judge alone."""
        size = needed(self.settings, question)
        context = self.settings.context
        if context is None:
            if size < _SMALL:
                return None
            context = await self._stated()
        return None if context is None else context - size

    async def _stated(self) -> int | None:
        """The context size stated by the model's server. Requested once, unless the server cannot be reached."""
        async with self._asking_context:
            if not self._context_asked:
                provider = self._fleet.order(Question(messages=()))[0].provider
                try:
                    async with asyncio.timeout(self.settings.connect_s):
                        await provider.ready()
                        self._context = await provider.context()
                except (Failure, MissingDependency, TimeoutError):
                    return None  # the question itself will fail, or another address will answer it
                self._context_asked = True
            return self._context

    def status(self) -> dict[str, Any]:
        """Returns state and spending, ready for JSON, without addresses, key, or the server's own words."""
        settings = self.settings
        wires = [one.provider.wire for one in self._fleet.addresses]
        return {
            "model": settings.model,
            "provider": settings.provider,
            "breaker": self._breaker.state,
            "in_flight": self._line.taken,
            "waiting": self._line.waiting + self._breaker.waiting,
            **self._took,
            "cost_usd": self._cost_usd if settings.input_usd is not None or settings.output_usd is not None else None,
            "left": self._budget.left(),
            "budget": self._budget.whole(),
            "structured": wires[0].structured,
            "not_sent": sorted(set[str]().union(*(wire.dropped for wire in wires))),
            "addresses": [one.status() for one in self._fleet.addresses],
            "hedges": self._delivery.hedges,
            "last_failure": self._last.kind if self._last is not None else None,
        }

    async def close(self) -> None:
        """Releases all waiting questions, and closes connections."""
        self._closed = True
        self._breaker.dissolve(self._refusal)
        self._line.dissolve(self._refusal)
        self._pace.dissolve()
        await asyncio.gather(*(one.provider.close() for one in self._fleet.addresses))

    def _pause_before(self, retries: int, failure: Failure, caller: Caller) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        longest = self.settings.backoff_s
        if not failure.passing or failure.kind == "form" or retries >= self.settings.retries:
            return None
        asked = failure.pause_s or 0.0
        if asked > longest:
            if not failure.answered:
                asked = longest  # a server that is down cannot know better than the probes when it is back
            elif not self._breaker.waits(caller, asked):
                return None  # too long to wait here: the caller can retry
        # Full jitter, so that requests that failed together do not retry together. A pause requested by the server is
        # the minimum.
        return asked + self._chance() * min(longest, math.ldexp(_FIRST_PAUSE_S, retries))

    async def _attempt(self, question: Question, most: Usage, caller: Caller, *, again: bool) -> Reply:
        """The reply of one attempt, once it is this question's turn. Raises Failure, OutageError."""
        while True:
            self._admit()
            turn = await self._breaker.enter(caller)
            try:
                async with self._line.turn(first=again or turn.probe):
                    if not await self._pace.keep(question):
                        raise self._refusal() if self._closed else _SidelinedError
                    return await self._sent(question, most, turn)
            except _SidelinedError:
                continue
            finally:
                self._breaker.leave(turn)

    def _admit(self) -> None:
        if self._closed:
            raise self._refusal()
        self._budget.check()

    def _refusal(self) -> ProviderError:
        return ProviderError(f"judge {self.name!r}: the server is stopping", judge=self.name, kind="closed")

    def _given_up(self, caller: Caller, own: Failure | None) -> ProviderError:
        """The error of a question that left the line of a judge that is down. Another question's failure is reported
        without the server's words, which may repeat that question's text.
        """
        last = own or self._last
        assert last is not None
        said = f"the last failure: {last if last is own else last.brief}"
        if not caller.patient:
            return ProviderError(f"judge {self.name!r} is down, {said}", judge=self.name, kind="breaker")
        message = f"judge {self.name!r} was down for longer than outage_s ({self.settings.outage_s:g} s), {said}"
        return ProviderError(message, judge=self.name, kind=last.kind)

    async def _sent(self, question: Question, most: Usage, turn: Turn) -> Reply:
        """The reply of one attempt. Raises Failure."""
        begun = False

        def begin() -> bool:
            nonlocal begun
            may, begun = begun or self._breaker.begin(turn), True
            return may

        try:
            reply = await self._delivery.reply(
                question, lambda address: self._requested(address, question, most, begin)
            )
        except Failure as failure:
            self._failed(failure, turn)
            raise
        self._breaker.succeeded()
        return reply

    async def _requested(self, address: Address, question: Question, most: Usage, begin: Callable[[], bool]) -> Reply:
        """The reply of one address. Reserves the request's bound, and counts its usage. Raises Failure."""
        await self._budget.reserve(most)
        used: Usage | None = None
        started = self._clock()
        try:
            span = current().child("judge request", kind="client", judge=self.name, address=address.number)
            with within(span):
                story = address.story
                address.requests += 1
                try:
                    await address.provider.ready()
                    if self._closed:
                        raise self._refusal()
                    if not begin():
                        raise _SidelinedError
                    used = most  # from here on, even after a cancellation or failure, the model may work on it
                    reply = await self._completed(address, question)
                except MissingDependency:
                    used = None
                    raise
                except Failure as failure:
                    used = most if failure.spent else Usage()
                    self._unanswered(address, story, failure, self._clock() - started)
                    span.note(failure=failure.kind)
                    raise
                used = reply.usage
                self._fleet.answered(address, self._clock() - started)
                self._observer.judge_attempted(self.name, "ok", self._clock() - started)
                span.note(prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens)
                return reply
        finally:
            self._budget.settle(most, used)
            self._count(used)

    async def _completed(self, address: Address, question: Question) -> Reply:
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                return await address.provider.complete(question)
        except TimeoutError:
            raise timed_out(self.settings.timeout_s) from None

    def _unanswered(self, address: Address, story: int, failure: Failure, seconds: float) -> None:
        self._observer.judge_attempted(self.name, failure.kind, seconds)
        if failure.kind != "form":
            self._took["failures"] += 1
            self._last = failure
        if failure.answered and failure.kind != "rate_limited":
            self._fleet.present(address)
        else:
            self._fleet.leave(address, story, failure.pause_s)

    def _resize(self) -> None:
        """An address was left or came back: only the places of healthy addresses count."""
        self._line.allow(self.settings.concurrency * max(1, self._fleet.well()))

    def _failed(self, failure: Failure, turn: Turn) -> None:
        """Records that no address gave a reply."""
        if failure.answered:
            self._breaker.succeeded()
        elif self._breaker.failed(turn):
            # Questions that wait for a place or for the rate limit now wait for the judge.
            self._line.dissolve(_SidelinedError)
            self._pace.dissolve()

    def _count(self, used: Usage | None) -> None:
        if used is None:
            return
        self._took["attempts"] += 1
        self._took["prompt_tokens"] += used.prompt_tokens
        self._took["completion_tokens"] += used.completion_tokens
        self._cost_usd += used.cost_usd or 0.0
        self._observer.judge_spent(self.name, used)
        spend(used)


def provider_of(name: str, settings: JudgeEndpoint) -> Provider:
    """Returns the client of the judge's server."""
    return LiteLLMProvider(name, settings) if settings.provider == "litellm" else OpenAIProvider(name, settings)
