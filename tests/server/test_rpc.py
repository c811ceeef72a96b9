"""gRPC: the same verdicts, limits and errors as over HTTP."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from rewarden.errors import InvalidRequest
from rewarden.types import Batch, Group, Sample, Use, Verdict
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire.json import batch_from_json, result_to_json, verdict_to_json
from rewarden.wire.protobuf import (
    ERROR_METADATA,
    batch_to_message,
    group_from_message,
    header_to_message,
    result_from_message,
    sample_to_message,
    verdict_from_message,
)
from rewarden_server.rpc.message import rows
from rewarden_server.rpc.server import MAX_CALLS
from tests.server.conftest import Gates, Running, Start

RIGHT = Sample(response="A", reference="A")
HEADER = pb.VerifyStreamRequest(header=header_to_message(Batch(use=Use(name="same"))))


def request(*samples: Sample, use: Any = "same", **envelope: Any) -> pb.VerifyRequest:
    """A batch as a message."""
    named = Use(name=use) if isinstance(use, str) else Use(**use)
    return batch_to_message(Batch(samples=samples, use=named, **envelope))


def row(sample: Sample) -> pb.VerifyStreamRequest:
    """A sample as a message of a stream."""
    return pb.VerifyStreamRequest(sample=sample_to_message(sample))


async def refused(call: Any) -> tuple[grpc.StatusCode, dict[str, Any], dict[str, Any]]:
    """The status, the error and the trailing metadata of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    trailing = dict(raised.value.trailing_metadata() or ())
    return raised.value.code(), json.loads(trailing[ERROR_METADATA])["error"], trailing


async def replies(call: Any) -> list[Verdict | Group]:
    """Returns what a stream answers, as types."""
    return [
        verdict_from_message(reply.verdict) if reply.HasField("verdict") else group_from_message(reply.group)
        async for reply in call
    ]


def timeless(result: dict[str, Any]) -> dict[str, Any]:
    """Without what may differ between two runs of the same batch."""
    for verdict in result["verdicts"]:
        for name in ("queue_s", "run_s", "cached"):
            verdict.pop(name, None)
    return result


async def test_the_same_batch_gives_equal_verdicts_over_both(server: Running) -> None:
    value = {
        "use": "same",
        "shared": {"k": "A"},
        "samples": [
            {"response": "A", "reference_key": "k", "id": "x", "group": "g", "metadata": {"n": 2**53 + 1}},
            {"response": "B", "reference": "A", "group": "g", "finish_reason": "length"},
            {"response": "a", "reference": "A", "use": {"name": "same", "params": {"matters": False}}},
            {"response": [{"role": "assistant", "content": "é\u2028"}], "reference": "é\u2028", "data_source": "d"},
            {"response": "A", "reference": "A", "use": "worked"},
            {"response": "A", "use": "broken"},
            {"response": "A", "use": "nothing"},
            {"response": "A", "reference": {"not": "text"}},
            {"response": "A", "use": "spread", "group": "h"},
            {"response": "A", "use": "spread", "group": "h"},
        ],
    }  # fmt: skip
    over_http = (await server.http.post("/v1/verify", json=value)).json()
    reply = await server.stub.Verify(batch_to_message(batch_from_json(value)))
    over_grpc = result_to_json(result_from_message(reply))
    assert len(over_http["verdicts"]) == 10
    assert timeless(over_grpc) == timeless(over_http)


async def test_a_stream_answers_as_a_batch_does(server: Running) -> None:
    samples = [Sample(response=str(n % 3), reference="0", group=f"g{n // 2}", group_size=2) for n in range(20)]
    items = await replies(server.stub.VerifyStream([HEADER, *map(row, samples)]))
    verdicts = sorted((item for item in items if isinstance(item, Verdict)), key=lambda verdict: verdict.index)
    assert [verdict.score for verdict in verdicts] == [1.0 if n % 3 == 0 else 0.0 for n in range(20)]
    assert {item.group for item in items if isinstance(item, Group)} == {f"g{n}" for n in range(10)}


async def test_fields_are_selected_in_batches_and_streams(server: Running) -> None:
    reply = await server.stub.Verify(request(RIGHT, fields=("score",)))
    first = pb.VerifyStreamRequest(header=header_to_message(Batch(use=Use(name="same"), fields=("score",))))
    (streamed,) = await replies(server.stub.VerifyStream([first, row(RIGHT)]))
    for verdict in (verdict_from_message(reply.verdicts[0]), streamed):
        assert isinstance(verdict, Verdict)
        assert verdict.score == 1.0
        assert verdict.verifier is None
        assert verdict_to_json(verdict)["passed"] is None


