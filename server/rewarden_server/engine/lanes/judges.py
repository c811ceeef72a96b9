"""The lane of judges: questions to the endpoint that is to answer them, equal ones once.

A reply is remembered by all that made it: the rendered messages, the judge's name and model, the sampling in force,
and which of several samples it is. What was asked by one caller and is under way is shared by all who ask the same; it
ends only when nobody waits any more.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rewarden.errors import BudgetExhausted, InvalidParams, MissingDependency, ProviderError, SampleError
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.place import leave_place
from rewarden_server.engine.settings import JudgeEndpoint, JudgeSettings
from rewarden_server.judges.endpoint import Endpoint
from rewarden_server.judges.identity import default_judge, identity
from rewarden_server.judges.replies import Replies
from rewarden_verifiers.chat import Question, Reply
from rewarden_verifiers.fingerprint import canonical

Made = Callable[[str, JudgeEndpoint, Observer], Endpoint]


@dataclass(slots=True)
class _Flight:
    """A question that is under way. claimed: somebody has the reply as the one who paid for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0
    claimed: bool = False


class JudgeLane:
    """A `rewarden_verifiers.chat.Judge`. `endpoint` makes the endpoint of a judge."""

    def __init__(self, settings: JudgeSettings, observer: Observer | None = None, *, endpoint: Made = Endpoint) -> None:
        self._observer = observer or Observer()
        self._endpoints = {name: endpoint(name, made, self._observer) for name, made in settings.named.items()}
        self._default = default_judge(settings)
        self._replies = Replies(settings.cache_mb * 1024**2)
        self._under_way: dict[bytes, _Flight] = {}
        self._closed = False

    async def ask(self, question: Question, judge: str | None = None) -> Reply:
        """See `Judge.ask`. The fallbacks are those of the judge that is named; theirs are not looked at, so that a
        chain is as long as it is written."""
        first = self._endpoint(judge)
        errors: list[SampleError] = []
        for name in (first.name, *first.settings.fallback):
            try:
                reply = await self._remembered(self._endpoints[name], question)
            except (ProviderError, BudgetExhausted, MissingDependency) as error:
                # Without its package a judge cannot be reached either; the doctor tells, and so does the reply.
                self._observer.judge_asked(name, "exhausted" if isinstance(error, BudgetExhausted) else "failed")
                errors.append(error)
                continue
            return reply if name == first.name else replace(reply, fallback=True)
        raise _of_chain(errors)

    def status(self) -> dict[str, Any]:
        """JSON-ready: by judge, whether it is asked, what it has taken, and what is left of its budget."""
        return {name: endpoint.status() for name, endpoint in self._endpoints.items()}

    async def close(self) -> None:
        """Cancel what is under way, and let go of connections."""
        self._closed = True
        tasks = [flight.task for flight in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints.values()))

    def _endpoint(self, judge: str | None) -> Endpoint:
        name = judge or self._default
        if name is not None and name in self._endpoints:
            return self._endpoints[name]
        known = ", ".join(self._endpoints) or "none: give the server a [judges.named.NAME] with base_url and model"
        said = "no judge is named, and the server has no default" if name is None else f"there is no judge {name!r}"
        raise InvalidParams(f"params.judge: {said}; configured: {known}", path="params.judge")

    async def _remembered(self, endpoint: Endpoint, question: Question) -> Reply:
        key = _key(endpoint, question)
        known = self._replies.get(key)
        if known is not None:
            self._observer.judge_asked(endpoint.name, "cached")
            return replace(known, cached=True)
        if self._closed:
            raise _stopped(endpoint.name)
        leave_place()
        flight = self._under_way.get(key)
        if flight is None:
            flight = self._under_way[key] = _Flight(asyncio.create_task(endpoint.ask(question)))
            flight.task.add_done_callback(lambda done: self._ended(key, done))
        return await self._shared(endpoint.name, key, flight)

    async def _shared(self, name: str, key: bytes, flight: _Flight) -> Reply:
        """The reply of a question that is under way: paid for by the first who has it, remembered to the others."""
        flight.waiting += 1
        try:
            reply = await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if flight.task.cancelled() and current is not None and not current.cancelling():
                raise _stopped(name) from None  # the lane was closed, not the caller
            self._observer.judge_asked(name, "left")
            raise
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                if self._under_way.get(key) is flight:
                    del self._under_way[key]
                flight.task.cancel()
        cached, flight.claimed = flight.claimed, True
        self._observer.judge_asked(name, "coalesced" if cached else "answered")
        return replace(reply, cached=True) if cached else reply

    def _ended(self, key: bytes, task: asyncio.Task[Reply]) -> None:
        flight = self._under_way.get(key)
        if flight is not None and flight.task is task:
            del self._under_way[key]
        if not task.cancelled() and task.exception() is None:
            self._replies.put(key, task.result())


def _of_chain(errors: list[SampleError]) -> SampleError:
    """The error of a chain of which nobody answered: one that may pass where there is one, with what all said."""
    chosen = next((error for error in errors if error.retryable), errors[-1])
    if len(errors) == 1:
        return chosen
    return type(chosen)("; ".join(error.message for error in errors), **chosen.details)


def _stopped(judge: str) -> ProviderError:
    return ProviderError(f"judge {judge!r}: the server stops", judge=judge, kind="closed")


def _key(endpoint: Endpoint, question: Question) -> bytes:
    return hashlib.blake2b(
        canonical([endpoint.name, identity(endpoint.settings), question]).encode(), digest_size=20
    ).digest()
