"""The host over gRPC: jobs in, their events out as they come. `serve` is the whole life of a host's process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import grpc
import grpc.aio

from rewarden_sandboxes.checks import check_job
from rewarden_sandboxes.codec import event_to_message, job_from_message
from rewarden_sandboxes.errors import BadJob, Busy, HostError, NoRoom
from rewarden_sandboxes.tls import Tls, is_local
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from rewarden_sandboxes.v1 import sandbox_pb2_grpc as stubs

if TYPE_CHECKING:
    from rewarden_sandboxes.host import Host

MOST_BYTES = 256 * 1024**2
"""A job's message, or one event's, in bytes."""

ERROR_METADATA = "rewarden-sandbox-error-bin"
"""The trailing metadata that tells our refusals from gRPC's own: JSON `{"kind", "path"?}`."""

_STATUS = {
    "no_room": grpc.StatusCode.UNAVAILABLE,
    "busy": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "bad_job": grpc.StatusCode.INVALID_ARGUMENT,
    "broken": grpc.StatusCode.INTERNAL,
}

_LAST_WORDS_S = 2.0


class SandboxService(stubs.SandboxHostServicer):  # type: ignore[misc,unused-ignore]
    """See protos/rewarden_sandbox/v1/sandbox.proto."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def Run(self, request: pb.Job, context: grpc.aio.ServicerContext) -> AsyncIterator[pb.JobEvent]:
        """A job's events. A caller that leaves kills what runs."""
        try:
            job = job_from_message(request)
            check_job(job)
            # Closed here and now, whatever ends this: the rooms of a caller who left must not live until collected.
            async with aclosing(self._host.run(job)) as events:
                async for event in events:
                    yield event_to_message(event)
        except HostError as error:
            await _abort(context, error)

    async def Status(self, request: pb.StatusRequest, context: grpc.aio.ServicerContext) -> pb.StatusReply:
        """How the host is."""
        try:
            return pb.StatusReply(status_json=json.dumps(await self._host.status(request.probe)))
        except HostError as error:
            await _abort(context, error)


async def _abort(context: grpc.aio.ServicerContext, error: HostError) -> NoReturn:
    kinds = {NoRoom: "no_room", Busy: "busy", BadJob: "bad_job"}
    kind = next((word for cls, word in kinds.items() if isinstance(error, cls)), "broken")
    told: dict[str, Any] = {"kind": kind}
    if isinstance(error, BadJob):
        told["path"] = error.path
    # A path may be any text that a caller sent: JSON's escapes keep it sound.
    details = error.message.encode("utf-8", "replace").decode()[:4000]
    await context.abort(_STATUS[kind], details, ((ERROR_METADATA, json.dumps(told).encode()),))
    raise AssertionError("abort always raises")


def make_server(host: Host, address: str, tls: Tls | None = None) -> grpc.aio.Server:
    """A server bound to its address, not started. Raises HostError when it cannot listen there, or must not."""
    if tls is None and not is_local(address):
        # Attack: whoever reaches an open port would run programs here, and read what others' programs are sent.
        raise HostError(
            f"{address} can be reached from other machines: that needs TLS (--tls-cert, --tls-key, --tls-ca)"
        )
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", MOST_BYTES),
            ("grpc.max_send_message_length", MOST_BYTES),
            # Otherwise a second host at the same port would quietly take a share of the jobs.
            ("grpc.so_reuseport", 0),
        ]
    )
    stubs.add_SandboxHostServicer_to_server(SandboxService(host), server)
    try:
        if tls is None:
            server.add_insecure_port(address)
        else:
            server.add_secure_port(address, tls.of_host())
    except RuntimeError:
        raise HostError(f"the sandbox host cannot listen at {address}") from None
    return server


async def serve(host: Host, address: str, *, tied: bool = False, tls: Tls | None = None) -> None:
    """Serve a host at `unix:PATH` or `HOST:PORT` until SIGTERM or SIGINT; then end it, and leave nothing behind.

    One line on standard output says when it answers. tied: it also ends when standard input does, which is how it
    learns that the server that started it is gone, even by SIGKILL. Raises HostError when it cannot listen there.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if tied:
        await _until_input_ends(stop)
    path = Path(address.removeprefix("unix:")) if address.startswith("unix:") else None
    if path is not None:
        _remove_stale(path)
    server = make_server(host, address, tls)
    try:
        await host.start()
        await server.start()
        print(f"sandbox host serves at {address}", flush=True)
        await stop.wait()
    finally:
        # What runs is killed first: callers are told at once, and rooms do not outlive their host.
        await host.close()
        await server.stop(_LAST_WORDS_S)
        if path is not None:
            path.unlink(missing_ok=True)
            if tied:  # its folder was made for it alone
                with contextlib.suppress(OSError):
                    path.parent.rmdir()


def _remove_stale(path: Path) -> None:
    """Remove the socket that a killed host left. Raises HostError for one that somebody serves; whatever else lies
    there is not ours to remove.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
            except OSError:
                path.unlink()
                return
        raise HostError(f"somebody serves at {path} already")


async def _until_input_ends(stop: asyncio.Event) -> None:
    """Have `stop` set when standard input ends. Nobody writes there: the pipe's other end is held, that is all."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, error: Exception | None) -> None:
            stop.set()

    await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)
