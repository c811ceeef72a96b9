"""The host's client, for the server: jobs to a host in another process, over one connection that mends itself."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import grpc.aio

from rewarden_sandboxes.codec import event_from_message, job_to_message
from rewarden_sandboxes.errors import BadJob, Busy, HostError, HostLost, NoRoom
from rewarden_sandboxes.job import Job, JobEvent
from rewarden_sandboxes.service import MOST_BYTES
from rewarden_sandboxes.tls import Tls
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from rewarden_sandboxes.v1 import sandbox_pb2_grpc as stubs

_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", MOST_BYTES),
    # A host that was started again is found again at once.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Each client has its own connection: a lost host's must not be handed to the next one.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)

_ENVELOPE = 1024**2
"""Bytes that a message may need beyond the texts in it."""


class HostClient:
    """A client of the host at `unix:PATH` or `HOST:PORT`. Used on the loop where it was made; any number of calls."""

    def __init__(self, address: str, tls: Tls | None = None) -> None:
        """Opens nothing yet. Raises HostError for files of `tls` that cannot be read."""
        self.address = address
        self._channel = (
            grpc.aio.insecure_channel(address, options=_OPTIONS)
            if tls is None
            else grpc.aio.secure_channel(address, tls.of_server(), options=_OPTIONS)
        )
        self._stub = stubs.SandboxHostStub(self._channel)
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
        if message.ByteSize() > MOST_BYTES - _ENVELOPE:
            raise BadJob("", f"the job has more than {MOST_BYTES - _ENVELOPE} bytes")
        talk = self._talk
        if talk is None or talk.over:
            talk = self._talk = Talk(self._stub)
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
                    raise _named(answer.refusal)
                if answer.WhichOneof("item") == "event":
                    yield event_from_message(answer.event)
        except ValueError as error:
            raise HostError(f"the host's answer cannot be read: {error}") from None
        finally:
            talk.forget(number, cancel=not whole)

    async def status(self, probe: bool = False, timeout_s: float | None = None) -> dict[str, Any]:
        """What the host says of itself; `probe`: after running a program in a fresh room.

        Raises HostLost, also when it says nothing for `timeout_s`, and HostError.
        """
        try:
            reply = await self._stub.Status(pb.StatusRequest(probe=probe), timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.INTERNAL:
                raise HostError(error.details() or "the host broke") from None
            raise HostLost(_why(error)) from None
        told = json.loads(reply.status_json)
        if not isinstance(told, dict):
            raise HostError("the host's status cannot be read: it must be an object")
        return told

    async def until_reachable(self, timeout_s: float) -> None:
        """Wait until somebody serves at the address, but no longer than so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._channel.channel_ready()

    async def close(self) -> None:
        """Give back the connection; calls under way raise HostLost."""
        await self._channel.close()


class Talk:
    """One call, over which jobs go out and their answers come in, until it breaks.

    Whoever orders never writes: a task that is cancelled while it writes would end the call for all.
    """

    def __init__(self, stub: stubs.SandboxHostStub) -> None:
        self.why = "the connection to the sandbox host was closed"
        self.over = False
        self._call = stub.Work()
        self._expected: dict[int, asyncio.Queue[pb.Answer | None]] = {}
        self._orders: asyncio.Queue[pb.Order] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        self._tasks = (loop.create_task(self._listen()), loop.create_task(self._write()))

    def expect(self, number: int) -> asyncio.Queue[pb.Answer | None]:
        """Where the answers to an order will come; None when the call breaks."""
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

    async def _write(self) -> None:
        # Who listens finds out why a call does not take any more.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            while True:
                await self._call.write(await self._orders.get())

    async def _listen(self) -> None:
        try:
            while (answer := await self._call.read()) is not grpc.aio.EOF:
                expected = self._expected.get(answer.id)
                if expected is not None:
                    expected.put_nowait(answer)
            self.why = f"the sandbox host cannot be reached, or went away: {await self._call.details() or 'it hung up'}"
        except grpc.aio.AioRpcError as error:
            self.why = _why(error)
        except asyncio.CancelledError:
            pass  # the channel was closed
        finally:
            self.over = True
            self._tasks[1].cancel()
            for expected in self._expected.values():
                expected.put_nowait(None)


def _why(error: grpc.aio.AioRpcError) -> str:
    return f"the sandbox host cannot be reached, or went away: {error.details() or error.code().name}"


def _named(refusal: pb.Refusal) -> HostError:
    """The host's own error under its name."""
    match refusal.kind:
        case "no_room":
            return NoRoom(refusal.message)
        case "busy":
            return Busy(refusal.message)
        case "bad_job":
            return BadJob(refusal.path, refusal.message)
        case _:
            return HostError(refusal.message)
