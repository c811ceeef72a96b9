"""Batches: all samples arrive at once, and all verdicts are returned together, in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from rewarden.errors import RequestError
from rewarden.types import BadSample, Batch, BatchResult, Group, Sample, Verdict
from rewarden_server.engine import expectation
from rewarden_server.engine.admission import Admission, weight
from rewarden_server.engine.parts import Parts
from rewarden_server.engine.scope import Scope
from rewarden_server.observe.telemetry.span import current, within
from rewarden_verifiers.boxes import LiveBox

_CHUNK = 256
"""Samples that the thread plans at a time, before the loop has a turn."""

_DIRECT = 32
"""Batches up to this size are planned on the loop, because the switch to the thread would take longer."""

_DIRECT_BYTES = 256 * 1024


class Batches:
    """Judges batches. Large ones are planned on a thread, so that the loop stays responsive."""

    def __init__(self, parts: Parts, admission: Admission) -> None:
        self._parts = parts
        self._admission = admission
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rewarden-inline")

    def close(self) -> None:
        """Ends the thread."""
        self._thread.shutdown(wait=True)

    async def judge(self, batch: Batch, source: str, box: LiveBox | None = None) -> BatchResult:
        """Returns the verdicts of a batch; see `Engine.verify`."""
        with within(current().child("batch", source=source, samples=len(batch.samples))):
            return await self._judge(batch, source, box)

    async def _judge(self, batch: Batch, source: str, box: LiveBox | None) -> BatchResult:
        start = time.monotonic()
        samples = batch.samples
        size = sum(map(weight, samples))
        self._admission.admit(source, len(samples), size)
        verdicts: list[Verdict | None] = [None] * len(samples)
        groups: list[Group] = []
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = len(samples)

        def emit(item: Verdict | Group) -> None:
            nonlocal left
            if isinstance(item, Group):
                groups.append(item)
                return
            verdicts[item.index] = item
            left -= 1
            if left == 0 and not ended.done():
                ended.set_result(None)

        def stopped(error: RequestError) -> None:
            if not ended.done():
                ended.set_exception(error)

        scope = Scope(self._parts, batch, emit, stopped, box=box)
        self._admission.enter(scope)
        try:
            expectation.check_use(batch, self._parts.planner)
            expectation.check(batch, self._parts.planner)
            scope.note_many(samples)
            if len(samples) <= _DIRECT and size <= _DIRECT_BYTES:
                scope.dispatch_many(scope.plan_many(0, samples))
            else:
                await self._plan_in_pieces(scope, samples)
            scope.finish()
            if left:
                await ended
        except RequestError as error:
            self._parts.observer.refused(source, error.code)
            raise
        finally:
            if left:
                scope.cancel()
            scope.close()
            self._admission.leave(scope)
            self._admission.release(len(samples), size)
        self._parts.observer.batch(source, time.monotonic() - start, len(samples))
        names = dict.fromkeys(sample.group for sample in samples if isinstance(sample, Sample))
        order = {name: place for place, name in enumerate(names)}
        groups.sort(key=lambda group: order[group.group])
        return BatchResult(verdicts=[verdict for verdict in verdicts if verdict is not None], groups=groups)

    async def _plan_in_pieces(self, scope: Scope, samples: Sequence[Sample | BadSample]) -> None:
        loop = asyncio.get_running_loop()
        for first in range(0, len(samples), _CHUNK):
            if not scope.unfinished:
                return  # the deadline has passed
            piece = samples[first : first + _CHUNK]
            scope.dispatch_many(await loop.run_in_executor(self._thread, scope.plan_many, first, piece))
