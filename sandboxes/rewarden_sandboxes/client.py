"""The host's client, for the server: jobs to a host in another process, over one connection that mends itself."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rewarden_sandboxes.agent.frames import WINDOW
from rewarden_sandboxes.codec import (
    event_from_message,
    job_to_message,
    refusal_from_message,
    session_event_from_answer,
    session_to_message,
)
from rewarden_sandboxes.errors import BadJob, HostError, HostLost, Leaving
from rewarden_sandboxes.job import Clock, Job, JobEvent, Program, Report
from rewarden_sandboxes.secret import shown
from rewarden_sandboxes.service import ALIVE, MOST_BYTES
from rewarden_sandboxes.session import Begun, SessionEvent, Taken
from rewarden_sandboxes.tls import Tls, is_local
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from rewarden_sandboxes.v1 import sandbox_pb2_grpc as stubs

_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", MOST_BYTES),
    *ALIVE,
    ("grpc.http2.max_pings_without_data", 0),
    # A host that was started again is found again at once.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Each client has its own connection: a lost host's must not be handed to the next one.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)

_PART = 1 << 16
"""Bytes of a session's stdin that travel in one message."""

_NO_SERVICE = "none"
"""A service that no host has, to ask for its health: the host says so without looking at anything."""

_CAUSE_S = 5.0
"""Patience with a host that is asked why it broke a call."""

_ENVELOPE = 1024**2
"""Bytes that a message may need beyond the texts in it."""


class HostClient:
    """A client of the host at `unix:PATH` or `HOST:PORT`. Used on the loop where it was made; any number of calls."""

    def __init__(
        self, address: str, tls: Tls | None = None, token: str | None = None, *, name: str | None = None
    ) -> None:
        """Opens nothing yet. token: shown with every call. name: the one that the host's certificate must have, where
        that is not the address's. Raises HostError for files of `tls` that cannot be read.
        """
        if token is not None and tls is None and not is_local(address):
            # Attack: whoever listens on the way would have the token, and run programs with it.
            raise HostError(f"a token is sent to {address} over TLS alone: sandbox.tls_ca is missing")
        self.address = address
        options = [*_OPTIONS, *([("grpc.ssl_target_name_override", name)] if name is not None else [])]
        self._channel = (
            grpc.aio.insecure_channel(address, options=options)
            if tls is None
            else grpc.aio.secure_channel(address, tls.of_server(), options=options)
        )
        self._stub = stubs.SandboxHostStub(self._channel)
        self._health = health_pb2_grpc.HealthStub(self._channel)
        self._shown = shown(token)
        self._numbers = itertools.count(1)
        self._talk: Talk | None = None

    async def run(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """A job's events as they come. Closing the iterator early, or cancelling whoever waits, kills what runs.

        Raises NoRoom, Busy and BadJob as the host does, HostLost when it cannot be reached or goes away in the middle,
        HostError for whatever else breaks there.
        """
        try:
            message = job_to_message(job)
        except (ValueError, TypeError) as error:
            raise BadJob("", f"the job cannot be sent: {error}") from None
        self._check_size(message.ByteSize())
        talk = self._talking()
        number = next(self._numbers)
        answers = talk.expect(number)
        whole = False
        try:
            talk.order(pb.Order(id=number, job=message))
            while not whole:
                answer = await answers.get()
                if answer is None:
                    raise HostLost(talk.why)
                whole = answer.last
                if answer.WhichOneof("item") == "refusal":
                    raise refusal_from_message(answer.refusal)
                if answer.WhichOneof("item") == "event":
                    yield event_from_message(answer.event)
        except ValueError as error:
            raise HostError(f"the host's answer cannot be read: {error}") from None
        finally:
            talk.forget(number, cancel=not whole)

    async def session(self, program: Program, patience_s: float | None = None) -> Session:
        """Begin a program that is fed and read while it runs. Raises as `run` does."""
        try:
            message = session_to_message(program, patience_s)
        except (ValueError, TypeError) as error:
            raise BadJob("", f"the program cannot be sent: {error}") from None
        self._check_size(message.ByteSize())
        session = Session(self._talking(), next(self._numbers), message)
        try:
            await session.begin()
        except BaseException:
            session.leave()
            raise
        return session

    async def status(self, probe: bool = False, timeout_s: float | None = None) -> dict[str, Any]:
        """Returns what the host says of itself; `probe`: after running a program in a fresh room.

        Raises HostLost, also when it says nothing for `timeout_s`, and HostError.
        """
        with _lost_unless_answered():
            try:
                reply = await self._stub.Status(pb.StatusRequest(probe=probe), timeout=timeout_s, metadata=self._shown)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.INTERNAL:
                    raise HostError(error.details() or "the host broke") from None
                raise
        told = json.loads(reply.status_json)
        if not isinstance(told, dict):
            raise HostError("the host's status cannot be read: it must be an object")
        return told

    async def healthy(self, timeout_s: float) -> bool:
        """Returns whether the host says that it is ready, by the protocol that needs no token. Raises HostLost."""
        with _lost_unless_answered():
            reply = await self._health.Check(health_pb2.HealthCheckRequest(), timeout=timeout_s)
        return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)

    async def answer(self) -> None:
        """Return when the host has answered anything at all: its loop does so by itself, even where the container
        engine hangs. Raises HostLost.
        """
        with _lost_unless_answered():
            try:
                await self._health.Check(health_pb2.HealthCheckRequest(service=_NO_SERVICE))
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise

    def hang_up(self, why: str) -> None:
        """Give up all that is under way, which raises HostLost with these words; the host kills it when it hears."""
        if self._talk is not None:
            self._talk.hang_up(why)

    def _talking(self) -> Talk:
        if self._talk is None or self._talk.over:
            self._talk = Talk(self._stub, self._shown)
        return self._talk

    @staticmethod
    def _check_size(size: int) -> None:
        if size > MOST_BYTES - _ENVELOPE:
            raise BadJob("", f"the job has more than {MOST_BYTES - _ENVELOPE} bytes")

    async def close(self) -> None:
        """Give back the connection; calls under way raise HostLost."""
        await self._channel.close()


