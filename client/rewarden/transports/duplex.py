"""A stream in both directions at once: samples go out while verdicts come in, over whatever carries them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol

from rewarden.errors import DeadlineExceeded, RequestError, Unavailable
from rewarden.types import Group, Sample, Verdict


class PeerClosed(Exception):
    """The server reads no more; `Duplex.receive` says why."""


class Duplex(Protocol):
    """An open stream of one kind of transport."""

    async def send(self, sample: Sample) -> None:
        """Send, waiting for room. Raises PeerClosed, or InvalidRequest for a sample that cannot be written."""

    async def finish(self) -> None:
        """No more samples. Raises PeerClosed."""

    async def receive(self) -> Verdict | Group | None:
        """The next item; None when the server said that all is answered. Raises RequestError."""

    def abort(self) -> None:
        """Break off: a `receive` under way raises Unavailable."""

    async def close(self) -> None:
        """Let go of the connection."""


class Patience:
    """Breaks a stream off when the server alone has been waited for, in silence, for `timeout_s` seconds.

    The clock stands still while our own side is slow: while the next sample is being made (the server may be waiting
    for the rest of a group), and while nobody asks for the next verdict.
    """

    def __init__(self, timeout_s: float | None, duplex: Duplex) -> None:
        self._timeout_s = timeout_s
        self._duplex = duplex
        self._handle: asyncio.TimerHandle | None = None
        self._silent_since: float | None = None
        self.making_sample = False
        self.receiving = False
        self.expired = False

    def restart(self) -> None:
        """Something happened: the silence, if one begins now, begins anew."""
        if self._timeout_s is None:
            return
        if not self.receiving or self.making_sample:
            self._silent_since = None
            return
        loop = asyncio.get_running_loop()
        self._silent_since = loop.time()
        if self._handle is None:  # one timer for the whole stream: samples come thousands a second
            self._handle = loop.call_later(self._timeout_s, self._look)

    def stop(self) -> None:
        """Wait no more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _look(self) -> None:
        self._handle = None
        if self._silent_since is None or self._timeout_s is None:
            return  # the next `restart` sets the timer again
        loop = asyncio.get_running_loop()
        left = self._silent_since + self._timeout_s - loop.time()
        if left > 0:
            self._handle = loop.call_later(left, self._look)
            return
        self.expired = True
        self._duplex.abort()

    def error(self) -> DeadlineExceeded:
        """Returns the error for the caller."""
        return DeadlineExceeded(f"received nothing from the server for {self._timeout_s} s", timeout_s=self._timeout_s)


async def converse(
    duplex: Duplex, samples: AsyncIterator[Sample], timeout_s: float | None
) -> AsyncGenerator[Verdict | Group, None]:
    """Send the samples and yield what comes back, at the same time; close the duplex in the end.

    Raises what `receive` raises, what `samples` raises, DeadlineExceeded after `timeout_s` of silence, and Unavailable
    when the server ends before every sample has its verdict.
    """
    patience = Patience(timeout_s, duplex)
    failures: list[Exception] = []
    unanswered = 0
    finished = False

    async def feed() -> None:
        nonlocal unanswered, finished
        try:
            while True:
                patience.making_sample = True
                patience.restart()
                try:
                    sample = await anext(samples)
                except StopAsyncIteration:
                    break
                finally:
                    patience.making_sample = False
                    patience.restart()
                unanswered += 1
                await duplex.send(sample)
            await duplex.finish()
            finished = True
        except PeerClosed:
            return
        except Exception as error:  # noqa: BLE001 - whatever the caller's own iterator raises goes back to the caller
            failures.append(error)
            duplex.abort()

    feeder = asyncio.create_task(feed())
    try:
        while True:
            patience.receiving = True
            patience.restart()
            item = await duplex.receive()
            patience.receiving = False
            patience.restart()
            if item is None:
                if unanswered or not finished:
                    raise Unavailable("the server closed the stream before all verdicts were sent")
                return
            if isinstance(item, Verdict):
                unanswered -= 1
            yield item
    except RequestError:
        if failures:
            raise failures[0] from None
        if patience.expired:
            raise patience.error() from None
        raise
    finally:
        patience.receiving = False
        patience.stop()
        feeder.cancel()
        await asyncio.gather(feeder, return_exceptions=True)
        await duplex.close()
