"""A stream over HTTP that threads share, each of which sends one sample and waits for its verdict.

There is no event loop: two crossings of threads for each sample would cost more than all the rest. A thread writes its
line itself, with the lines that others have left meanwhile. One of the threads that wait reads for all of them, until
it has its own verdict; then another one does.
"""

from __future__ import annotations

import math
import select
import socket
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from rewarden.errors import DeadlineExceeded, InvalidRequest, RequestError, Unavailable
from rewarden.transports.base import understood
from rewarden.transports.http import CONNECT_S, headers_of, read_line, refusal
from rewarden.transports.http1 import LAST_CHUNK, Answer, Lines, breaking_off, chunk, post_head
from rewarden.types import Batch, Sample, Verdict
from rewarden.wire.json import (
    dumps,
    good_sample,
    header_to_json,
    sample_from_json,
    sample_to_json,
    verdict_from_json,
)

_BLOCK = 64 * 1024

_FAREWELL_S = 1.0
"""Seconds that the server has to end its response after the last sample, so that no client seems to have left."""


class ThreadStream:
    """Calls from any thread share a stream to a server at `http://…`, as calls in an event loop share a `SampleStream`.

    The stream opens with the first call, and closes after `idle_s` seconds without one. A call is one attempt: if the
    stream breaks, all calls that wait raise the error, and the next call opens another stream. If the server sends
    nothing for `timeout_s` seconds after the last sample, they raise DeadlineExceeded. header: the batch without its
    samples, which have no group.
    """

    def __init__(
        self,
        target: str,
        header: Batch,
        *,
        api_key: str | None = None,
        timeout_s: float | None = None,
        idle_s: float = 1.0,
    ) -> None:
        self._url = f"{target.rstrip('/')}/v1/verify/stream"
        try:
            urlsplit(self._url).port  # noqa: B018 - checks it
        except ValueError as error:
            raise InvalidRequest(f"target {target!r} is not a valid URL: {error}") from None
        head = post_head(self._url, {**headers_of(api_key), "Content-Type": "application/x-ndjson"})
        self._first = head + chunk(dumps({"batch": header_to_json(header)}) + b"\n")
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._connection: _Connection | None = None

    @property
    def open(self) -> bool:
        """Returns whether a stream is open now."""
        return self._connection is not None and not self._connection.ended

    def verify(self, sample: Sample) -> Verdict:
        """Returns the sample's verdict, with the index 0.

        Raises RequestError; InvalidRequest for a sample that cannot be written. Interrupting one call does not affect
        the others.
        """
        value = sample_to_json(sample)
        try:
            line = dumps(value) + b"\n"
        except ValueError as error:
            good_sample(sample_from_json(value), 0)  # names the field
            raise InvalidRequest(f"samples[0] cannot be sent: {error}") from None
        call = _Call(line)
        try:
            with self._lock:
                if self._connection is None or not self._connection.enter(call):
                    self._connection = _Connection(self._url, self._first, self._timeout_s, self._idle_s)
                    self._connection.enter(call)
                connection = self._connection
            return connection.answer(call)
        finally:
            call.leave()


class _Call:
    """A thread that waits for the verdict on a sample."""

    __slots__ = ("_lock", "_woken", "connection", "left", "line", "result", "writes")

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.connection: _Connection | None = None
        self.result: Verdict | RequestError | None = None
        self.left = False
        """The thread has its result, or was interrupted."""
        self.writes = False
        """The thread writes for others, and cannot read."""
        self._woken = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self) -> None:
        """Blocks until `wake`, which may come first."""
        self._lock.acquire()

    def wake(self) -> None:
        """Ends the waiting. Under the connection's lock."""
        if not self._woken:
            self._woken = True
            self._lock.release()

    def end(self, result: Verdict | RequestError) -> None:
        """Ends the call. Under the connection's lock."""
        self.result = result
        self.wake()

    def leave(self) -> None:
        """Nothing more is done for this call, or by it."""
        if self.connection is not None:
            self.connection.leave(self)