class Session:
    """A program that runs at the host. Each method may be awaited by one task at a time.

    The host has it killed when the connection is lost, so whoever has one closes it, or the client.
    """

    def __init__(self, talk: Talk, number: int, message: pb.Session) -> None:
        self.report: Report | None = None
        """How the program ended, once `receive` has said that it has."""
        self._talk = talk
        self._number = number
        self._answers = talk.expect(number)
        talk.order(pb.Order(id=number, session=message))
        self._begun = asyncio.Event()
        self._changed = asyncio.Event()
        self._ended: Report | None = None
        self._fault: HostError | None = None
        self._output: deque[bytes] = deque()
        self._read = 0
        self._room = WINDOW
        self._clocks: deque[asyncio.Future[Clock]] = deque()
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    @property
    def host_lost(self) -> bool:
        """Returns whether it ended because its host went away or is about to, which is nothing that its program can
        have done to its slot alone.
        """
        return isinstance(self._fault, (HostLost, Leaving))

    async def begin(self) -> None:
        """Wait until the program runs. Raises HostError where it cannot."""
        while not self._begun.is_set() and not self._over:
            await self._change()
        if self._fault is not None:
            raise self._fault

    async def send(self, data: bytes) -> None:
        """Feed its stdin; waits while the program is more than `WINDOW` bytes behind. Raises HostError when it has
        ended.
        """
        view = memoryview(data)
        while view:
            while not self._room and not self._over:
                await self._change()
            if self._over:
                raise self._fault or HostError("the program has ended")
            part = view[: min(self._room, _PART)]
            self._room -= len(part)
            self._talk.order(pb.Order(id=self._number, data=bytes(part)))
            view = view[len(part) :]

    async def receive(self) -> bytes:
        """Some bytes of its stdout as they come; none when the program has ended, and `report` says how. While nobody
        asks for them at most `WINDOW` bytes come. Raises HostError when the session is lost.
        """
        while not self._output and not self._over:
            await self._change()
        if self._output:
            data = self._output.popleft()
            self._read += len(data)
            if self._read >= WINDOW // 4 and not self._over:
                self._talk.order(pb.Order(id=self._number, taken=self._read))
                self._read = 0
            return data
        if self._fault is not None:
            raise self._fault
        self.report = self._ended
        return b""

    async def clock(self) -> Clock:
        """Returns what it has used so far. Raises HostError when the session is lost."""
        if self._fault is not None:
            raise self._fault
        if self._ended is not None:
            return _last_clock(self._ended)
        future: asyncio.Future[Clock] = asyncio.get_running_loop().create_future()
        self._clocks.append(future)
        if len(self._clocks) == 1:
            self._talk.order(pb.Order(id=self._number, clock=True))
        return await future

    async def close(self) -> None:
        """Kill all that lives in its room; returns when nothing of it runs. Twice is once."""
        self.leave()
        await asyncio.shield(self._listening)

    def leave(self) -> None:
        """As `close`, without waiting."""
        if not self._over:
            self._over_with(HostError("the session was closed"))
            self._talk.order(pb.Order(id=self._number, cancel=True))

    @property
    def _over(self) -> bool:
        return self._ended is not None or self._fault is not None

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _listen(self) -> None:
        """Until the last answer."""
        whole = False
        try:
            while (answer := await self._answers.get()) is not None:
                if answer.WhichOneof("item") == "refusal":
                    self._over_with(refusal_from_message(answer.refusal))
                elif not self._over and answer.WhichOneof("item") is not None:
                    self._note(session_event_from_answer(answer))
                whole = answer.last
                if whole:
                    break
            self._over_with(HostLost(self._talk.why))
        except ValueError as error:
            self._over_with(HostError(f"the host's answer cannot be read: {error}"))
        finally:
            self._talk.forget(self._number, cancel=not whole)

    def _note(self, event: SessionEvent) -> None:
        match event:
            case Begun():
                self._begun.set()
            case bytes():
                self._output.append(event)
            case Taken():
                self._room += event.size
            case Clock():
                self._settle(event)
            case Report():
                self._ended = event
                self._settle(_last_clock(event))
        self._changed.set()

    def _over_with(self, fault: HostError) -> None:
        if not self._over:
            self._fault = fault
            self._settle(fault)
        self._changed.set()

    def _settle(self, told: Clock | HostError) -> None:
        """Answer all who wait for the clock."""
        while self._clocks:
            future = self._clocks.popleft()
            if future.done():
                continue
            if isinstance(told, Clock):
                future.set_result(told)
            else:
                future.set_exception(told)


