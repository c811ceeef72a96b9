"""The host over gRPC: receives jobs, streams their events. `serve` is the whole life of a host's process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2_grpc

from rewarden_sandboxes.checks import check_box, check_exec, check_job
from rewarden_sandboxes.codec import (
    box_event_to_answer,
    box_from_message,
    event_to_message,
    exec_from_message,
    job_from_message,
    opened_to_answer,
    refusal_to_message,
    session_event_to_answer,
    session_from_message,
    sound,
)
from rewarden_sandboxes.drain import Drain
from rewarden_sandboxes.errors import BadJob, HostError
from rewarden_sandboxes.health import Health
from rewarden_sandboxes.job import CompileResult, Job, JobEvent, Report
from rewarden_sandboxes.secret import Gate
from rewarden_sandboxes.session import Feed
from rewarden_sandboxes.stale import remove_stale
from rewarden_sandboxes.tls import Tls, is_local
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from rewarden_sandboxes.v1 import sandbox_pb2_grpc as stubs

if TYPE_CHECKING:
    from rewarden_sandboxes.host import Host
    from rewarden_sandboxes.open_box import OpenBox

MOST_BYTES = 256 * 1024**2
"""The most bytes of the message of a job or of an event."""

_log = logging.getLogger(__name__)

_LAST_WORDS_S = 2.0
_ANSWERS = 64

ALIVE = (("grpc.keepalive_time_ms", 30_000), ("grpc.keepalive_timeout_ms", 20_000))
"""A machine that vanishes closes no connection. The host must still end the work of a vanished caller, and a caller
must learn of a vanished host."""

Answer = Callable[[pb.Answer], Awaitable[None]]
"""Sends one answer."""

Doing = Callable[[pb.Order, Answer], Awaitable[None]]
"""Executes one order."""


class SandboxService(stubs.SandboxHostServicer):  # type: ignore[misc,unused-ignore]
    """See protos/rewarden_sandbox/v1/sandbox.proto."""

    def __init__(self, host: Host, drain: Drain) -> None:
        self._host = host
        self._drain = drain

    async def Work(self, orders: AsyncIterator[pb.Order], context: grpc.aio.ServicerContext) -> None:
        """Run jobs, sessions and boxes until the caller disconnects, which kills their programs."""
        begun: dict[int, tuple[asyncio.Task[None], Feed]] = {}
        boxes: dict[int, OpenBox] = {}
        leaving: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()
        answers: asyncio.Queue[pb.Answer] = asyncio.Queue(_ANSWERS)

        async def write() -> None:
            # In a task of its own: cancelling a job during a write ends the call for all.
            while True:
                await context.write(await answers.get())

        writer = loop.create_task(write())
        try:
            async for order in orders:
                item = order.WhichOneof("item")
                if item in ("job", "session", "box", "exec"):
                    if order.id not in begun:
                        feed = Feed()
                        work = self._work(item, feed, boxes)
                        task = loop.create_task(self._answer(work, order, answers.put))
                        begun[order.id] = task, feed
                        task.add_done_callback(partial(_forget, begun, order.id))
                elif order.id in begun:  # otherwise it has ended, and its caller will be told
                    task, feed = begun[order.id]
                    last = _fed(feed, order)
                    if last is not None:
                        leave = loop.create_task(_leave(task, last, answers.put))
                        leaving.add(leave)
                        leave.add_done_callback(leaving.discard)
        finally:
            left = [writer, *leaving, *(task for task, _ in begun.values())]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _work(self, item: str, feed: Feed, boxes: dict[int, OpenBox]) -> Doing:
        match item:
            case "session":
                return partial(self._session, feed=feed)
            case "box":
                return partial(self._box, feed=feed, boxes=boxes)
            case "exec":
                return partial(self._exec, feed=feed, boxes=boxes)
            case _:
                return self._do

    async def _answer(self, work: Doing, order: pb.Order, answer: Answer) -> None:
        """Run one order, and send its last answer even if it fails."""
        number = order.id
        try:
            if self._drain.leaving:
                raise self._drain.refusal()
            with self._drain.under_way(session=order.WhichOneof("item") != "job"):
                await work(order, answer)
        except HostError as error:
            await answer(pb.Answer(id=number, refusal=refusal_to_message(error), last=True))
        except asyncio.CancelledError:
            if not self._drain.over:
                raise
            # The host ends and has killed the program: the caller can retry on another host at once.
            await answer(pb.Answer(id=number, refusal=refusal_to_message(self._drain.refusal()), last=True))
        except Exception:  # noqa: BLE001 - a defect of ours, which ends this job and no other
            # The text may quote a program, so it goes only to the log.
            _log.exception("unexpected error while a job ran")
            broken = HostError("a defect of the sandbox host; its log has more")
            await answer(pb.Answer(id=number, refusal=refusal_to_message(broken), last=True))

    async def _do(self, order: pb.Order, answer: Answer) -> None:
        """Run one job."""
        job = job_from_message(order.job)
        check_job(job)
        told = False
        # Closed immediately, even on errors: the rooms of a lost caller must not live until garbage collection.
        async with aclosing(self._host.run(job)) as events:
            async for event in events:
                told = _is_last(event, job)
                await answer(pb.Answer(id=order.id, event=event_to_message(event), last=told))
        if not told:
            await answer(pb.Answer(id=order.id, last=True))

    async def _session(self, order: pb.Order, answer: Answer, *, feed: Feed) -> None:
        """Run one session. Its last answer is its report, sent when the slot is free."""
        program, patience_s = session_from_message(order.session)
        check_job(Job(program=program, patience_s=patience_s))
        ended: Report | None = None
        async with aclosing(self._host.session(program, feed, patience_s)) as events:
            async for event in events:
                if isinstance(event, Report):
                    ended = event
                else:
                    await answer(session_event_to_answer(order.id, event))
        if ended is None:
            raise HostError("the session ended without a report")
        await answer(session_event_to_answer(order.id, ended))

    async def _box(self, order: pb.Order, answer: Answer, *, feed: Feed, boxes: dict[int, OpenBox]) -> None:
        """Keep one box open until its caller closes it or its slot is lost."""
        spec, patience_s = box_from_message(order.box)
        check_box(spec, patience_s)
        async with self._host.box(spec, patience_s) as box:
            boxes[order.id] = box
            try:
                await answer(opened_to_answer(order.id, box.opened))
                async with aclosing(box.told(feed)) as events:
                    async for event in events:
                        await answer(box_event_to_answer(order.id, event))
            finally:
                del boxes[order.id]

    async def _exec(self, order: pb.Order, answer: Answer, *, feed: Feed, boxes: dict[int, OpenBox]) -> None:
        """Run one exec in a box of the same call."""
        box, what = boxes.get(order.exec.box), exec_from_message(order.exec)
        if box is None:
            raise HostError("the box is over")
        check_exec(what)
        async with aclosing(box.exec(what, feed)) as events:
            async for event in events:
                await answer(box_event_to_answer(order.id, event))

    async def Status(self, request: pb.StatusRequest, context: grpc.aio.ServicerContext) -> pb.StatusReply:
        """Returns the host's status."""
        try:
            told = await self._host.status(request.probe and not self._drain.leaving)
        except HostError as error:
            await context.abort(grpc.StatusCode.INTERNAL, sound(error.message))
        if self._drain.leaving:
            told = {**told, "ready": False, "leaving": True, "reason": self._drain.refusal().message}
        return pb.StatusReply(status_json=json.dumps(told))


