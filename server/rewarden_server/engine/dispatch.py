"""Dispatch: sends pure work to a lane of workers, unless its outcome is known or the same work is in progress."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from rewarden.types import Outcome
from rewarden_server.engine.cache import Cache, cacheable, content_key
from rewarden_server.engine.cache_redis import RedisCache
from rewarden_server.engine.lanes.cpu import CpuLane
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.plan import Plan
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.engine.work import Result, Waiter, Work

WARM_QUERIES = ("sql",)
"""Verifiers that the fork server of the query workers loads before it forks, once the first of them is used."""

_LOOKED_UP_BYTES = 1024
"""The size that an outcome from the shared cache counts in this process's cache, because it is not measured again."""


class Dispatch:
    """The caches, the work in flight, and the lanes `cpu` and `queries`. All methods run on the engine's loop."""

    def __init__(self, settings: EngineSettings, observer: Observer, warm: Sequence[str]) -> None:
        self._observer = observer
        self.cache = (
            Cache(settings.cache_entries, settings.cache_bytes, settings.cache_dir, observer)
            if settings.cache
            else None
        )
        self._shared = (
            RedisCache.of(settings, observer) if settings.cache and settings.cache_redis is not None else None
        )
        self._in_flight: dict[bytes, Work] = {}
        self._cpu = CpuLane(settings, observer, self._done, warm)
        self._queries = CpuLane(settings.for_queries(), observer, self._done, WARM_QUERIES, "queries")

    async def start(self) -> None:
        """Forks the cpu workers now; otherwise they are forked at the first use."""
        await self._cpu.start()

    def begin(self) -> None:
        """Like `start`, without waiting."""
        self._cpu.begin()

    async def close(self) -> None:
        """Ends the workers and writes the cache's pending entries."""
        if self._shared is not None:
            await self._shared.close()  # work that waits for a look-up goes to the lanes
        await asyncio.gather(self._cpu.close(), self._queries.close())
        if self.cache is not None:
            self.cache.close()

    def info(self) -> dict[str, Any]:
        """Returns the state of caches and lanes, ready for JSON."""
        return {
            "cache_entries": len(self.cache) if self.cache is not None else 0,
            "cache_shared": None if self._shared is None else "away" if self._shared.away else "ready",
            "lanes": {"cpu": self._cpu.info(), "queries": self._queries.info()},
        }

    def request(self, plan: Plan, waiter: Waiter) -> None:
        """Has the work of a plan done; `waiter` receives its result."""
        use = plan.use
        key: bytes | None = None
        if use.spec.determinism != "stateful":
            with contextlib.suppress(RecursionError):  # too deep to serialise: the lane refuses it
                key = content_key(use.ref.fingerprint, plan.op, plan.arguments, plan.reference_key)
        if key is not None:
            if self.cache is not None and plan.op == "verify":
                known = self.cache.get(key)
                if known is not None:
                    waiter.tell(Result(outcome=known, cached=True))
                    return
            under_way = self._in_flight.get(key)
            if under_way is not None:
                under_way.waiters.append(waiter)
                return
        work = Work(use, plan.op, plan.arguments, key, plan.reference_key, [waiter])
        if key is not None:
            self._in_flight[key] = work
            if self.cache is not None and plan.op == "verify":
                if self._shared is not None and self._shared.ask(key, lambda known: self._looked_up(work, known)):
                    return
                self._observer.cache_missed()
        self._submit(work)

    def _submit(self, work: Work) -> None:
        (self._queries if work.use.spec.blocking else self._cpu).submit(work)

    def _looked_up(self, work: Work, known: Outcome | None) -> None:
        """Ends or submits work that waited for the shared cache's answer."""
        if known is None:
            self._observer.cache_missed()
            self._submit(work)
            return
        self._observer.cache_hit("redis")
        assert work.key is not None
        self._land(work)
        if self.cache is not None:
            self.cache.put(work.key, known, _LOOKED_UP_BYTES)
        work.tell(Result(outcome=known, cached=True))

    def _done(self, work: Work, result: Result, size: int) -> None:
        if work.key is not None:
            self._land(work)
            outcome = result.outcome
            if outcome is not None and self.cache is not None and cacheable(work.use.spec, outcome):
                self.cache.put(work.key, outcome, size)
                if self._shared is not None and work.op == "verify":
                    self._shared.put(work.key, outcome)
        work.tell(result)

    def _land(self, work: Work) -> None:
        assert work.key is not None
        if self._in_flight.get(work.key) is work:
            del self._in_flight[work.key]