async def test_a_fault_of_the_envelope_is_invalid_argument(server: Running) -> None:
    message = pb.VerifyRequest(header=pb.Header(deadline_s=-1))
    status, error, _ = await refused(server.stub.Verify(message))
    assert (status, error["details"]["path"]) == (grpc.StatusCode.INVALID_ARGUMENT, "deadline_s")


async def test_a_moved_fingerprint_is_failed_precondition(server: Running) -> None:
    for call in (
        server.stub.Verify(request(RIGHT, expect={"same": "0"})),
        server.stub.Verify(request(RIGHT, expect={"same": "same@2"})),
        _drained(server, Batch(use=Use(name="same"), expect={"same": "0"})),
    ):
        status, error, _ = await refused(call)
        assert (status, error["code"]) == (grpc.StatusCode.FAILED_PRECONDITION, "fingerprint_moved")


async def _drained(server: Running, header: Batch) -> list[Any]:
    first = pb.VerifyStreamRequest(header=header_to_message(header))
    return [reply async for reply in server.stub.VerifyStream([first])]


async def test_a_missing_blob_is_not_found(server: Running) -> None:
    status, error, _ = await refused(server.stub.Verify(request(shared={"k": {"$blob": "0" * 64}})))
    assert (status, error["details"]["blob"]) == (grpc.StatusCode.NOT_FOUND, "0" * 64)


async def test_limits_are_out_of_range_and_named(start: Start) -> None:
    server = await start({"limits.max_samples": 2, "limits.max_depth": 8, "limits.max_body_bytes": 10_000})
    deep: Any = 1
    for _ in range(9):
        deep = [deep]
    for message, limit in (
        (request(*[RIGHT] * 3), "max_samples"),
        (request(shared={"k": deep}), "max_depth"),
        (request(Sample(response="A" * 10_000, reference="A")), "max_body_bytes"),
    ):
        status, error, _ = await refused(server.stub.Verify(message))
        assert (status, error["code"], error["details"]["limit"]) == (grpc.StatusCode.OUT_OF_RANGE, "too_large", limit)


async def test_a_row_over_a_limit_is_that_rows_error(start: Start) -> None:
    server = await start({"limits.max_sample_bytes": 1000, "limits.max_depth": 8})
    long = Sample(response="A" * 2000, reference="A", id="long")
    deep = Sample(response="A", reference="A", id="deep", metadata={"x": [[[[[[[[1]]]]]]]]})
    items = await replies(server.stub.VerifyStream([HEADER, row(long), row(deep), row(RIGHT)]))
    found = {item.id: (item.status, item.fault) for item in items if isinstance(item, Verdict)}
    assert found == {"long": ("error", "caller"), "deep": ("error", "caller"), None: ("scored", None)}


async def test_overload_is_resource_exhausted_and_says_when_to_retry(start: Start, gate: Gates) -> None:
    server = await start({"engine.max_samples": 1})
    waiting = asyncio.ensure_future(_waited(server.stub.Verify(request(RIGHT, use=gate.use))))
    await gate.entered()
    status, error, trailing = await refused(server.stub.Verify(request(RIGHT)))
    assert (status, error["code"]) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "overloaded")
    assert error["details"]["retry_after_s"] > 0
    assert int(trailing["grpc-retry-pushback-ms"]) > 0
    gate.open()
    assert len((await waiting).verdicts) == 1


async def test_messages_share_the_bound_on_what_is_read_at_once(start: Start) -> None:
    server = await start({"limits.max_open_bytes": 1000})
    status, _, _ = await refused(server.stub.Verify(request(Sample(response="A" * 1001, reference="A"))))
    assert status == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert len((await server.stub.Verify(request(RIGHT))).verdicts) == 1


async def _waited(call: Any) -> Any:
    return await call