async def _leave(task: asyncio.Task[None], last: pb.Answer, answer: Answer) -> None:
    """Cancel a job or session, and send the last answer when none of its programs runs."""
    task.cancel()
    await asyncio.wait({task})
    await answer(last)


def _fed(feed: Feed, order: pb.Order) -> pb.Answer | None:
    """Pass an order on to the feed. Returns the last answer if the order ends the work: by cancelling it, or by sending
    more than it may.
    """
    try:
        match order.WhichOneof("item"):
            case "data":
                feed.send(order.data)
            case "taken":
                feed.grant(order.taken)
            case "clock":
                feed.ask()
            case "eof":
                feed.finish()
            case "signal":
                feed.wish({"op": "signal", "signal": order.signal.number, "group": order.signal.group})
            case "still":
                feed.wish({"op": "still", "still": order.still})
            case _:
                return pb.Answer(id=order.id, last=True)
    except BadJob as error:
        return pb.Answer(id=order.id, refusal=refusal_to_message(error), last=True)
    return None


def _forget(begun: dict[int, tuple[asyncio.Task[None], Feed]], number: int, _: asyncio.Task[None]) -> None:
    begun.pop(number, None)


def _is_last(event: JobEvent, job: Job) -> bool:
    """Returns whether this event is the job's last."""
    if isinstance(event, CompileResult):
        return event.report.status != "ok"
    return event.index == len(job.cases) - 1


