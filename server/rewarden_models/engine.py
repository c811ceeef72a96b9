"""A model that runs tasks: prepared in a few threads, computed in the device's thread, with swappable weights."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from rewarden_models.device import thread_of
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.forward import Forward
from rewarden_models.loading import Loaded
from rewarden_models.memory import is_out_of_memory
from rewarden_models.scheduler import Scheduler
from rewarden_models.tasks import Prepared, prepare
from rewarden_models.writing import Writer
from rewarden_verifiers.inference import About, Task, Write

_PREPARING = 64
"""Tasks in the preparing threads at once; the others wait in order. Prepared tasks take memory."""

_PREPARERS = 2
"""Threads that render and tokenise. Tokenizers release the interpreter's lock."""

_TURN_S = 0.05
"""Seconds for which a writer steps before other work on the device has its turn."""


class _Weights:
    """A loaded model and what runs it. Dropped as a whole when the last task that began with it has ended."""

    def __init__(self, loaded: Loaded, settings: ModelEndpoint) -> None:
        self.loaded = loaded
        self.forward = Forward(loaded)
        self.writer: Writer | None = None
        self.writing: asyncio.Task[None] | None = None
        self._settings = settings

    def opened(self) -> Writer:
        """Its writer, created on first use."""
        if self.writer is None:
            self.writer = Writer(self.loaded, self._settings)
        return self.writer


class ModelEngine:
    """Runs the tasks of one configured model. Created and used on one event loop.

    thread: where torch computes; None: the thread of the model's device, which all models there share.
    """

    def __init__(self, name: str, settings: ModelEndpoint, loaded: Loaded, thread: Executor | None = None) -> None:
        self._name = name
        self._settings = settings
        self._weights = _Weights(loaded, settings)
        self._thread = thread or thread_of(loaded.device, settings.threads)
        self._pool = ThreadPoolExecutor(_PREPARERS, thread_name_prefix=f"prepare-{name}")
        self._places = asyncio.Semaphore(_PREPARING)
        self._scheduler = Scheduler(
            self._thread,
            tokens=settings.batch_tokens,
            latency_s=settings.latency_ms / 1000,
            share=settings.prefix,
            on_cpu=loaded.device.startswith("cpu"),
        )
        self._preparing = 0
        self._closed = False
        self._writings: set[asyncio.Task[None]] = set()

    async def run(self, task: Task[Any]) -> Any:
        """The task's result. Raises Failure. If the caller is cancelled, whatever has not begun is dropped."""
        if self._closed:
            raise Failure("stopped", f"model {self._name!r} is closed")
        async with self._places:
            # Read here, after the wait: queued tasks use the newest weights.
            weights = self._weights
            self._preparing += 1
            try:
                prepared: Prepared = await asyncio.get_running_loop().run_in_executor(
                    self._pool, prepare, weights.loaded, task
                )
            finally:
                self._preparing -= 1
        if isinstance(task, Write):
            return prepared.finish(await self._write(weights, task, prepared))
        return prepared.finish(await self._scheduler.run(weights.forward, prepared.rows))

    def about(self) -> About:
        """The facts about the model, as it is now."""
        return self._weights.loaded.about

    def swap(self, loaded: Loaded) -> None:
        """Use these weights from now on. Tasks that are already prepared finish with the old weights and report the old
        version; then the old weights are freed. Raises Failure (`unsupported`) for a model that cannot do what this one
        can, since every use that relies on it would fail from now on."""
        if not set(self._weights.loaded.kinds) <= set(loaded.kinds):
            had, has = ", ".join(self._weights.loaded.kinds), ", ".join(loaded.kinds)
            raise Failure("unsupported", f"model {self._name!r} can {had}; the new one can {has}: the old one is kept")
        self._weights = _Weights(loaded, self._settings)

    def status(self) -> dict[str, Any]:
        """JSON-ready: what waits, what was done with the current weights, and how fast. Shares are fractions of 1."""
        weights, scheduled = self._weights, self._scheduler.status()
        tally = weights.forward.tally
        places = tally.tokens + tally.padding
        busy = self._scheduler.counts.busy_s
        return {
            **scheduled,
            "preparing": self._preparing,
            "rows": tally.rows,
            "tokens": tally.tokens,
            "passes": tally.passes,
            "pass_tokens": weights.forward.overhead,
            "padding_share": round(tally.padding / places, 4) if places else 0.0,
            "shared_tokens": tally.shared,
            "tokens_per_s": round((tally.tokens + tally.shared) / busy, 1) if busy else 0.0,
            "writer": weights.writer.status() if weights.writer is not None else None,
        }

    def close(self) -> None:
        """Release everything; waiting tasks fail with `stopped`. A computation in progress runs to its end, and its
        result is dropped."""
        self._closed = True
        self._scheduler.close()
        for writing in self._writings:
            writing.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _write(self, weights: _Weights, task: Write, prepared: Prepared) -> Any:
        row = prepared.rows[0]
        future = weights.opened().add(task, row.ids, row.pixels)
        if weights.writing is None:
            weights.writing = asyncio.get_running_loop().create_task(self._step(weights))
            self._writings.add(weights.writing)
            weights.writing.add_done_callback(self._writings.discard)
        return await asyncio.wrap_future(future)

    async def _step(self, weights: _Weights) -> None:
        """Run the writer's turns in the torch thread until it has nothing to do."""
        loop, writer = asyncio.get_running_loop(), weights.opened()
        try:
            while writer.busy:
                await loop.run_in_executor(self._thread, _turn, writer)
        except asyncio.CancelledError:
            stopped = Failure("stopped", f"model {self._name!r} is closed")
            self._thread.submit(writer.fail, stopped)
            raise
        finally:
            weights.writing = None


def _turn(writer: Writer) -> None:
    """Step for a while. If a step raises, the texts in progress fail, but no later ones."""
    end = time.monotonic() + _TURN_S
    try:
        while writer.step() and time.monotonic() < end:
            pass
    except Exception as error:  # noqa: BLE001 - torch and models raise anything
        said = f"the model failed during generation: {type(error).__name__}"
        writer.fail(Failure("memory" if is_out_of_memory(error) else "failed", said))