@pytest.mark.parametrize("kind", ["batch", "stream"])
async def test_a_caller_that_leaves_cancels_its_work(server: Running, gate: Gates, kind: str) -> None:
    if kind == "batch":
        call = server.stub.Verify(request(RIGHT, use=gate.use))
    else:
        first = pb.VerifyStreamRequest(header=header_to_message(Batch(use=Use(**gate.use))))
        call = server.stub.VerifyStream([first, row(RIGHT)])
        reading = asyncio.ensure_future(replies(call))
    await gate.entered()
    call.cancel()
    await gate.left()
    if kind == "stream":
        with pytest.raises(asyncio.CancelledError):
            await reading


@pytest.mark.parametrize("messages", [[], [row(RIGHT)], [HEADER, HEADER], [pb.VerifyStreamRequest()]])
async def test_a_stream_is_a_header_then_samples(server: Running, messages: list[Any]) -> None:
    async def read() -> list[Any]:
        return [reply async for reply in server.stub.VerifyStream(messages)]

    status, error, _ = await refused(read())
    assert (status, error["code"]) == (grpc.StatusCode.INVALID_ARGUMENT, "invalid_request")


async def test_a_verdict_comes_before_the_next_sample_is_sent(server: Running) -> None:
    told = asyncio.Event()

    async def messages() -> AsyncIterator[pb.VerifyStreamRequest]:
        yield HEADER
        for _ in range(3):
            yield row(RIGHT)
            await told.wait()
            told.clear()

    count = 0
    async for reply in server.stub.VerifyStream(messages()):
        count += reply.HasField("verdict")
        told.set()
    assert count == 3


async def test_verifiers_and_info_are_those_of_http(server: Running) -> None:
    listed = await server.stub.ListVerifiers(pb.ListVerifiersRequest())
    over_http = [
        item["name"]
        for kind in ("verifiers", "recipes")
        for item in (await server.http.get(f"/v1/{kind}")).json()[kind]
    ]
    assert [item.name for item in listed.verifiers] == over_http
    (one,) = (await server.stub.ListVerifiers(pb.ListVerifiersRequest(name="same"))).verifiers
    assert json.loads(one.info_json) == (await server.http.get("/v1/verifiers/same")).json()
    status, _, _ = await refused(server.stub.ListVerifiers(pb.ListVerifiersRequest(name="samee")))
    assert status == grpc.StatusCode.NOT_FOUND
    info = json.loads((await server.stub.Info(pb.InfoRequest())).info_json)
    assert info["limits"] == (await server.http.get("/v1/info")).json()["limits"]


async def test_health_and_reflection_answer(server: Running) -> None:
    health = health_pb2_grpc.HealthStub(server.channel)
    for name in ("", "rewarden.v1.RewardService"):
        reply = await health.Check(health_pb2.HealthCheckRequest(service=name))
        assert reply.status == health_pb2.HealthCheckResponse.SERVING
    reflection = reflection_pb2_grpc.ServerReflectionStub(server.channel)
    call = reflection.ServerReflectionInfo([reflection_pb2.ServerReflectionRequest(list_services="")])
    listed = [service.name async for reply in call for service in reply.list_services_response.service]
    assert "rewarden.v1.RewardService" in listed


async def test_a_large_batch_passes(server: Running) -> None:
    text = "x" * 2000  # 8 MB each way; gRPC's own limit is 4
    reply = await server.stub.Verify(request(*[Sample(response=text, reference=text)] * 2000))
    assert len(reply.verdicts) == 2000


# --- before a message is parsed

NO_END = b"\xff"
"""With it behind, nothing is a message: whoever parses it fails, and says so."""


async def raw(server: Running, data: bytes, method: str = "Verify", **options: Any) -> Any:
    """A call whose message is these bytes."""
    return await server.channel.unary_unary(f"/rewarden.v1.RewardService/{method}")(data, **options)


async def test_rows_are_counted_before_they_are_parsed(start: Start) -> None:
    server = await start({"limits.max_samples": 2})
    status, error, _ = await refused(raw(server, b"\x12\x00" * 3 + NO_END))
    assert (status, error["details"]["limit"]) == (grpc.StatusCode.OUT_OF_RANGE, "max_samples")


@pytest.mark.parametrize(("method", "limit"), [("Verify", "max_body_bytes"), ("Run", "max_run_bytes")])
async def test_a_long_message_is_refused_before_it_is_parsed(start: Start, method: str, limit: str) -> None:
    server = await start({f"limits.{limit}": 1000})
    status, error, _ = await refused(raw(server, NO_END * 1001, method))
    assert (status, error["details"]["limit"]) == (grpc.StatusCode.OUT_OF_RANGE, limit)


