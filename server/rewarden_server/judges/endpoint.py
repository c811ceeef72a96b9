"""One judge: its provider, asked within limits of concurrency, rate and budget, again where that may help.

A place in the line is held from the moment at which a request may be sent until its end, and never over a pause, nor
while the breaker is shut. How long one question takes, but for its waits for a place, is bounded: outage_s in line at a
judge that is down, and (retries + 1) × timeout_s + retries × 2 × backoff_s.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rewarden.errors import MissingDependency, ProviderError, ProviderRefused
from rewarden_server.engine.lanes.resizable_semaphore import ResizableSemaphore
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.spending import spend
from rewarden_server.judges.breaker import Breaker, Caller, OutageError, Turn
from rewarden_server.judges.budget import Budget
from rewarden_server.judges.failure import Failure, timed_out
from rewarden_server.judges.pace import Pace
from rewarden_server.judges.price import bound
from rewarden_server.judges.provider import OpenAIProvider, Provider
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_server.judges.vendors import LiteLLMProvider
from rewarden_server.observe.telemetry.span import current, within
from rewarden_verifiers.chat import Question, Reply, Usage

_FIRST_PAUSE_S = 0.5
_FORMS = 8
"""The number of refused forms, each for another field, that are not counted as attempts: more than there are forms."""


class _SidelinedError(Exception):
    """The breaker shut before the request was sent: the question goes back into the breaker's line."""


class Endpoint:
    """See the module. `settings` is the judge's configuration. provider, pause (awaits so many seconds), clock
    (seconds) and chance (0 to 1) are those of tests."""

    def __init__(
        self,
        name: str,
        settings: JudgeEndpoint,
        observer: Observer,
        *,
        provider: Provider | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self.settings = settings
        self._observer = observer
        self._provider = provider or provider_of(name, settings)
        self._pause = pause
        self._clock = clock
        self._chance = chance
        self._line = ResizableSemaphore(settings.concurrency)
        self._pace = Pace(name, settings)
        self._budget = Budget(name, settings)
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_s, settings.outage_s, clock, pause)
        self._took = {"attempts": 0, "failures": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._cost_usd = 0.0
        self._last: Failure | None = None
        self._closed = False

    async def ask(self, question: Question, *, patient: bool = True) -> Reply:
        """The reply, after as many attempts as are allowed. patient: it waits while the judge is down; else only for
        the probe that is under way.

        Raises ProviderError (kind `breaker` only where it is not patient), BudgetExhausted, MissingDependency.
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
            if failure.kind == "form" and forms < _FORMS:
                forms += 1
                continue
            caller.failures += not failure.answered
            pause = self._pause_before(retries, failure)
            if pause is None:
                kind = ProviderRefused if failure.kind in ("rejected", "forbidden") else ProviderError
                raise kind(f"judge {self.name!r}: {failure}", judge=self.name, kind=failure.kind)
            self._observer.judge_retried(self.name)
            await self._pause(pause)
            retries += 1

    def status(self) -> dict[str, Any]:
        """Returns the state and the spending, ready for JSON, without address, key, or the server's own words."""
        settings = self.settings
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
            "structured": self._provider.wire.structured,
            "not_sent": sorted(self._provider.wire.dropped),
            "last_failure": self._last.kind if self._last is not None else None,
        }

    async def close(self) -> None:
        """Send away who waits, and let go of connections."""
        self._closed = True
        self._breaker.dissolve(self._refusal)
        self._line.dissolve(self._refusal)
        self._pace.dissolve()
        await self._provider.close()

    def _pause_before(self, retries: int, failure: Failure) -> float | None:
        """Seconds until the next attempt; None where there is none."""
        longest = self.settings.backoff_s
        if not failure.passing or failure.kind == "form" or retries >= self.settings.retries:
            return None
        asked = failure.pause_s or 0.0
        if asked > longest:
            if failure.answered:
                return None  # longer than anybody should wait here: the caller may come again
            asked = longest  # a server that is down knows no better than the probes when it is back
        # Full jitter: many that failed at once do not come back at once. A server's own wish is its floor.
        return asked + self._chance() * min(longest, math.ldexp(_FIRST_PAUSE_S, retries))

    async def _attempt(self, question: Question, most: Usage, caller: Caller, *, again: bool) -> Reply:
        """The reply of one attempt, when it is this question's turn. Raises Failure, OutageError."""
        while True:
            self._admit()
            turn = await self._breaker.enter(caller)
            try:
                async with self._line.turn(first=again or turn.probe):
                    if not await self._pace.keep(question):
                        raise self._refusal() if self._closed else _SidelinedError
                    await self._budget.reserve(most)
                    with within(current().child("judge request", kind="client", judge=self.name)) as span:
                        try:
                            reply = await self._sent(question, most, turn)
                        except Failure as failure:
                            span.note(failure=failure.kind)
                            raise
                        used = reply.usage
                        span.note(prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens)
                        return reply
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
        """The error of a question that left the line of a judge that is down. Another's failure is told without the
        server's words, which may repeat another's text."""
        last = own or self._last
        assert last is not None
        said = f"the last failure: {last if last is own else last.brief}"
        if not caller.patient:
            return ProviderError(f"judge {self.name!r} is down, {said}", judge=self.name, kind="breaker")
        message = f"judge {self.name!r} was down for longer than outage_s ({self.settings.outage_s:g} s), {said}"
        return ProviderError(message, judge=self.name, kind=last.kind)

    async def _sent(self, question: Question, most: Usage, turn: Turn) -> Reply:
        """The reply of one attempt, whose bound is set aside. Raises Failure."""
        used: Usage | None = None
        started = self._clock()
        try:
            await self._provider.ready()
            if self._closed:
                raise self._refusal()
            if not self._breaker.begin(turn):
                raise _SidelinedError
            used = most  # whoever leaves now, or breaks: the model may work on it
            try:
                async with asyncio.timeout(self.settings.timeout_s):
                    reply = await self._provider.complete(question)
            except TimeoutError:
                raise timed_out(self.settings.timeout_s) from None
            used = reply.usage
            self._breaker.succeeded()
            self._observer.judge_attempted(self.name, "ok", self._clock() - started)
            return reply
        except MissingDependency:
            used = None
            raise
        except Failure as failure:
            used = most if failure.spent else Usage()
            self._failed(failure, turn, self._clock() - started)
            raise
        finally:
            self._budget.settle(most, used)
            self._count(used)

    def _failed(self, failure: Failure, turn: Turn, seconds: float) -> None:
        self._observer.judge_attempted(self.name, failure.kind, seconds)
        if failure.kind != "form":
            self._took["failures"] += 1
            self._last = failure
        if failure.answered:
            self._breaker.succeeded()
        elif self._breaker.failed(turn):
            # Who waits for a place or for the pace waits for the judge now.
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