class _Connection:
    """A connection, and the one stream on it. The lock guards everything but what is the reader's or the writer's."""

    def __init__(self, url: str, first: bytes, timeout_s: float | None, idle_s: float) -> None:
        self._url = url
        self._first = first
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self.ended = False
        """No more calls enter. Those that have entered get their results."""
        self._over = threading.Event()
        self._calls: dict[int, _Call] = {}
        """The calls without a result, by their place in the stream."""
        self._count = 0
        self._unsent: list[bytes] = []
        self._writing = False
        self._reader: _Call | None = None
        """The call whose thread reads, or is woken to read."""
        self._active_s = time.monotonic()
        """The time of the last sample sent or verdict received."""
        self._socket: socket.socket | None = None
        self._arrivals = select.poll()
        self._taking = False
        """The reader has bytes of the socket that are not settled yet."""
        self._answer = Answer()
        self._lines = Lines()
        self._refusal = b""

    def enter(self, call: _Call) -> bool:
        """Takes a call. Returns False if the stream has ended."""
        with self._lock:
            # Nobody reads while nothing is asked, and then the server says nothing, unless it ends the stream.
            if self._socket is not None and not self._calls and self._reader is None and self._arrivals.poll(0):
                self._end()
            if self.ended:
                return False
            call.connection = self
            self._calls[self._count] = call
            self._count += 1
            self._unsent.append(call.line)
            self._active_s = time.monotonic()
            return True

    def answer(self, call: _Call) -> Verdict:
        """Returns the verdict of a call that has entered. Its thread writes and reads, unless others do. Raises
        RequestError.
        """
        try:
            self._write(call)
            with self._lock:
                if self._reader is None and self._socket is not None and call.result is None:
                    self._reader = call
            if self._reader is not call:
                call.wait()
            if self._reader is call:
                self._read(call)
        except BaseException:
            if self._reader is call and self._taking:
                self._fail(Unavailable("the thread that read the response was interrupted"))
            raise
        assert call.result is not None
        if isinstance(call.result, Verdict):
            return call.result
        raise call.result

    def leave(self, call: _Call) -> None:
        """Nothing more is done by this call's thread."""
        with self._lock:
            call.left = True
            if self._reader is call:
                self._reader = None
                self._appoint()
                self._release()

    # --- under the lock -----------------------------------------------------------------------------------------

    def _appoint(self) -> None:
        """Has a thread that waits read."""
        self._reader = next((call for call in self._calls.values() if not (call.left or call.writes)), None)
        if self._reader is not None:
            self._reader.wake()

    def _end(self) -> None:
        self.ended = True
        self._over.set()
        self._release()

    def _release(self) -> None:
        if self.ended and self._socket is not None and self._reader is None and not self._writing:
            self._socket.close()
            self._socket = None

    # --- writing ------------------------------------------------------------------------------------------------

    def _write(self, call: _Call) -> None:
        """Writes all lines that have come, unless another thread does."""
        try:
            with self._lock:
                if self._writing or self.ended:
                    return
                self._writing = call.writes = True
            if self._socket is None:
                self._connect()
                self._send(self._first)
            while lines := self._next(call):
                self._send(chunk(b"".join(lines)))
        except RequestError as error:
            self._fail(error)
        except OSError:
            with self._lock:
                self.ended = True  # the reader finds what the server has said, and tells those that wait
                self._writing = call.writes = False
                if self._reader is None:
                    self._appoint()
                self._release()
        except BaseException:
            self._fail(Unavailable("the thread that sent the samples was interrupted"))
            raise
        finally:
            if call.writes:
                with self._lock:
                    self._writing = call.writes = False
                    self._release()

    def _next(self, call: _Call) -> list[bytes]:
        """Returns the lines to send, or ends the writing."""
        with self._lock:
            lines, self._unsent = self._unsent, []
            if not lines:
                self._writing = call.writes = False
                self._release()
        return lines

    def _connect(self) -> None:
        parts = urlsplit(self._url)
        try:
            made = socket.create_connection((parts.hostname or "", parts.port or 80), CONNECT_S)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except TimeoutError:
            raise Unavailable(f"{parts.netloc} did not accept a connection within {CONNECT_S} s") from None
        except (OSError, UnicodeError) as error:
            raise Unavailable(
                f"{parts.netloc} cannot be reached: {getattr(error, 'strerror', None) or error}"
            ) from None
        made.setblocking(False)
        self._arrivals.register(made, select.POLLIN)
        with self._lock:
            self._socket = made
            self._appoint()
        threading.Thread(target=self._end_when_idle, name="rewarden-stream", daemon=True).start()

    def _send(self, data: bytes) -> None:
        assert self._socket is not None
        left = memoryview(data)
        while left:
            try:
                left = left[self._socket.send(left) :]
                self._active_s = time.monotonic()
            except BlockingIOError:
                room = select.poll()
                room.register(self._socket, select.POLLOUT)
                room.poll(self._left_ms())

    def _left_ms(self) -> int | None:
        """Returns how long the server may stay silent. Raises DeadlineExceeded."""
        if self._timeout_s is None:
            return None
        left_s = self._active_s + self._timeout_s - time.monotonic()
        if left_s <= 0:
            raise DeadlineExceeded(f"no response within {self._timeout_s} s", timeout_s=self._timeout_s)
        return math.ceil(left_s * 1000)

    # --- reading ------------------------------------------------------------------------------------------------

    def _read(self, call: _Call) -> None:
        """Reads for all calls, until this one has its result."""
        try:
            while call.result is None:
                if self._arrivals.poll(self._left_ms()):
                    self._taking = True
                    self._take()
                    self._taking = False
        except RequestError as error:
            self._fail(error)

    def _take(self) -> None:
        assert self._socket is not None
        with breaking_off():
            data = self._socket.recv(_BLOCK)
        piece = self._answer.take(data)
        if self._answer.status != 200:
            self._refusal += piece
            if self._answer.ended:
                raise refusal(self._answer.status, self._answer.headers, self._refusal)
            return
        lines = self._lines.take(piece)
        if self._answer.ended:
            lines += self._lines.last()
        for line in filter(None, lines):
            value = read_line(line)
            if "verdict" in value:
                self._settle(value["verdict"])
        if self._answer.ended:
            raise Unavailable("the server's response ended before all verdicts were sent")

    def _settle(self, value: Any) -> None:
        """Ends the call of a verdict."""
        place = value.get("index") if isinstance(value, dict) else None
        verdict = understood(verdict_from_json, {**value, "index": 0} if isinstance(place, int) else value)
        with self._lock:
            self._active_s = time.monotonic()
            call = self._calls.pop(place, None) if isinstance(place, int) else None
            if call is not None:
                call.end(verdict)

    # --- the end ------------------------------------------------------------------------------------------------

    def _fail(self, error: RequestError) -> None:
        with self._lock:
            for call in self._calls.values():
                call.end(error)
            self._calls.clear()
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)  # the reader need not wait any more
            self._end()

    def _end_when_idle(self) -> None:
        """Ends the stream after a time without calls. Until then, on a thread of its own."""
        quiet_s = 0.0
        while not self._over.wait(max(self._idle_s - quiet_s, 0.0)):
            with self._lock:
                if self.ended:
                    return
                busy = self._writing or any(not call.left for call in self._calls.values())
                quiet_s = 0.0 if busy else time.monotonic() - self._active_s
                if quiet_s < self._idle_s:
                    continue
                self.ended = True
                found, self._socket = self._socket, None
            if found is not None:
                with found, suppress(OSError, RequestError):
                    found.settimeout(_FAREWELL_S)
                    found.sendall(LAST_CHUNK)
                    while not self._answer.ended:
                        self._answer.take(found.recv(_BLOCK))
            return
