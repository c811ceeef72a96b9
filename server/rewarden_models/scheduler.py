"""Rows that wait for the torch thread and go through it in batches, which are chosen whenever it becomes free."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from rewarden_models.batches import family_of, pick
from rewarden_models.failure import Failure
from rewarden_models.forward import Forward, finite
from rewarden_models.memory import Budget, end_process, free_cache, is_device_lost, is_out_of_memory
from rewarden_models.prefix import plan
from rewarden_models.row import Output, Row

_log = logging.getLogger(__name__)

_CPU_TOKENS = 4096
"""The most tokens of a batch on a CPU. Larger batches are no faster there and delay whatever arrives meanwhile."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A row and the futures that wait for its output: several if equal rows were requested."""

    row: Row
    forward: Forward
    since: float
    key: object | None
    waiters: list[asyncio.Future[Output]] = field(default_factory=list)
    family: object | None = None

    @property
    def ids(self) -> list[int]:
        return self.row.ids


@dataclass(slots=True)
class Counts:
    """Totals since the start. batches; busy_s: seconds of computing; ooms: batches that did not fit into memory;
    splits: batches that were repeated in parts after a failure; equal: rows that shared the output of an equal one."""

    batches: int = 0
    busy_s: float = 0.0
    ooms: int = 0
    splits: int = 0
    equal: int = 0


