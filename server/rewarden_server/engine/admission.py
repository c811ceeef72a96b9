"""Admission: how much work is in progress, whether more fits, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

from rewarden.errors import Overloaded, RequestError, Unavailable
from rewarden.types import BadSample, Sample
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.settings import EngineSettings


class Stoppable(Protocol):
    """Work that a draining engine waits for, and stops after the drain time."""

    def stop(self, error: RequestError) -> None:
        """Ends the work; its callers get the error."""


class Admission:
    """Counts samples and their bytes in and out, and holds the work that the engine waits for when it drains."""

    def __init__(self, settings: EngineSettings, observer: Observer) -> None:
        self.samples = 0
        self.bytes = 0
        self._settings = settings
        self._observer = observer
        self._under_way: set[Stoppable] = set()
        self._runs = 0
        self._waiting: set[Callable[[], None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._started = False
        self._draining = False

    @property
    def ready(self) -> bool:
        """True while work is admitted."""
        return self._started and not self._draining

    def start(self) -> None:
        """Starts admitting work."""
        self._started = True

    async def drain(self, seconds: float) -> None:
        """Admits no more work, and waits at most this many seconds for work in progress; then stops it."""
        self._draining = True
        if self._idle.is_set():
            return
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            for work in list(self._under_way):
                work.stop(Unavailable("the server stopped before this was finished", retry_after_s=1.0))

    # --- room ---------------------------------------------------------------------------------------------------

    def admit(self, source: str, samples: int, size: int) -> None:
        """Counts work in. Raises Unavailable, or Overloaded if it does not fit beside the work in progress."""
        with self._refusals(source):
            self._check_room(samples, size)
        self.count_in(source, samples, size)

    def check_ready(self) -> None:
        """Raises Unavailable unless work is admitted."""
        if not self.ready:
            raise Unavailable("the server is draining" if self._draining else "the engine is not started")

    def fits(self, samples: int, size: int) -> bool:
        """Returns True if work of this size fits beside the work in progress."""
        settings = self._settings
        return self.samples + samples <= settings.max_samples and self.bytes + size <= settings.max_bytes

    def count_in(self, source: str, samples: int, size: int) -> None:
        """Counts work in, whether or not it fits."""
        self.samples += samples
        self.bytes += size
        self._observer.admitted(source, samples)

    def release(self, samples: int, size: int) -> None:
        """Counts work out, and calls the callbacks that wait for room."""
        self.samples -= samples
        self.bytes -= size
        waiting, self._waiting = self._waiting, set()
        for wake in waiting:
            wake()

    def wait_for_room(self, wake: Callable[[], None]) -> None:
        """Calls `wake` at the next release."""
        self._waiting.add(wake)

    def _check_room(self, samples: int, size: int) -> None:
        self.check_ready()
        if not self.fits(samples, size):
            raise Overloaded(
                f"{self.samples} samples ({self.bytes} bytes) are in progress, and {samples} more do not fit; "
                "retry later, or send smaller batches or a stream",
                retry_after_s=1.0,
            )

    @contextlib.contextmanager
    def _refusals(self, source: str) -> Iterator[None]:
        try:
            yield
        except RequestError as error:
            self._observer.refused(source, error.code)
            raise

    # --- work under way -----------------------------------------------------------------------------------------

    def enter(self, work: Stoppable) -> None:
        """Registers work until `leave`: draining waits for it."""
        self._under_way.add(work)
        self._idle.clear()

    def leave(self, work: Stoppable) -> None:
        """Unregisters work that has ended. Leaving twice has no effect."""
        self._under_way.discard(work)
        self._rest()

    @contextlib.contextmanager
    def running(self, source: str, size: int, programs: int = 1) -> Iterator[None]:
        """Counts programs of this many bytes in total in and out; draining waits for them. Raises Overloaded or
        Unavailable."""
        with self._refusals(source):
            self._check_room(programs, size)
            self.samples += programs
            self.bytes += size
            self._runs += 1
            self._idle.clear()
            try:
                yield
            finally:
                self._runs -= 1
                self.release(programs, size)
                self._rest()

    def _rest(self) -> None:
        if not self._under_way and not self._runs:
            self._idle.set()


def weight(sample: Sample | BadSample) -> int:
    """Returns the approximate number of bytes that a sample takes."""
    if isinstance(sample, BadSample):
        return 256
    size = 512
    for text in (sample.response, sample.prompt):
        if isinstance(text, str):
            size += len(text)
        elif text is not None:
            size += sum(len(content) for message in text if isinstance(content := message.get("content"), str))
    return size
