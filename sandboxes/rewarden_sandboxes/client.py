"""The host's client, for the server: jobs to a host in another process, over one connection that mends itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import grpc.aio

from rewarden_sandboxes.codec import event_from_message, job_to_message
from rewarden_sandboxes.errors import BadJob, Busy, HostError, HostLost, NoRoom
from rewarden_sandboxes.job import Job, JobEvent
from rewarden_sandboxes.service import ERROR_METADATA, MOST_BYTES
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
        call = self._stub.Run(message)
        try:
            while (event := await call.read()) is not grpc.aio.EOF:
                yield event_from_message(event)
            await _check(call)
        except grpc.aio.AioRpcError as error:
            raise _named(error) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # A closed channel raises this in whoever waits on it, whom nobody cancelled.
            raise HostLost("the connection to the sandbox host was closed") from None
        except ValueError as error:
            raise HostError(f"the host's answer cannot be read: {error}") from None
        finally:
            if not call.done():
                call.cancel()

    async def status(self, probe: bool = False, timeout_s: float | None = None) -> dict[str, Any]:
        """What the host says of itself; `probe`: after running a program in a fresh room.

        Raises HostLost, also when it says nothing for `timeout_s`, and HostError.
        """
        try:
            reply = await self._stub.Status(pb.StatusRequest(probe=probe), timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            raise _named(error) from None
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


async def _check(call: Any) -> None:
    """Raises the error that a call ended in. A stream that breaks off ends like one that is whole."""
    code = await call.code()
    if code is not grpc.StatusCode.OK:
        trailing = await call.trailing_metadata()
        raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, await call.details())


def _named(error: grpc.aio.AioRpcError) -> HostError:
    """The host's own error under its name; whatever gRPC says besides is a lost host."""
    text = error.details() or error.code().name
    for key, value in error.trailing_metadata() or ():
        if key == ERROR_METADATA:
            told = json.loads(value)
            match told.get("kind"):
                case "no_room":
                    return NoRoom(text)
                case "busy":
                    return Busy(text)
                case "bad_job":
                    return BadJob(str(told.get("path", "")), text)
                case _:
                    return HostError(text)
    if error.code() is grpc.StatusCode.UNKNOWN:
        return HostError("a defect of the sandbox host; its log has more")  # the text may quote a program
    if error.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED):
        return HostError(text)  # it answers, but not as it should: to ask again would not help
    return HostLost(f"the sandbox host cannot be reached, or went away: {text}")
