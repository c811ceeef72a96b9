"""`rewarden.v1.RewardService`: the same admission, keys, limits and errors as over HTTP, in protobuf."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, TypeVar

import grpc

from rewarden.errors import InvalidRequest, TooLarge
from rewarden.types import BadSample, Batch, Run, Sample, Verdict
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire.json import dumps
from rewarden.wire.protobuf import (
    batch_from_message,
    header_from_message,
    result_to_message,
    run_from_message,
    run_result_to_message,
    sample_from_message,
)
from rewarden_server.access.caller import charge_one, note
from rewarden_server.catalogue import describe, kind_of
from rewarden_server.engine.stream import Stream
from rewarden_server.info import info
from rewarden_server.observe.logs import VerdictLog, get_logger
from rewarden_server.rpc.call import SURFACE, call
from rewarden_server.rpc.message import parsed, received, rows, rows_in
from rewarden_server.rpc.stream_reply import GATHER_S, one_by_one, together
from rewarden_server.service import LARGE, Service, check_count, run_beside, too_long

_SERVICE = pb.DESCRIPTOR.services_by_name["RewardService"]
NAME = _SERVICE.full_name
STREAM_SURFACE = "grpc-stream"

T = TypeVar("T")

_log = get_logger("grpc")


def handlers(service: Service) -> grpc.GenericRpcHandler:
    """Returns the methods for a gRPC server, like the generated `add_RewardServiceServicer_to_server`, except that
    messages arrive as bytes and only on request: a message of a caller over its limit is never read."""
    served = RewardService(service)
    made = {}
    for method in _SERVICE.methods:
        streams = method.server_streaming
        handler = grpc.stream_stream_rpc_method_handler if streams else grpc.stream_unary_rpc_method_handler
        made[method.name] = handler(getattr(served, method.name), response_serializer=methodcaller("SerializeToString"))
    return grpc.method_handlers_generic_handler(NAME, made)


class RewardService:
    """See protos/rewarden/v1/rewarden.proto. `messages` are bytes; unary methods read their one from `context`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def Verify(self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> pb.VerifyReply:
        """Takes all samples at once and returns all verdicts at once. The work is cancelled if the caller leaves."""
        async with call(self._service, context, "Verify"):
            batch = await self._read(context, "max_body_bytes", self._service.limits.max_body_bytes, self._batch)
            result = await self._service.verify(batch, SURFACE)
            reply = await run_beside(partial(result_to_message, result, batch.fields), len(result.verdicts) * 256)
        return reply

    async def VerifyStream(
        self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.VerifyStreamReply]:
        """Takes a header, then samples; returns verdicts as they end."""
        async with call(self._service, context, "VerifyStream"):
            header, many = await self._header(messages)
            stream = self._service.engine.open_stream(header, source=STREAM_SURFACE)
            failures: list[Exception] = []
            feeding = asyncio.ensure_future(self._feed(messages, header, stream, failures))
            stopping = asyncio.ensure_future(self._stop(stream, failures))
            log = VerdictLog(_log)
            replies = together if many else one_by_one
            try:
                if many:
                    yield pb.VerifyStreamReply(most_samples=self._service.limits.max_samples)
                async for first in stream:
                    if many and stream.busy:
                        await asyncio.sleep(GATHER_S)
                    items = [first, *stream.ready()]
                    verdicts = [item for item in items if isinstance(item, Verdict)]
                    for verdict in verdicts:
                        log.note(verdict)
                    note(verdicts)
                    for reply in replies(items, header.fields):
                        yield reply
                if failures:
                    raise failures[0]
            finally:
                log.end()
                for task in (feeding, stopping):
                    task.cancel()
                await asyncio.gather(feeding, stopping, return_exceptions=True)
                await stream.cancel()

    async def ListVerifiers(
        self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> pb.ListVerifiersReply:
        """Returns all verifiers, then all recipes; or the one that is named."""
        async with call(self._service, context, "ListVerifiers"):
            request = parsed(pb.ListVerifiersRequest, await received(context))
            names = [request.name] if request.HasField("name") else list(self._service.engine.registry)
            described = await asyncio.to_thread(self._describe, names)
            reply = pb.ListVerifiersReply(
                verifiers=[pb.VerifierInfo(name=item["name"], info_json=dumps(item).decode()) for item in described]
            )
        return reply

    async def Info(self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> pb.InfoReply:
        """Returns versions, lanes and limits."""
        async with call(self._service, context, "Info"):
            parsed(pb.InfoRequest, await received(context))
            reply = pb.InfoReply(info_json=dumps(await info(self._service)).decode())
        return reply

    async def Run(self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> pb.RunReply:
        """Runs a program in the sandbox. The program is killed if the caller leaves."""
        async with call(self._service, context, "Run"):
            run = await self._read(context, "max_run_bytes", self._service.limits.max_run_bytes, _run)
            result = await self._service.run(run, SURFACE)
            written = len(result.stdout) + len(result.stderr)
            reply = await run_beside(partial(run_result_to_message, result), written)
        return reply

    async def _read(self, context: grpc.aio.ServicerContext, limit: str, most: int, read: Callable[[bytes], T]) -> T:
        """Reads a unary call's message, after checking its size and counting its bytes."""
        data = await received(context)
        size = len(data)
        _check_size(size, limit, most)
        self._service.bodies.take(size)
        try:
            return await run_beside(partial(read, data), size)
        finally:
            self._service.bodies.give(size)

    def _batch(self, data: bytes) -> Batch:
        limits = self._service.limits
        check_count(rows(data, limits.max_samples), limits)
        return self._service.take_batch(batch_from_message(parsed(pb.VerifyRequest, data)))

    def _describe(self, names: Sequence[str]) -> list[dict[str, Any]]:
        engine = self._service.engine
        return [describe(engine, name, kind_of(engine, name)) for name in names]

    async def _header(self, messages: AsyncIterator[bytes]) -> tuple[Batch, bool]:
        """Returns the header, and whether the caller understands replies with many verdicts."""
        async for data in messages:
            _check_size(len(data), "max_body_bytes", self._service.limits.max_body_bytes)
            message = parsed(pb.VerifyStreamRequest, data)
            if message.WhichOneof("item") != "header" or message.samples:
                raise InvalidRequest("the first message of a stream must be its header, without samples")
            return self._service.take_header(header_from_message(message.header)), message.many
        raise InvalidRequest("the stream is empty; its first message must be its header")

    async def _feed(
        self,
        messages: AsyncIterator[bytes],
        header: Batch,
        stream: Stream,
        failures: list[Exception],
    ) -> None:
        try:
            async for data in messages:
                for start, end in await run_beside(partial(self._rows, data), len(data)):
                    sample = self._sample(data, start, end, header)
                    await charge_one()
                    await stream.put(sample)
            stream.finish()
        except Exception as error:  # noqa: BLE001  told to the caller by whoever reads the stream, which this wakes
            failures.append(error)
            await stream.cancel()

    async def _stop(self, stream: Stream, failures: list[Exception]) -> None:
        await self._service.stopped.wait()
        failures.append(self._service.stop_error())
        await stream.cancel()

    def _rows(self, data: bytes) -> list[tuple[int, int]]:
        limits = self._service.limits
        found = rows_in(data, limits.max_samples)
        if len(found) > 1:
            _check_size(len(data), "max_body_bytes", limits.max_body_bytes)
            check_count(len(found), limits)
        return found

    def _sample(self, data: bytes, start: int, end: int, header: Batch) -> Sample | BadSample:
        most = self._service.limits.max_sample_bytes
        if end - start > most + LARGE:
            return too_long(most)  # its id is not looked for: parsed, it would take many times of its bytes
        try:
            message = parsed(pb.Sample, data[start:end])
        except InvalidRequest as error:
            return BadSample(message=error.message)
        if end - start > most:
            return too_long(most, message.id if message.HasField("id") else None)
        return self._service.take_sample(sample_from_message(message), header)


def _check_size(size: int, limit: str, most: int) -> None:
    if size > most:
        instead = "; send a stream" if limit == "max_body_bytes" else ""
        raise TooLarge(f"the message has more than {most} bytes (limits.{limit}){instead}", limit=limit, most=most)


def _run(data: bytes) -> Run:
    return run_from_message(parsed(pb.RunRequest, data))
