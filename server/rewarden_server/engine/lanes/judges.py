"""The lane of judges: sends questions to their endpoints, equal questions once.

The key of a reply contains everything that produced it: the rendered messages, the judge's name and model, the sampling
in force, and the number of the sample (`in_flight_cache.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rewarden.errors import BudgetExhausted, InvalidParams, MissingDependency, ProviderError, SampleError
from rewarden_server.engine.lanes.in_flight_cache import OVERHEAD, InFlightCache
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.orchestrator_slots import leave_slot
from rewarden_server.judges.endpoint import Endpoint
from rewarden_server.judges.identity import default_judge, identity
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.chat import Question, Reply

Made = Callable[[str, JudgeEndpoint, Observer], Endpoint]


class JudgeLane:
    """A `rewarden_verifiers.chat.Judge`. `endpoint` makes the endpoint of a judge."""

    def __init__(self, settings: JudgeSettings, observer: Observer | None = None, *, endpoint: Made = Endpoint) -> None:
        self._observer = observer or Observer()
        self._endpoints = {name: endpoint(name, made, self._observer) for name, made in settings.named.items()}
        self._default = default_judge(settings)
        self._flights: InFlightCache[Reply] = InFlightCache(settings.cache_mb * 1024**2, _weight)

    async def ask(self, question: Question, judge: str | None = None) -> Reply:
        """See `Judge.ask`. Only the fallbacks of the named judge are used, and not their own fallbacks, so that the
        chain is as long as configured."""
        first = self._endpoint(judge)
        errors: list[SampleError] = []
        chain = (first.name, *first.settings.fallback)
        for name in chain:
            try:
                reply = await self._answered(self._endpoints[name], question, last=name == chain[-1])
            except (ProviderError, BudgetExhausted, MissingDependency) as error:
                # Without its package, a judge cannot be reached either; the doctor and the reply report that.
                self._observer.judge_asked(name, "exhausted" if isinstance(error, BudgetExhausted) else "failed")
                errors.append(error)
                continue
            return replace(reply, fallback=name != first.name, weak=self._endpoints[name].settings.weak)
        raise _of_chain(errors)

    async def spare(self, question: Question, judge: str | None = None) -> int | None:
        """See `Judge.spare`."""
        first = self._endpoint(judge)
        spare = await first.spare(question)
        if spare is None:
            return None
        others = [await self._endpoints[name].spare(question) for name in first.settings.fallback]
        return min([spare, *(one for one in others if one is not None)])

    def status(self) -> dict[str, Any]:
        """Returns each judge's activity, spending and remaining budget; ready for JSON."""
        return {name: endpoint.status() for name, endpoint in self._endpoints.items()}

    async def close(self) -> None:
        """Cancels work in progress, and closes the connections."""
        await self._flights.close()
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints.values()))

    def _endpoint(self, judge: str | None) -> Endpoint:
        name = judge or self._default
        if name is not None and name in self._endpoints:
            return self._endpoints[name]
        known = ", ".join(self._endpoints) or "none; add a [judges.named.NAME] with base_url and model"
        said = "no judge is named, and the server has no default" if name is None else f"unknown judge {name!r}"
        raise InvalidParams(f"params.judge: {said}; configured: {known}", path="params.judge")

    async def _answered(self, endpoint: Endpoint, question: Question, *, last: bool) -> Reply:
        """Returns the reply of one judge. last: it has no fallback, so the question waits while the judge is down."""
        while True:
            try:
                return await self._remembered(endpoint, question, patient=last)
            except ProviderError as error:
                # A caller with a fallback asked the same at the same time, and did not wait.
                if not (last and error.details.get("kind") == "breaker"):
                    raise

    async def _remembered(self, endpoint: Endpoint, question: Question, *, patient: bool) -> Reply:
        name, key = endpoint.name, _key(endpoint, question)
        known = self._flights.known(key)
        if known is not None:
            self._observer.judge_asked(name, "cached")
            return replace(known, cached=True)
        leave_slot()
        reply, cached = await self._flights.shared(
            key,
            lambda: endpoint.ask(question, patient=patient),
            note=lambda how: self._observer.judge_asked(name, how),
            stopped=lambda: ProviderError(f"judge {name!r}: the server is stopping", judge=name, kind="closed"),
        )
        return replace(reply, cached=True) if cached else reply


def _of_chain(errors: list[SampleError]) -> SampleError:
    """Returns the error for a chain of judges without an answer: a transient one if there is one, with all messages."""
    chosen = next((error for error in errors if error.retryable), errors[-1])
    if len(errors) == 1:
        return chosen
    return type(chosen)("; ".join(error.message for error in errors), **chosen.details)


def _weight(reply: Reply) -> int:
    called = sum(len(call.name) + len(call.arguments) + OVERHEAD for call in reply.calls)
    return OVERHEAD + 2 * (len(reply.text) + called) + 100 * len(reply.alternatives)


def _key(endpoint: Endpoint, question: Question) -> bytes:
    return hashlib.blake2b(
        canonical([endpoint.name, identity(endpoint.settings), question]).encode(), digest_size=20
    ).digest()
