"""`rewarden.v1.RewardService`: the same admission, keys, limits and errors as over HTTP, in protobuf."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import grpc

from rewarden.errors import InvalidRequest, TooLarge
from rewarden.types import BadSample, Batch, Group, Sample, Verdict
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.v1 import rewarden_pb2_grpc as stubs
from rewarden.wire.json import dumps
from rewarden.wire.protobuf import (
    batch_from_message,
    group_to_message,
    header_from_message,
    result_to_message,
    run_from_message,
    run_result_to_message,
    sample_from_message,
    verdict_to_message,
)
from rewarden_server.caller import charge_one, note
from rewarden_server.catalogue import describe, kind_of
from rewarden_server.engine.stream import Stream
from rewarden_server.info import info
from rewarden_server.logs import VerdictLog, get_logger
from rewarden_server.rpc.call import SURFACE, call
from rewarden_server.service import Service, check_count, run_beside, too_long

STREAM_SURFACE = "grpc-stream"

_log = get_logger("grpc")


class RewardService(stubs.RewardServiceServicer):  # type: ignore[misc,unused-ignore]
    """See protos/rewarden/v1/rewarden.proto."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def Verify(self, request: pb.VerifyRequest, context: grpc.aio.ServicerContext) -> pb.VerifyReply:
        """All samples at once, all verdicts at once. A caller that leaves cancels the work."""
        async with call(self._service, context, "Verify"):
            size = request.ByteSize()
            self._service.bodies.take(size)
            try:
                batch = await run_beside(partial(self._batch, request), size)
            finally:
                self._service.bodies.give(size)
            result = await self._service.verify(batch, SURFACE)
            reply = await run_beside(partial(result_to_message, result, batch.fields), len(result.verdicts) * 256)
        return reply

    async def VerifyStream(
        self, request_iterator: AsyncIterator[pb.VerifyStreamRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.VerifyStreamReply]:
        """A header, then samples; verdicts as they end."""
        async with call(self._service, context, "VerifyStream"):
            header = await self._header(request_iterator)
            stream = self._service.engine.open_stream(header, source=STREAM_SURFACE)
            failures: list[Exception] = []
            feeding = asyncio.ensure_future(self._feed(request_iterator, header, stream, failures))
            stopping = asyncio.ensure_future(self._stop(stream, failures))
            log = VerdictLog(_log)
            try:
                async for item in stream:
                    if isinstance(item, Verdict):
                        log.note(item)
                        note((item,))
                    yield _reply(item, header.fields)
                if failures:
                    raise failures[0]
            finally:
                log.end()
                for task in (feeding, stopping):
                    task.cancel()
                await asyncio.gather(feeding, stopping, return_exceptions=True)
                await stream.cancel()

    async def ListVerifiers(
        self, request: pb.ListVerifiersRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListVerifiersReply:
        """What can judge: verifiers, then recipes; or the one that is named."""
        async with call(self._service, context, "ListVerifiers"):
            names = [request.name] if request.HasField("name") else list(self._service.engine.registry)
            described = await asyncio.to_thread(self._describe, names)
            reply = pb.ListVerifiersReply(
                verifiers=[pb.VerifierInfo(name=item["name"], info_json=dumps(item).decode()) for item in described]
            )
        return reply

    async def Info(self, request: pb.InfoRequest, context: grpc.aio.ServicerContext) -> pb.InfoReply:
        """Versions, places where work runs, limits."""
        async with call(self._service, context, "Info"):
            reply = pb.InfoReply(info_json=dumps(await info(self._service)).decode())
        return reply

    async def Run(self, request: pb.RunRequest, context: grpc.aio.ServicerContext) -> pb.RunReply:
        """A program's end in the sandbox. A caller that leaves kills it."""
        async with call(self._service, context, "Run"):
            most = self._service.limits.max_run_bytes
            size = request.ByteSize()
            if size > most:
                raise TooLarge(
                    f"the message has more than {most} bytes (limits.max_run_bytes)", limit="max_run_bytes", most=most
                )
            self._service.bodies.take(size)
            try:
                run = await run_beside(partial(run_from_message, request), size)
            finally:
                self._service.bodies.give(size)
            result = await self._service.run(run, SURFACE)
            written = len(result.stdout) + len(result.stderr)
            reply = await run_beside(partial(run_result_to_message, result), written)
        return reply

    def _batch(self, request: pb.VerifyRequest) -> Batch:
        limits = self._service.limits
        if request.ByteSize() > limits.max_body_bytes:
            raise TooLarge(
                f"the message has more than {limits.max_body_bytes} bytes (limits.max_body_bytes); send a stream",
                limit="max_body_bytes",
                most=limits.max_body_bytes,
            )
        check_count(len(request.samples), limits)
        return self._service.take_batch(batch_from_message(request))

    def _describe(self, names: Sequence[str]) -> list[dict[str, Any]]:
        engine = self._service.engine
        return [describe(engine, name, kind_of(engine, name)) for name in names]

    async def _header(self, messages: AsyncIterator[pb.VerifyStreamRequest]) -> Batch:
        async for message in messages:
            if message.WhichOneof("item") != "header":
                raise InvalidRequest("the first message of a stream must be its header")
            return self._service.take_header(header_from_message(message.header))
        raise InvalidRequest("the stream is empty; its first message must be its header")

    async def _feed(
        self,
        messages: AsyncIterator[pb.VerifyStreamRequest],
        header: Batch,
        stream: Stream,
        failures: list[Exception],
    ) -> None:
        try:
            async for message in messages:
                if message.WhichOneof("item") != "sample":
                    raise InvalidRequest("after the header, every message of a stream must hold a sample")
                await charge_one()
                await stream.put(self._sample(message.sample, header))
            stream.finish()
        except Exception as error:  # noqa: BLE001  told to the caller by whoever reads the stream, which this wakes
            failures.append(error)
            await stream.cancel()

    async def _stop(self, stream: Stream, failures: list[Exception]) -> None:
        await self._service.stopped.wait()
        failures.append(self._service.stop_error())
        await stream.cancel()

    def _sample(self, message: pb.Sample, header: Batch) -> Sample | BadSample:
        limits = self._service.limits
        if message.ByteSize() > limits.max_sample_bytes:
            return too_long(limits.max_sample_bytes, message.id if message.HasField("id") else None)
        return self._service.take_sample(sample_from_message(message), header)


def _reply(item: Verdict | Group, fields: Sequence[str] | None) -> pb.VerifyStreamReply:
    if isinstance(item, Verdict):
        return pb.VerifyStreamReply(verdict=verdict_to_message(item, fields))
    return pb.VerifyStreamReply(group=group_to_message(item))