async def test_a_message_has_its_place_before_it_is_parsed(start: Start) -> None:
    server = await start({"limits.max_open_bytes": 1000})
    status, _, _ = await refused(raw(server, NO_END * 1001))
    assert status == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_long_row_of_a_stream_is_not_parsed_and_its_neighbours_are_unharmed(start: Start) -> None:
    server = await start({"limits.max_sample_bytes": 1000})
    call = server.channel.stream_stream("/rewarden.v1.RewardService/VerifyStream")()
    for message in (HEADER.SerializeToString(), NO_END * 2**21, row(RIGHT).SerializeToString()):
        await call.write(message)
    await call.done_writing()
    found = [pb.VerifyStreamReply.FromString(reply).verdict async for reply in call]
    assert {(verdict.index, verdict.status, verdict.fault) for verdict in found} == {
        (0, "error", "caller"),
        (1, "scored", ""),
    }


@pytest.mark.parametrize("packing", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
async def test_a_message_far_over_the_limit_is_not_even_received(start: Start, packing: grpc.Compression) -> None:
    server = await start({"limits.max_body_bytes": 1000})
    with pytest.raises(grpc.aio.AioRpcError, match="larger than max"):
        await raw(server, b"\x00" * 2**21, compression=packing)


@pytest.mark.parametrize("method", ["Verify", "Run", "ListVerifiers", "Info"])
async def test_what_is_no_message_is_the_callers_fault(server: Running, method: str) -> None:
    status, error, _ = await refused(raw(server, NO_END, method))
    assert (status, error["code"]) == (grpc.StatusCode.INVALID_ARGUMENT, "invalid_request")
    call = server.channel.stream_unary(f"/rewarden.v1.RewardService/{method}")()
    await call.done_writing()
    status, error, _ = await refused(call)
    assert (status, error["code"]) == (grpc.StatusCode.INVALID_ARGUMENT, "invalid_request")


ROW = b"\x12\x02\x12\x00"  # its id is empty
ODD = {
    "an empty message": b"",
    "rows before and behind the header": ROW * 2 + b"\x0a\x00" + ROW,
    "a tag in more bytes than it needs": b"\x92\x00\x02\x12\x00",
    "a length in more bytes than it needs": b"\x12\x82\x00\x12\x00",
    "fields that nobody knows, of each kind": b"\x18\xff\x01" + b"\x21" + b"\x12" * 8 + b"\x2d" + b"\x12" * 4 + ROW,
    "the rows' number with another kind": b"\x10\x07" + ROW,
    "what looks like rows within a row": b"\x12\x06\x7a\x04\x12\x00\x12\x00",
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_rows_are_counted_as_protobuf_counts_them(data: bytes) -> None:
    assert rows(data, 100) == len(pb.VerifyRequest.FromString(data).samples)


def test_counting_ends_beyond_the_limit() -> None:
    assert rows(ROW * 1000 + NO_END, 10) == 11
    with pytest.raises(InvalidRequest, match="besides its samples"):
        rows(b"\x0a\x00" * 1000 + NO_END, 10)


@pytest.mark.parametrize("data", [NO_END * 12, b"\x12", b"\x13\x14", b"\x12" + NO_END * 20])
def test_bytes_that_are_no_message_have_no_rows(data: bytes) -> None:
    with pytest.raises(InvalidRequest):
        rows(data, 100)


# --- connections


MAX_CONCURRENT_STREAMS = 3
"""The setting's number in HTTP/2."""


async def settings(server: Running, opened: AsyncExitStack) -> dict[int, int]:
    """Returns what the server says first to a new connection: HTTP/2's settings. None, when it closes it at once."""
    host, _, port = server.serving.grpc.removeprefix("grpc://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    opened.callback(writer.close)
    size = int.from_bytes((await reader.read(9))[:3], "big")
    return dict(struct.iter_unpack(">HI", await reader.readexactly(size)))


async def test_connections_and_the_calls_of_each_are_bounded(start: Start) -> None:
    server = await start({"limits.max_connections": 2})
    async with AsyncExitStack() as opened:
        first, second, third = [await settings(server, opened) for _ in range(3)]
    assert first[MAX_CONCURRENT_STREAMS] == second[MAX_CONCURRENT_STREAMS] == MAX_CALLS
    assert third == {}
