"""The server's client of a host in another process, over one connection that reconnects by itself."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rewarden_sandboxes.box import BoxSpec
from rewarden_sandboxes.codec import (
    box_to_message,
    event_from_message,
    job_to_message,
    refusal_from_message,
    session_to_message,
)
from rewarden_sandboxes.errors import BadJob, HostError, HostLost
from rewarden_sandboxes.job import Job, JobEvent, Program
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.remote_session import RemoteSession
from rewarden_sandboxes.secret import shown
from rewarden_sandboxes.service import ALIVE, MOST_BYTES
from rewarden_sandboxes.talk import Talk, check_size, why
from rewarden_sandboxes.tls import Tls, is_local
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from rewarden_sandboxes.v1 import sandbox_pb2_grpc as stubs

_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", MOST_BYTES),
    *ALIVE,
    ("grpc.http2.max_pings_without_data", 0),
    # Reconnect at once to a restarted host.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Each client has its own connection: a new client must not reuse that of a lost host.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)

_NO_SERVICE = "none"
"""A service that no host has. A health check of it gets an immediate answer, because the host has nothing to check."""


class HostClient:
    """A client of the host at `unix:PATH` or `HOST:PORT`. Used on the event loop that created it; any number of
    concurrent calls.
    """

    def __init__(
        self, address: str, tls: Tls | None = None, token: str | None = None, *, name: str | None = None
    ) -> None:
        """Opens no connection yet. token: sent with every call. name: the name in the host's certificate, if it differs
        from the address. Raises HostError for files of `tls` that cannot be read.
        """
        if token is not None and tls is None and not is_local(address):
            # Attack: read the token on the way, and run programs with it.
            raise HostError(f"a token is sent to {address} only over TLS: sandbox.tls_ca is missing")
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
        """Run a job. Yields its events as they arrive. Closing the iterator early, or cancelling its task, kills the
        programs.

        Raises NoRoom, Busy and BadJob as the host does, HostLost if it cannot be reached or disconnects during the job,
        and HostError for any other failure of the host.
        """
        try:
            message = job_to_message(job)
        except (ValueError, TypeError) as error:
            raise BadJob("", f"the job cannot be sent: {error}") from None
        check_size(message.ByteSize())
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

    async def session(self, program: Program, patience_s: float | None = None) -> RemoteSession:
        """Start a program whose stdin and stdout the caller streams while it runs. Raises as `run` does."""
        try:
            message = session_to_message(program, patience_s)
        except (ValueError, TypeError) as error:
            raise BadJob("", f"the program cannot be sent: {error}") from None
        check_size(message.ByteSize())
        session = RemoteSession(self._talking(), next(self._numbers), message)
        try:
            await session.begin()
        except BaseException:
            session.leave()
            raise
        return session

    async def box(self, spec: BoxSpec, patience_s: float | None = None) -> RemoteBox:
        """Open a box. Raises as `run` does."""
        try:
            message = box_to_message(spec, patience_s)
        except (ValueError, TypeError) as error:
            raise BadJob("", f"the box cannot be sent: {error}") from None
        check_size(message.ByteSize())
        box = RemoteBox(self._talking(), self._numbers, message)
        try:
            await box.begin()
        except BaseException:
            box.leave()
            raise
        return box

    async def status(self, probe: bool = False, timeout_s: float | None = None) -> dict[str, Any]:
        """Returns the host's status; `probe`: after running a program in a fresh room.

        Raises HostLost, also if there is no answer within `timeout_s`, and HostError.
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
        """Returns whether the host reports that it is ready, over the protocol that needs no token. Raises HostLost."""
        with _lost_unless_answered():
            reply = await self._health.Check(health_pb2.HealthCheckRequest(), timeout=timeout_s)
        return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)

    async def answer(self) -> None:
        """Return when the host has given any answer: its event loop does so even if the container engine hangs. Raises
        HostLost.
        """
        with _lost_unless_answered():
            try:
                await self._health.Check(health_pb2.HealthCheckRequest(service=_NO_SERVICE))
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise

    def hang_up(self, why: str) -> None:
        """Abandon all calls in progress, which raise HostLost with this reason; the host kills their programs once it
        notices.
        """
        if self._talk is not None:
            self._talk.hang_up(why)

    def _talking(self) -> Talk:
        if self._talk is None or self._talk.over:
            self._talk = Talk(self._stub, self._shown)
        return self._talk

    async def close(self) -> None:
        """Close the connection; calls in progress raise HostLost."""
        await self._channel.close()


@contextlib.contextmanager
def _lost_unless_answered() -> Iterator[None]:
    """Around a call. Raises HostLost if it fails, or if the channel is closed during it."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise HostLost(why(error)) from None
    except asyncio.CancelledError:
        # gRPC raises this in tasks that wait on a closed channel, without cancelling them: it ended our health probes.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise HostLost("the connection to the sandbox host was closed") from None
