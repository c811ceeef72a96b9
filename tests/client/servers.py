"""Small real servers that speak the wire and fail on demand, over HTTP and over gRPC."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
import grpc.aio
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rewarden.errors import RequestError
from rewarden.types import Batch, BatchResult, Group, Run, RunResult, Sample, Verdict
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.v1 import rewarden_pb2_grpc as stubs
from rewarden.wire import json as wire
from rewarden.wire import protobuf


class Breaks(Exception):
    """Makes the connection break."""


def judge(sample: Sample, index: int) -> Verdict:
    """Right when response and reference are equal; who judged whom is told by the echoed id."""
    right = sample.response == sample.reference
    return Verdict(status="scored", score=float(right), passed=right, index=index, id=sample.id, group=sample.group)


def statistics(name: str, verdicts: list[Verdict]) -> Group:
    """A group's counts and mean."""
    scores = [verdict.score or 0.0 for verdict in verdicts]
    return Group(
        group=name,
        size=len(scores),
        scored=len(scores),
        unscored=0,
        passed=sum(map(bool, scores)),
        mean=sum(scores) / len(scores),
    )


@dataclass
class Script:
    """The script of the server, and the record of what it saw."""

    judge: Callable[[Sample, int], Verdict] = judge
    refusals: deque[RequestError] = field(default_factory=deque)
    """Raised, one by one, instead of serving a request or opening a stream."""
    breaks: deque[int] = field(default_factory=deque)
    """After so many verdicts a stream breaks, one entry a stream."""
    hold: asyncio.Event | None = None
    """Waited for before a request is answered."""
    batches: list[Batch] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    headers: list[Batch] = field(default_factory=list)
    streams: list[list[Sample]] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    """The samples of each message of a gRPC stream; 0 for a message with the one that every server reads."""
    authorizations: list[str | None] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client left a stream (over gRPC: when a stream ended)."""

    async def begin(self, authorization: str | None) -> None:
        """A request came."""
        self.authorizations.append(authorization)
        if self.refusals:
            raise self.refusals.popleft()
        if self.hold is not None:
            await self.hold.wait()

    async def verify(self, batch: Batch) -> BatchResult:
        """Answer a batch."""
        self.batches.append(batch)
        verdicts = [self.judge(sample, index) for index, sample in enumerate(batch.samples)]  # type: ignore[arg-type]
        names = list(dict.fromkeys(v.group for v in verdicts if v.group is not None))
        groups = [statistics(name, [v for v in verdicts if v.group == name]) for name in names]
        return BatchResult(verdicts=verdicts, groups=groups)

    async def run(self, run: Run) -> RunResult:
        """Answer a program with its input."""
        self.runs.append(run)
        return RunResult(status="ok", exit_code=0, stdout=str(run.stdin), enforced={"cpu_s": "no"})

    async def stream(self, header: Batch, samples: AsyncIterator[Sample]) -> AsyncIterator[Verdict | Group]:
        """Answer a stream, each sample as it comes, a group's statistics when it is whole."""
        self.headers.append(header)
        seen: list[Sample] = []
        self.streams.append(seen)
        members: dict[str, list[Verdict]] = {}
        limit = self.breaks.popleft() if self.breaks else None
        async for sample in samples:
            if limit is not None and len(seen) >= limit:
                raise Breaks
            seen.append(sample)
            verdict = self.judge(sample, len(seen) - 1)
            yield verdict
            if sample.group is not None:
                members.setdefault(sample.group, []).append(verdict)
                if len(members[sample.group]) == sample.group_size:
                    yield statistics(sample.group, members.pop(sample.group))
        if limit is not None:
            raise Breaks
        for name, verdicts in members.items():
            yield statistics(name, verdicts)


# --- HTTP ------------------------------------------------------------------------------------------------------


