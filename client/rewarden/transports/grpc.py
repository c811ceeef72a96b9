"""gRPC: `rewarden.v1.RewardService`. Needs `rewarden[grpc]`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from typing import Any

from rewarden.boxes.call import BoxCall, Content
from rewarden.errors import (
    DeadlineExceeded,
    FingerprintMoved,
    Forbidden,
    InternalError,
    InvalidRequest,
    NotFound,
    Overloaded,
    RequestError,
    RewardenError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from rewarden.transports.authority import BELIEF, NO_TLS, PathLike, authority
from rewarden.transports.base import understood
from rewarden.transports.duplex import PeerClosed, converse
from rewarden.types import Batch, BatchResult, Group, Run, RunResult, Sample, Verdict
from rewarden.wire import json as plain

try:
    import grpc
    import grpc.aio

    from rewarden.v1 import rewarden_pb2 as pb
    from rewarden.v1 import rewarden_pb2_grpc as stubs
    from rewarden.wire import protobuf as wire
except ImportError as missing:
    raise InvalidRequest(f"targets grpc://… need gRPC: pip install 'rewarden[grpc]' ({missing})") from missing

# Verdicts of a large batch pass gRPC's own limit of 4 MiB; the server limits what it takes in.
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_metadata_size", 1 << 20),
    # A channel that could not connect refuses every call until it tries again: by itself up to two minutes later, long
    # after a restarted server is back. When to try again is `rewarden.retry`'s to say.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
)

_MOST_SAMPLES = 512
_MOST_BYTES = 256 * 1024
"""Limits of one message of a stream, and of the samples that wait for the next. A longer sample is sent alone."""

# For servers and proxies that send a bare status; ours sends its own error along.
_BY_STATUS: dict[str, type[RequestError]] = {
    "INVALID_ARGUMENT": InvalidRequest,
    "OUT_OF_RANGE": TooLarge,
    "UNAUTHENTICATED": Unauthorized,
    "PERMISSION_DENIED": Forbidden,
    "NOT_FOUND": NotFound,
    "UNIMPLEMENTED": NotFound,
    "FAILED_PRECONDITION": FingerprintMoved,
    "RESOURCE_EXHAUSTED": Overloaded,
    "UNAVAILABLE": Unavailable,
    "CANCELLED": Unavailable,
    "ABORTED": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
}

# What gRPC says, as UNAVAILABLE, of servers that there will never be a connection to.
_NEVER = {
    "CERTIFICATE_VERIFY_FAILED": f"its certificate is not trusted; {BELIEF}",
    "Hostname Verification Check failed": "its certificate is for another host name",
    "WRONG_VERSION_NUMBER": NO_TLS,
    "http1.x server (HTTP status 4": "the server speaks HTTP/1.1; a grpc:// target needs the server's gRPC port",
}


class GrpcTransport:
    """A server at `grpc://host:port`, or `grpcs://…` with TLS. `timeout_s`: the longest silence that is tolerated.
    `ca`: see `authority`."""

    def __init__(
        self,
        target: str,
        *,
        api_key: str | None = None,
        timeout_s: float | None = None,
        ca: PathLike | None = None,
    ) -> None:
        scheme, _, address = target.partition("://")
        address = address.rstrip("/")
        if not address:
            raise InvalidRequest(f"target {target!r} names no host; use grpc://HOST:PORT")
        self._address = address
        self._timeout_s = timeout_s
        self._metadata = () if api_key is None else (("authorization", f"Bearer {api_key}"),)
        if scheme == "grpcs":
            path = authority(ca)
            roots = None if path is None else path.read_bytes()
            self._channel = grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(roots), options=_OPTIONS)
        else:
            self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self._stub = stubs.RewardServiceStub(self._channel)
        self._boxes = stubs.BoxServiceStub(self._channel)

    async def verify(self, batch: Batch) -> BatchResult:
        """`Verify`."""
        return understood(wire.result_from_message, await self._call(self._stub.Verify, wire.batch_to_message(batch)))

    async def stream(self, header: Batch, samples: AsyncIterator[Sample]) -> AsyncGenerator[Verdict | Group, None]:
        """`VerifyStream`."""
        try:
            first = pb.VerifyStreamRequest(header=wire.header_to_message(header), many=True)
        except (ValueError, TypeError) as error:
            raise InvalidRequest(f"the batch cannot be sent: {error}") from None
        call = self._stub.VerifyStream(metadata=self._metadata)
        async with aclosing(converse(_MessageStream(call, first), samples, self._timeout_s)) as items:
            async for item in items:
                yield item

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """`ListVerifiers`."""
        reply = await self._call(self._stub.ListVerifiers, pb.ListVerifiersRequest(name=name))
        return [_object(entry.info_json) for entry in reply.verifiers]

    async def run(self, run: Run) -> RunResult:
        """`Run`."""
        try:
            message = wire.run_to_message(run)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRequest(f"the program cannot be sent: {error}") from None
        return understood(wire.run_result_from_message, await self._call(self._stub.Run, message))

    async def info(self) -> dict[str, Any]:
        """`Info`."""
        reply = await self._call(self._stub.Info, pb.InfoRequest())
        return _object(reply.info_json)

    # --- boxes

    async def box_call(self, call: BoxCall) -> Any:
        """See `BoxTransport`."""
        method = getattr(self._boxes, "Run" if call.operation == "exec" else call.operation.capitalize())
        streams = call.content is not None or call.operation in ("stdin", "write", "extract")
        message: Any = _inputs(call) if streams else _box_message(call)
        sent = method(message, metadata=self._box_metadata(call), timeout=self._timeout_s)
        ending = _Ending(sent)
        try:
            reply = await sent
        except grpc.aio.AioRpcError:
            raise refusal(await ending.status()) from None
        return understood(plain.loads, reply.reply_json) if reply.HasField("reply_json") else None

    async def box_events(self, call: BoxCall) -> AsyncGenerator[Any, None]:
        """See `BoxTransport`."""
        stream = self._boxes.Exec(_inputs(call), metadata=self._box_metadata(call))
        async with aclosing(_replies(stream)) as replies:
            async for reply in replies:
                yield understood(plain.loads, reply.reply_json)

    async def box_bytes(self, call: BoxCall) -> AsyncGenerator[bytes, None]:
        """See `BoxTransport`."""
        method = getattr(self._boxes, call.operation.capitalize())
        async with aclosing(_replies(method(_box_message(call), metadata=self._box_metadata(call)))) as replies:
            async for reply in replies:
                yield reply.data

    def _box_metadata(self, call: BoxCall) -> tuple[tuple[str, str], ...]:
        return self._metadata if call.lease is None else (*self._metadata, ("rewarden-lease", call.lease))

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    async def _call(self, method: Any, message: Any) -> Any:
        try:
            return await method(message, metadata=self._metadata, timeout=self._timeout_s)
        except grpc.aio.AioRpcError as error:
            raise refusal(error) from None


def _box_message(call: BoxCall) -> pb.BoxCall:
    """Raises InvalidRequest for what JSON or protobuf cannot hold."""
    try:
        return pb.BoxCall(
            box=call.box,
            path=call.path,
            number=call.number,
            request_json=None if call.value is None else plain.dumps(call.value).decode(),
            query_json=plain.dumps(dict(call.query)).decode() if call.query else None,
        )
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"the request cannot be sent: {error}") from None


def _inputs(call: BoxCall) -> AsyncGenerator[pb.BoxInput, None]:
    """The messages of a call that streams. Raises InvalidRequest at once: what a stream raises while it is sent, gRPC
    reports as a cancellation."""
    return _sent(pb.BoxInput(call=_box_message(call)), call.content)


async def _sent(first: pb.BoxInput, content: Content | None) -> AsyncGenerator[pb.BoxInput, None]:
    yield first
    if isinstance(content, bytes):
        for start in range(0, len(content), _MOST_BYTES):
            yield pb.BoxInput(data=content[start : start + _MOST_BYTES])
    elif content is not None:
        async for piece in content:
            yield pb.BoxInput(data=piece)


async def _replies(stream: Any) -> AsyncGenerator[Any, None]:
    """The replies of a call, which is cancelled if they are not read to the end."""
    ending = _Ending(stream)
    try:
        async for reply in stream:
            yield reply
    except grpc.aio.AioRpcError:
        raise refusal(await ending.status()) from None
    finally:
        stream.cancel()


class _MessageStream:
    """A `Duplex` of messages.

    Each message has one sample until the server says that it reads several; from then on, the samples that arrived
    while the message before was being sent travel together, since a message costs as much as many samples.
    """

    def __init__(self, call: Any, first: pb.VerifyStreamRequest) -> None:
        self._call = call
        self._ending = _Ending(call)
        self._first: pb.VerifyStreamRequest | None = first
        self._sent = 0
        self._most = 1
        self._unsent: deque[tuple[pb.Sample, int]] = deque()
        self._unsent_bytes = 0
        self._room = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._received: deque[Verdict | Group] = deque()
        self._aborted = False

    async def send(self, sample: Sample) -> None:
        try:
            message = wire.sample_to_message(sample)
        except (ValueError, TypeError) as error:
            raise InvalidRequest(f"samples[{self._sent}] cannot be sent: {error}") from None
        self._sent += 1
        size = message.ByteSize()
        self._unsent.append((message, size))
        self._unsent_bytes += size
        self._write()
        while len(self._unsent) > self._most or self._unsent_bytes > _MOST_BYTES:
            self._room.clear()
            await self._room.wait()
            self._write()

    async def finish(self) -> None:
        await self._write()
        try:
            await self._call.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            raise PeerClosed from None

    def _write(self) -> asyncio.Task[None]:
        """The task that writes what is unsent: the one that is at it, or else a new one. Raises PeerClosed."""
        if self._writing is None or self._writing.done():
            if self._writing is not None:
                self._writing.result()
            self._writing = asyncio.create_task(self._write_unsent())
        return self._writing

    async def _write_unsent(self) -> None:
        try:
            while self._first is not None or self._unsent:
                await self._call.write(self._next())
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            raise PeerClosed from None
        finally:
            self._room.set()

    def _next(self) -> pb.VerifyStreamRequest:
        first, self._first = self._first, None
        if first is not None:
            return first
        samples: list[pb.Sample] = []
        size = 0
        while self._unsent and len(samples) < self._most:
            message, more = self._unsent[0]
            if samples and size + more > _MOST_BYTES:
                break
            samples.append(message)
            size += more
            self._unsent.popleft()
        self._unsent_bytes -= size
        self._room.set()
        return pb.VerifyStreamRequest(sample=samples[0]) if self._most == 1 else pb.VerifyStreamRequest(samples=samples)

    async def receive(self) -> Verdict | Group | None:
        while not self._received:
            try:
                # Not `read`: once a write has failed it reads no more, although the server's last messages are there.
                reply = await self._call._read()
            except asyncio.CancelledError:
                if self._aborted:
                    raise Unavailable("the stream was aborted") from None
                raise
            if reply is grpc.aio.EOF:
                status = await self._ending.status()
                if status.code() != grpc.StatusCode.OK:
                    raise refusal(status)
                return None
            self._take(reply)
        return self._received.popleft()

    def _take(self, reply: pb.VerifyStreamReply) -> None:
        if reply.HasField("most_samples"):
            self._most = max(1, min(reply.most_samples, _MOST_SAMPLES))
        one = reply.WhichOneof("item")
        verdicts = [reply.verdict] if one == "verdict" else reply.verdicts
        groups = [reply.group] if one == "group" else reply.groups
        self._received.extend(understood(wire.verdict_from_message, message) for message in verdicts)
        self._received.extend(understood(wire.group_from_message, message) for message in groups)

    def abort(self) -> None:
        self._aborted = True
        self._call.cancel()

    async def close(self) -> None:
        self._call.cancel()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)


class _Ending:
    """The status that the server ended a call with.

    When a call ends while we write, grpc.aio puts an error of its own ("Internal error from Core") over the status
    that came or is coming (grpc issue 36066). A done callback has the first of the two; in grpcio 1.85 it does not run
    for the second, which is therefore looked for.
    """

    _WAIT_S = 10.0  # that long the server's status may lag behind the failed write
    _LOOK_S = 0.01

    def __init__(self, call: Any) -> None:
        self._call = call
        self._found: asyncio.Future[grpc.aio.AioRpcError] = asyncio.get_running_loop().create_future()
        call.add_done_callback(self._ended)

    def _ended(self, call: Any) -> None:
        code, details, trailing = map(_at_once, (call.code(), call.details(), call.trailing_metadata()))
        if details != "Internal error from Core" and not self._found.done():
            self._found.set_result(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details))

    async def status(self) -> grpc.aio.AioRpcError:
        """The server's status; UNAVAILABLE when none comes."""
        for _ in range(round(self._WAIT_S / self._LOOK_S)):
            done, _ = await asyncio.wait({self._found}, timeout=self._LOOK_S)
            if done:
                return self._found.result()
            if self._call.done():
                self._ended(self._call)
        empty = grpc.aio.Metadata()
        return grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, empty, empty, "the stream broke")


def _at_once(ready: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that has nothing to wait for: a call's status is there when it is done."""
    try:
        ready.send(None)
    except StopIteration as result:
        return result.value
    raise RuntimeError("a finished call has no status")


def refusal(error: grpc.aio.AioRpcError) -> RequestError:
    """The error that a call ended in: the one that the server sent along, or else what its status speaks of."""
    otherwise = _BY_STATUS.get(error.code().name, InternalError)
    text = error.details() or error.code().name
    for key, value in error.trailing_metadata() or ():
        if key == wire.ERROR_METADATA:
            try:
                return plain.error_from_json(plain.loads(value), otherwise)
            except (ValueError, RewardenError):
                break
    if otherwise is Overloaded and "larger than max" in text:
        otherwise = TooLarge  # gRPC's own answer to a message over the receiver's limit
    if otherwise is Unavailable:
        for words, why in _NEVER.items():
            if words in text:
                return InvalidRequest(f"{why}: {text}")
    return otherwise(text)


def _object(text: str) -> dict[str, Any]:
    value = understood(plain.loads, text)
    if not isinstance(value, dict):
        raise InternalError("the server's response cannot be read: must be an object")
    return value