def make_server(
    host: Host,
    address: str,
    tls: Tls | None = None,
    tokens: tuple[str, ...] = (),
    drain: Drain | None = None,
) -> grpc.aio.Server:
    """Returns a server that is bound to its address and not started. Raises HostError if it cannot or must not listen
    there.
    """
    drain = drain or Drain()
    if not is_local(address):
        # Attack: reach an open port, to run programs here and read the input of others' programs.
        if tls is None:
            raise HostError(
                f"{address} can be reached from other machines: that needs TLS (sandbox.tls_cert, sandbox.tls_key), "
                "and sandbox.tls_ca or sandbox.token_file"
            )
        if not tls.mutual and not tokens:
            raise HostError(
                f"{address} can be reached from other machines: callers must present a certificate (sandbox.tls_ca "
                "says who signed it) or a token (sandbox.token_file)"
            )
    server = grpc.aio.server(
        interceptors=(Gate(tokens),) if tokens else (),
        options=[
            ("grpc.max_receive_message_length", MOST_BYTES),
            ("grpc.max_send_message_length", MOST_BYTES),
            *ALIVE,
            # By default a server treats two pings in ten minutes as an attack, and disconnects.
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            # Otherwise a second host on the same port silently takes a share of the jobs.
            ("grpc.so_reuseport", 0),
        ],
    )
    stubs.add_SandboxHostServicer_to_server(SandboxService(host, drain), server)
    health_pb2_grpc.add_HealthServicer_to_server(Health(host, drain), server)
    try:
        if tls is None:
            server.add_insecure_port(address)
        else:
            server.add_secure_port(address, tls.of_host())
    except RuntimeError:
        raise HostError(f"the sandbox host cannot listen at {address}") from None
    return server


async def serve(
    host: Host,
    address: str,
    *,
    tied: bool = False,
    tls: Tls | None = None,
    tokens: tuple[str, ...] = (),
    drain_s: float = 0.0,
) -> None:
    """Serve a host at `unix:PATH` or `HOST:PORT` until SIGTERM or SIGINT; then end it and clean up.

    A line on standard output reports that it is ready. tied: it also ends at the end of standard input, which tells it
    that the server that started it is gone, even by SIGKILL. tokens: each call must carry one of them. drain_s: after a
    signal it refuses new work, and finishes running jobs for up to this many seconds; a second signal or the end of
    standard input ends it at once. Raises HostError if it cannot listen there.
    """
    asked, now = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        (now if asked.is_set() else asked).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    if tied:
        await _until_input_ends(now)
    path = Path(address.removeprefix("unix:")) if address.startswith("unix:") else None
    if path is not None and not remove_stale(path):
        raise HostError(f"another process is already serving at {path}")
    drain = Drain()
    server = make_server(host, address, tls, tokens, drain)
    try:
        await host.start()
        await server.start()
        print(f"sandbox host serves at {address}", flush=True)
        await _first(asked.wait(), now.wait())
        host.leave()
        if not now.is_set() and not tied:
            await _first(drain.wait(drain_s), now.wait())
    finally:
        # Kill running programs first: callers are told at once, and rooms do not outlive their host.
        await drain.cut(_LAST_WORDS_S)
        await host.close()
        await server.stop(_LAST_WORDS_S)
        if path is not None:
            path.unlink(missing_ok=True)
            if tied:  # its folder was made only for it
                with contextlib.suppress(OSError):
                    path.parent.rmdir()


async def _first(*works: Coroutine[Any, Any, Any]) -> None:
    """Wait for the first of these to end, and cancel the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_input_ends(stop: asyncio.Event) -> None:
    """Set `stop` when standard input ends. Nobody writes to it: the server only keeps the pipe open."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, error: Exception | None) -> None:
            stop.set()

    await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)