@dataclass
class _Raw:
    """An ASGI application as a route: Starlette's own streaming answer would swallow what is left of the request."""

    app: Callable[[Scope, Receive, Send], Awaitable[None]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def http_app(script: Script) -> Starlette:
    """The routes of the wire."""

    def refuse(error: RequestError) -> Response:
        headers = {}
        if "retry_after_s" in error.details:
            headers["Retry-After"] = str(error.details["retry_after_s"])
        return Response(wire.dumps(wire.error_to_json(error)), error.http_status, headers)

    async def verify(request: Request) -> Response:
        try:
            await script.begin(request.headers.get("Authorization"))
            batch = wire.batch_from_json(wire.loads(await request.body()))
            return Response(wire.dumps(wire.result_to_json(await script.verify(batch), batch.fields)))
        except RequestError as error:
            return refuse(error)

    async def run(request: Request) -> Response:
        try:
            await script.begin(request.headers.get("Authorization"))
            asked = wire.run_from_json(wire.loads(await request.body()))
            return Response(wire.dumps(wire.run_result_to_json(await script.run(asked))))
        except RequestError as error:
            return refuse(error)

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)

        async def lines() -> AsyncIterator[bytes]:
            rest = b""
            async for block in request.stream():
                *whole, rest = (rest + block).split(b"\n")
                for line in whole:
                    yield line

        async def samples() -> AsyncIterator[Sample]:
            async for line in rows:
                yield wire.sample_from_json(wire.loads(line))  # type: ignore[misc]

        async def say(value: Any, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": wire.dumps(value) + b"\n", "more_body": more})

        try:
            await script.begin(request.headers.get("Authorization"))
            rows = lines()
            header = wire.header_from_json(wire.loads(await anext(rows))["batch"])
        except RequestError as error:
            await refuse(error)(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        count = 0
        try:
            async for item in script.stream(header, samples()):
                if isinstance(item, Verdict):
                    count += 1
                    await say({"verdict": wire.verdict_to_json(item, header.fields)})
                else:
                    await say({"group": wire.group_to_json(item)})
            await say({"done": {"verdicts": count}}, more=False)
        except RequestError as error:
            await say(wire.error_to_json(error), more=False)
        except ClientDisconnect:
            script.left.set()

    async def verifiers(request: Request) -> Response:
        return Response(wire.dumps({"verifiers": [{"name": "equal", "summary": "Are they equal?"}]}))

    async def verifier(request: Request) -> Response:
        return Response(wire.dumps({"name": request.path_params["name"], "doc": "All of it."}))

    async def info(request: Request) -> Response:
        return Response(wire.dumps({"version": "0"}))

    return Starlette(
        routes=[
            Route("/v1/verify", verify, methods=["POST"]),
            Route("/v1/run", run, methods=["POST"]),
            Route("/v1/verify/stream", _Raw(stream), methods=["POST"]),
            Route("/v1/verifiers", verifiers),
            Route("/v1/verifiers/{name:path}", verifier),
            Route("/v1/info", info),
        ]
    )


@asynccontextmanager
async def http_server(script: Script) -> AsyncIterator[str]:
    """A server over HTTP; its address. It shares the loop of the test, which an adapter's check would hold up."""
    with socket.socket() as listener, pytest.MonkeyPatch.context() as environment:
        environment.setenv("REWARDEN_PREFLIGHT", "0")
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(http_app(script), log_level="critical", lifespan="off", timeout_graceful_shutdown=0)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve([listener]))  # without its signal handlers
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


# --- gRPC ------------------------------------------------------------------------------------------------------


class Servicer(stubs.RewardServiceServicer):  # type: ignore[misc]
    """The service of the wire. `most_samples`: what a message of a stream can contain; None for a server of the
    generation that knows one sample a message and one verdict a reply."""

    def __init__(self, script: Script, most_samples: int | None) -> None:
        self.script = script
        self.most_samples = most_samples

    async def _refuse(self, context: Any, error: RequestError) -> None:
        context.set_trailing_metadata(((protobuf.ERROR_METADATA, wire.dumps(wire.error_to_json(error))),))
        await context.abort(grpc.StatusCode[protobuf.GRPC_STATUS[error.code]], error.message)

    def _authorization(self, context: Any) -> str | None:
        return dict(context.invocation_metadata()).get("authorization")

    async def Verify(self, request: Any, context: Any) -> Any:
        try:
            await self.script.begin(self._authorization(context))
            batch = protobuf.batch_from_message(request)
            return protobuf.result_to_message(await self.script.verify(batch), batch.fields)
        except RequestError as error:
            await self._refuse(context, error)

    async def Run(self, request: Any, context: Any) -> Any:
        try:
            await self.script.begin(self._authorization(context))
            return protobuf.run_result_to_message(await self.script.run(protobuf.run_from_message(request)))
        except RequestError as error:
            await self._refuse(context, error)

    async def VerifyStream(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        async def samples() -> AsyncIterator[Sample]:
            async for request in requests:
                several = () if self.most_samples is None else request.samples
                self.script.messages.append(len(several))
                for message in several or [request.sample]:
                    yield protobuf.sample_from_message(message)  # type: ignore[misc]

        context.add_done_callback(lambda ended: self.script.left.set())
        try:
            await self.script.begin(self._authorization(context))
            first = await anext(aiter(requests))
            header = protobuf.header_from_message(first.header)
            many = first.many and self.most_samples is not None
            if many:
                yield pb.VerifyStreamReply(most_samples=self.most_samples)
            async for item in self.script.stream(header, samples()):
                verdict, group = (
                    (protobuf.verdict_to_message(item, header.fields), None)
                    if isinstance(item, Verdict)
                    else (None, protobuf.group_to_message(item))
                )
                if many:
                    yield pb.VerifyStreamReply(verdicts=filter(None, [verdict]), groups=filter(None, [group]))
                else:
                    yield pb.VerifyStreamReply(verdict=verdict, group=group)
        except RequestError as error:
            await self._refuse(context, error)
        except Breaks:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection broke")

    async def ListVerifiers(self, request: Any, context: Any) -> Any:
        named = {"name": request.name, "doc": "All of it."}
        entry = named if request.HasField("name") else {"name": "equal", "summary": "Are they equal?"}
        info = pb.VerifierInfo(name=entry["name"], info_json=wire.dumps(entry).decode())
        return pb.ListVerifiersReply(verifiers=[info])

    async def Info(self, request: Any, context: Any) -> Any:
        return pb.InfoReply(info_json='{"version": "0"}')


@asynccontextmanager
async def grpc_server(script: Script, most_samples: int | None = 100) -> AsyncIterator[str]:
    """A server over gRPC; its address."""
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    stubs.add_RewardServiceServicer_to_server(Servicer(script, most_samples), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        await server.stop(grace=0)


SERVERS = {
    "http": http_server,
    "grpc": grpc_server,
    "grpc, one sample a message": partial(grpc_server, most_samples=None),
}