class Talk:
    """One call, over which jobs go out and their answers come in, until it breaks.

    Whoever orders never writes: a task that is cancelled while it writes would end the call for all.
    """

    def __init__(self, stub: stubs.SandboxHostStub, metadata: tuple[tuple[str, str], ...]) -> None:
        self.why = "the connection to the sandbox host was closed"
        self.over = False
        self._call = stub.Work(metadata=metadata)
        self._stub, self._metadata = stub, metadata
        self._expected: dict[int, asyncio.Queue[pb.Answer | None]] = {}
        self._orders: asyncio.Queue[pb.Order] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        self._tasks = (loop.create_task(self._listen()), loop.create_task(self._write()))

    def expect(self, number: int) -> asyncio.Queue[pb.Answer | None]:
        """Returns where the answers to an order will come; None when the call breaks."""
        answers = self._expected[number] = asyncio.Queue()
        return answers

    def order(self, order: pb.Order) -> None:
        """Send an order."""
        self._orders.put_nowait(order)

    def forget(self, number: int, *, cancel: bool) -> None:
        """No more answers are wanted; `cancel`: and the job is to end, if it has not."""
        self._expected.pop(number, None)
        if cancel and not self.over:
            self.order(pb.Order(id=number, cancel=True))

    def hang_up(self, why: str) -> None:
        """Break it from this side."""
        if not self.over:
            self.over, self.why = True, why
            self._call.cancel()

    def _note(self, why: str) -> None:
        if not self.over:  # else we hung up, and have said why
            self.why = why

    async def _write(self) -> None:
        # Who listens finds out why a call does not take any more.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            while True:
                await self._call.write(await self._orders.get())

    async def _cause(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """Returns why the call broke. When the host refuses it while we write, gRPC reports the write that failed and
        not the refusal; a call of one message has no such race, and is refused for the same reason.
        """
        if error.code() is grpc.StatusCode.INTERNAL:
            try:
                await self._stub.Status(pb.StatusRequest(), timeout=_CAUSE_S, metadata=self._metadata)
            except grpc.aio.AioRpcError as again:
                if again.code() is grpc.StatusCode.UNAUTHENTICATED:
                    return again
            except asyncio.CancelledError:
                pass  # the channel was closed
        return error

    async def _listen(self) -> None:
        try:
            while (answer := await self._call.read()) is not grpc.aio.EOF:
                expected = self._expected.get(answer.id)
                if expected is not None:
                    expected.put_nowait(answer)
            self._note(
                f"the sandbox host cannot be reached, or went away: {await self._call.details() or 'it hung up'}"
            )
        except grpc.aio.AioRpcError as error:
            self._note(_why(await self._cause(error)))
        except asyncio.CancelledError:
            pass  # the channel was closed
        finally:
            self.over = True
            self._tasks[1].cancel()
            for expected in self._expected.values():
                expected.put_nowait(None)


@contextlib.contextmanager
def _lost_unless_answered() -> Iterator[None]:
    """Around a call. Raises HostLost where it fails, or the channel is closed under it."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise HostLost(_why(error)) from None
    except asyncio.CancelledError:
        # gRPC raises it in whoever waits for a call of a channel that is closed: probes of our own health ended so.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise HostLost("the connection to the sandbox host was closed") from None


def _last_clock(report: Report) -> Clock:
    return Clock(cpu_s=report.cpu_time, idle_s=report.idle_time, memory=0)


def _why(error: grpc.aio.AioRpcError) -> str:
    if error.code() is grpc.StatusCode.UNAUTHENTICATED:
        return str(error.details())
    return f"the sandbox host cannot be reached, or went away: {error.details() or error.code().name}"