class Scheduler:
    """Runs rows of one model. Created and used on one event loop; computes on `thread`.

    tokens: of a batch, see `Budget`. latency_s: how long an incomplete batch waits for more rows while the thread is
    idle. share: whether the prefixes of siblings are computed once.
    """

    def __init__(self, thread: Executor, *, tokens: int, latency_s: float, share: bool, on_cpu: bool) -> None:
        self.counts = Counts()
        self._thread = thread
        self._budget = Budget(min(tokens, _CPU_TOKENS) if on_cpu else tokens)
        self._latency_s = latency_s
        self._share = share
        self._waiting: list[_Waiting] = []
        self._known: dict[object, _Waiting] = {}
        self._tokens = 0
        self._came = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    async def run(self, forward: Forward, rows: Sequence[Row]) -> list[Output]:
        """The outputs of these rows, once all are there. Raises Failure: `memory` for a row that does not fit even
        alone, `not_finite`, `failed`, `stopped`. A cancelled caller's rows are not started unless someone else waits
        for them."""
        if self._closed:
            raise Failure("stopped", "the model's process is stopping")
        futures = [self._put(forward, row) for row in rows]
        try:
            return list(await asyncio.gather(*futures))
        finally:
            for future in futures:
                future.cancel()
                if future.done() and not future.cancelled():
                    future.exception()  # only one of several failures is raised; mark the others as retrieved

    def close(self) -> None:
        """Fail everything that waits with `stopped`."""
        self._closed = True
        self._drop(Failure("stopped", "the model's process is stopping"))
        if self._running is not None:
            self._running.cancel()

    def status(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "waiting_rows": len(self._waiting),
            "waiting_tokens": self._tokens,
            "batch_tokens": self._budget.tokens,
            "batches": self.counts.batches,
            "busy_s": round(self.counts.busy_s, 3),
            "ooms": self.counts.ooms,
            "splits": self.counts.splits,
            "equal_rows": self.counts.equal,
        }

    def _put(self, forward: Forward, row: Row) -> asyncio.Future[Output]:
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        key = None if row.pixels else (id(forward), *_key(row))
        entry = self._known.get(key) if key is not None else None
        if entry is None:
            entry = _Waiting(row, forward, time.monotonic(), key)
            entry.family = family_of(row.ids) if self._share and not row.pixels else None
            self._waiting.append(entry)
            self._tokens += len(row.ids)
            if key is not None:
                self._known[key] = entry
        else:
            self.counts.equal += 1
        entry.waiters.append(future)
        self._came.set()
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._work())
        return future

    async def _work(self) -> None:
        """Run batch after batch until nothing waits."""
        try:
            while self._waiting:
                await self._gather()
                if self._waiting:
                    await self._batch()
        except Exception:  # noqa: BLE001 - a defect here must not leave anyone waiting forever
            _log.exception("rows could not be batched")
            self._drop(Failure("failed", "the model's process failed to make a batch"))
        finally:
            self._running = None

    async def _gather(self) -> None:
        """Wait for more rows until a batch is full or the oldest row has waited long enough. Time spent waiting for the
        thread counts."""
        while self._waiting and self._tokens < self._budget.tokens:
            left = self._waiting[0].since + self._latency_s - time.monotonic()
            if left <= 0:
                break
            self._came.clear()
            try:
                await asyncio.wait_for(self._came.wait(), left)
            except TimeoutError:
                break
        self._keep([entry for entry in self._waiting if any(not future.done() for future in entry.waiters)])

    def _drop(self, failure: Failure) -> None:
        for entry in self._waiting:
            _fail(entry, failure)
        self._keep([])

    def _keep(self, left: list[_Waiting]) -> None:
        here = set(map(id, left))
        for entry in self._waiting:
            if id(entry) not in here and entry.key is not None:
                self._known.pop(entry.key, None)
        self._waiting = left
        self._tokens = sum(len(entry.ids) for entry in left)

    async def _batch(self) -> None:
        # Tasks from before a swap go through the weights that they were prepared for.
        forward = self._waiting[0].forward
        if not forward.measured:
            await asyncio.get_running_loop().run_in_executor(self._thread, forward.measure, self._budget.tokens)
        same = [entry for entry in self._waiting if entry.forward is forward]
        chosen = pick(same, self._budget.tokens, self._share, forward.overhead)
        gone = set(map(id, chosen))
        self._keep([entry for entry in self._waiting if id(entry) not in gone])
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._compute, forward, chosen)
        try:
            results = await asyncio.shield(work)
        except Exception as error:  # noqa: BLE001 - waiting callers must get an answer, whatever it is
            _log.exception("a batch failed outside the model")
            results = [Failure("failed", f"the model's process failed: {type(error).__name__}")] * len(chosen)
        except asyncio.CancelledError:
            for entry in chosen:
                _fail(entry, Failure("stopped", "the model's process is stopping"))
            raise
        for entry, result in zip(chosen, results, strict=True):
            if isinstance(result, Failure):
                _fail(entry, result)
                continue
            for future in entry.waiters:
                if not future.done():
                    future.set_result(result)

    # In the torch thread

    def _compute(self, forward: Forward, entries: Sequence[_Waiting]) -> list[Output | Failure]:
        start = time.monotonic()
        results = self._attempt(forward, [entry.row for entry in entries])
        self.counts.batches += 1
        self.counts.busy_s += time.monotonic() - start
        return results

    def _attempt(self, forward: Forward, rows: Sequence[Row]) -> list[Output | Failure]:
        """The output of each row, or its failure. A batch that does not fit is halved; one that fails otherwise is run
        row by row, so that a bad row costs no other."""
        try:
            shared = self._share and len(rows) > 1 and not any(row.pixels for row in rows)
            tree = plan([row.ids for row in rows], forward.overhead) if shared else None
            outputs = forward.run(rows, tree if tree is not None and tree.parts else None, self._budget.tokens)
        except Exception as error:  # noqa: BLE001 - torch and models raise anything
            memory, lost, said = is_out_of_memory(error), is_device_lost(error), type(error).__name__
            if not memory and len(rows) == 1:
                _log.warning("a row failed in the model", exc_info=True)
        else:
            return [
                output if finite(output) else Failure("not_finite", "the model's output is not a finite number")
                for output in outputs
            ]
        # Not in the except clause: the exception's traceback holds the failed batch's tensors.
        if lost:
            end_process()
            return [Failure("stopped", f"the device was lost: {said}")] * len(rows)
        if memory:
            self.counts.ooms += 1
            free_cache()
        if len(rows) == 1:
            if memory:
                return [
                    Failure(
                        "memory",
                        f"{len(rows[0].ids)} tokens do not fit into the device's memory, even in a batch alone",
                    )
                ]
            return [Failure("failed", f"the model failed: {said}")]
        self.counts.splits += 1
        if not memory:
            return [result for row in rows for result in self._attempt(forward, [row])]
        self._budget.failed(max(len(row.ids) for row in rows) * len(rows))
        ordered = sorted(range(len(rows)), key=lambda place: len(rows[place].ids))
        made: dict[int, Output | Failure] = {}
        for half in (ordered[: len(rows) // 2], ordered[len(rows) // 2 :]):
            made |= zip(half, self._attempt(forward, [rows[place] for place in half]), strict=True)
        return [made[place] for place in range(len(rows))]


def _key(row: Row) -> tuple[object, ...]:
    targets = None if row.targets is None else tuple(map(tuple, row.targets))
    return (tuple(row.ids), tuple(row.reads), targets, None if row.types is None else tuple(row.types))


def _fail(entry: _Waiting, failure: Failure) -> None:
    for future in entry.waiters:
        if not future.done():
            # Each waiter gets its own: a raised exception collects the tracebacks of everyone who raises it.
            future.set_exception(Failure(failure.kind, failure.message, **failure.details))
