"""Streams over gRPC: many samples and verdicts a message, with servers that know them; one with those that do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc
import pytest

from rewarden.boxes.call import BoxCall
from rewarden.errors import NotFound
from rewarden.transports.duplex import PeerClosed
from rewarden.transports.grpc import GrpcTransport, _MessageStream
from rewarden.transports.targets import open_target
from rewarden.types import Batch, Group, Sample, Verdict
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.v1 import rewarden_pb2_grpc as stubs
from rewarden.wire import protobuf
from tests.client.servers import Script, grpc_server, judge

pytestmark = pytest.mark.needs_server


async def sizes(script: Script, most_samples: int | None, count: int, text: str = "x") -> list[int]:
    """The samples of each message but the first, where all samples but the first are ready at once, after the first
    verdict. 0 is a message in the form that every server reads. Each sample has its verdict."""
    told = asyncio.Event()

    async def samples() -> AsyncIterator[Sample]:
        yield Sample(response=text, id="0")
        await told.wait()
        for number in range(1, count + 1):
            yield Sample(response=text, id=str(number))

    async with grpc_server(script, most_samples) as address:
        transport = GrpcTransport(address)
        indices = []
        async with aclosing(transport.stream(Batch(), samples())) as items:
            async for item in items:
                assert isinstance(item, Verdict)
                assert item.id == str(item.index)
                indices.append(item.index)
                told.set()
        await transport.close()
    assert indices == list(range(count + 1))
    return script.messages[1:]


async def test_samples_that_are_ready_together_travel_together(script: Script) -> None:
    found = await sizes(script, 300, count=1000)
    assert max(found) == 300
    assert sum(found) == 1000


async def test_a_message_has_a_bounded_length(script: Script) -> None:
    found = await sizes(script, 300, count=100, text="x" * 10_000)
    assert max(found) == 26  # of 256 KiB
    assert sum(found) == 100


async def test_a_sample_longer_than_a_message_should_be_travels_alone(script: Script) -> None:
    assert await sizes(script, 300, count=3, text="x" * 300_000) == [1, 1, 1]


@pytest.mark.parametrize("most_samples", [None, 0, 1])
async def test_a_server_that_does_not_take_many_gets_one_sample_a_message(
    script: Script, most_samples: int | None
) -> None:
    assert await sizes(script, most_samples, count=10) == [0] * 10


async def test_groups_come_after_their_members_in_either_form(target: str, script: Script) -> None:
    async def samples() -> AsyncIterator[Sample]:
        for number in range(40):
            yield Sample(response="", group=str(number // 4), group_size=4)

    transport = open_target(target)
    seen: list[str | None] = []
    async with aclosing(transport.stream(Batch(), samples())) as items:
        async for item in items:
            if isinstance(item, Group):
                assert seen.count(item.group) == 4
            else:
                seen.append(item.group)
    assert len(seen) == 40
    await transport.close()


class Refusing(stubs.RewardServiceServicer, stubs.BoxServiceServicer):  # type: ignore[misc]
    """Answers the first sample of a stream twice, and refuses all that follows; refuses files for boxes."""

    async def VerifyStream(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        await anext(aiter(requests))
        for index in range(2):
            verdict = judge(Sample(response="", reference=""), index)
            yield pb.VerifyStreamReply(verdict=protobuf.verdict_to_message(verdict, Batch().fields))
        await context.abort(grpc.StatusCode.NOT_FOUND, "because")

    async def Write(self, requests: Any, context: Any) -> Any:
        await anext(aiter(requests))
        await context.abort(grpc.StatusCode.NOT_FOUND, "because")


@pytest.fixture
async def refusing() -> AsyncIterator[str]:
    """The address of a server that refuses while the client still sends."""
    server = grpc.aio.server()
    stubs.add_RewardServiceServicer_to_server(Refusing(), server)
    stubs.add_BoxServiceServicer_to_server(Refusing(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(grace=0)


async def send_for_ever(stream: _MessageStream) -> None:
    while True:
        await stream.send(Sample(response="x" * 200_000))


async def test_a_refusal_is_not_lost_to_samples_that_are_still_being_sent(refusing: str) -> None:
    """Flake: grpc.aio puts an error of its own over the status of a call that ends while it writes."""
    async with grpc.aio.insecure_channel(refusing) as channel:
        stream = _MessageStream(stubs.RewardServiceStub(channel).VerifyStream(), pb.VerifyStreamRequest())
        with pytest.raises(PeerClosed):
            await send_for_ever(stream)  # and nobody reads
        assert [(await stream.receive()).index for _ in range(2)] == [0, 1]  # type: ignore[union-attr]
        with pytest.raises(NotFound, match="because"):
            await stream.receive()
        await stream.close()


async def test_a_refusal_is_not_lost_to_a_file_that_is_still_being_sent(refusing: str) -> None:
    transport = GrpcTransport(f"grpc://{refusing}")
    with pytest.raises(NotFound, match="because"):
        await transport.box_call(BoxCall(operation="write", box="b", path="large", content=b"x" * 20_000_000))
    await transport.close()
