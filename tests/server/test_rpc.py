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
from rewarden.types import Batch, BatchResult, Group, Sample, Use, Verdict
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
from rewarden_server.rpc.message import rows, rows_in
from rewarden_server.rpc.server import MAX_CALLS
from rewarden_server.rpc.stream_reply import together
from tests.server.conftest import Gates, Running, Start

RIGHT = Sample(response="A", reference="A")
HEADER = pb.VerifyStreamRequest(header=header_to_message(Batch(use=Use(name="same"))))
MANY = pb.VerifyStreamRequest(header=HEADER.header, many=True)


def request(*samples: Sample, use: Any = "same", **envelope: Any) -> pb.VerifyRequest:
    """A batch as a message."""
    named = Use(name=use) if isinstance(use, str) else Use(**use)
    return batch_to_message(Batch(samples=samples, use=named, **envelope))


def row(sample: Sample) -> pb.VerifyStreamRequest:
    """A sample as a message of a stream."""
    return pb.VerifyStreamRequest(sample=sample_to_message(sample))


def several(*samples: Sample) -> pb.VerifyStreamRequest:
    """Samples as one message of a stream."""
    return pb.VerifyStreamRequest(samples=map(sample_to_message, samples))


async def refused(call: Any) -> tuple[grpc.StatusCode, dict[str, Any], dict[str, Any]]:
    """The status, the error and the trailing metadata of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    trailing = dict(raised.value.trailing_metadata() or ())
    return raised.value.code(), json.loads(trailing[ERROR_METADATA])["error"], trailing


async def replies(call: Any) -> list[Verdict | Group]:
    """Returns what a stream answers to a caller that does not say `many`, as types."""
    return [
        verdict_from_message(reply.verdict) if reply.HasField("verdict") else group_from_message(reply.group)
        async for reply in call
    ]


async def replies_of_many(call: Any) -> list[Verdict | Group]:
    """Returns what a stream answers to a caller that says `many`, as types: the first reply announces, and each other
    one holds verdicts, groups, or both."""
    items: list[Verdict | Group] = []
    announced = False
    async for reply in call:
        assert reply.HasField("most_samples") != announced
        announced = True
        assert reply.WhichOneof("item") is None
        items += [*map(verdict_from_message, reply.verdicts), *map(group_from_message, reply.groups)]
    return items


def timeless(result: dict[str, Any]) -> dict[str, Any]:
    """Without what may differ between two runs of the same batch."""
    for verdict in result["verdicts"]:
        for name in ("queue_s", "run_s", "cached"):
            verdict.pop(name, None)
    return result


NO_END = b"\xff"
"""With it behind, nothing is a message: whoever parses it fails, and says so."""


SEVERAL_KINDS: dict[str, Any] = {
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


async def test_the_same_batch_gives_equal_verdicts_over_both(server: Running) -> None:
    over_http = (await server.http.post("/v1/verify", json=SEVERAL_KINDS)).json()
    reply = await server.stub.Verify(batch_to_message(batch_from_json(SEVERAL_KINDS)))
    over_grpc = result_to_json(result_from_message(reply))
    assert len(over_http["verdicts"]) == 10
    assert timeless(over_grpc) == timeless(over_http)


@pytest.mark.parametrize("many", [False, True])
async def test_a_stream_gives_the_verdicts_of_http_in_either_form(server: Running, many: bool) -> None:
    over_http = (await server.http.post("/v1/verify", json=SEVERAL_KINDS)).json()
    batch = batch_from_json(SEVERAL_KINDS)
    header = pb.VerifyStreamRequest(header=header_to_message(batch), many=many)
    samples: Any = batch.samples
    if many:
        items = await replies_of_many(server.stub.VerifyStream([header, several(*samples[:7]), several(*samples[7:])]))
    else:
        items = await replies(server.stub.VerifyStream([header, *map(row, samples)]))
    verdicts = sorted((item for item in items if isinstance(item, Verdict)), key=lambda verdict: verdict.index)
    groups = {item.group: item for item in items if isinstance(item, Group)}
    streamed = BatchResult(verdicts=verdicts, groups=[groups[group["group"]] for group in over_http["groups"]])
    assert timeless(result_to_json(streamed)) == timeless(over_http)


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


STREAMS_OF_ANOTHER_ORDER: dict[str, list[pb.VerifyStreamRequest]] = {
    "nothing": [],
    "a sample": [row(RIGHT)],
    "samples": [several(RIGHT)],
    "two headers": [HEADER, HEADER],
    "an empty message": [pb.VerifyStreamRequest()],
    "an empty message after the header": [HEADER, pb.VerifyStreamRequest()],
    "samples beside the header": [pb.VerifyStreamRequest(header=HEADER.header, samples=several(RIGHT).samples)],
    "samples beside another header": [
        HEADER,
        pb.VerifyStreamRequest(header=HEADER.header, samples=several(RIGHT).samples),
    ],
    "samples beside a sample": [
        HEADER,
        pb.VerifyStreamRequest(sample=row(RIGHT).sample, samples=several(RIGHT).samples),
    ],
}


@pytest.mark.parametrize("messages", STREAMS_OF_ANOTHER_ORDER.values(), ids=STREAMS_OF_ANOTHER_ORDER)
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


# --- many samples in a message, many verdicts in a reply


async def test_a_caller_that_does_not_say_many_sees_the_fields_that_it_knows(server: Running) -> None:
    """Such a caller reads `verdict` and `group`, numbers 1 and 2 of a reply, and has never heard of the others. It may
    send `samples` all the same."""
    call = server.channel.stream_stream("/rewarden.v1.RewardService/VerifyStream")()
    sample = b"\x0a\x03\x0a\x01A" + b"\x2a\x03\x22A\x22" + b"\x42\x01g" + b"\x48\x02"  # A, "A", group g of 2
    for message in (b"\x0a\x08\x0a\x06\x0a\x04same", b"\x12" + bytes([len(sample)]) + sample, several(RIGHT)):
        await call.write(message if isinstance(message, bytes) else message.SerializeToString())
    second = b"\x12" + bytes([len(sample)]) + sample
    await call.write(second)
    await call.done_writing()
    seen = [reply async for reply in call]
    assert sorted(reply[0] for reply in seen) == [1 << 3 | 2] * 3 + [2 << 3 | 2]
    assert all(reply[1 + (2 if reply[1] > 127 else 1) :] for reply in seen)
    parsed = [pb.VerifyStreamReply.FromString(reply) for reply in seen]
    assert {reply.verdict.score for reply in parsed if reply.HasField("verdict")} == {1.0}


async def test_replies_of_many_select_fields(server: Running) -> None:
    header = header_to_message(Batch(use=Use(name="same"), fields=("score",)))
    call = server.stub.VerifyStream([pb.VerifyStreamRequest(header=header, many=True), several(RIGHT, RIGHT)])
    for verdict in await replies_of_many(call):
        assert isinstance(verdict, Verdict)
        assert (verdict.score, verdict.verifier) == (1.0, None)


async def test_most_samples_is_the_limit_and_more_are_refused(start: Start) -> None:
    server = await start({"limits.max_samples": 3})
    call = server.stub.VerifyStream([MANY, several(*[RIGHT] * 3), several(*[RIGHT] * 3)])
    found = [reply async for reply in call]
    assert found[0].most_samples == 3
    assert sum(len(reply.verdicts) for reply in found) == 6
    status, error, _ = await refused(replies_of_many(server.stub.VerifyStream([MANY, several(*[RIGHT] * 4)])))
    assert (status, error["details"]["limit"]) == (grpc.StatusCode.OUT_OF_RANGE, "max_samples")


async def test_a_message_of_many_samples_is_bounded_as_a_batch_is(start: Start) -> None:
    server = await start({"limits.max_body_bytes": 1000})
    status, error, _ = await refused(
        replies_of_many(server.stub.VerifyStream([MANY, several(*[Sample(response="A" * 300)] * 4)]))
    )
    assert (status, error["details"]["limit"]) == (grpc.StatusCode.OUT_OF_RANGE, "max_body_bytes")


ODD_ROWS: dict[str, tuple[bytes, str | None]] = {
    "not a sample": (NO_END * 20, "the message is not a valid Sample"),
    "text that is not UTF-8": (b"\x12\x01\xff", "the message is not a valid Sample"),
    "no response": (b"\x12\x01x", "response: is missing"),
    "a reference that is not JSON": (b"\x0a\x03\x0a\x01A\x2a\x01{", "reference: not JSON"),
    "over the limit": (sample_to_message(Sample(response="A" * 2000)).SerializeToString(), "more than 1000 bytes"),
    "over the limit, and not parsed": (NO_END * 2**21, "more than 1000 bytes"),
    "nested too deeply": (
        sample_to_message(Sample(response="A", metadata={"x": [[[[[[[[1]]]]]]]]})).SerializeToString(),
        "metadata nests deeper than 8 levels",
    ),
    "fields of a later version": (
        sample_to_message(RIGHT).SerializeToString() + b"\xf8\x3f\x01" + b"\xfa\x3f\x01x",
        None,
    ),
}


def framed(tag: int, content: bytes) -> bytes:
    """A field that is a message."""
    size, length = b"", len(content)
    while length > 127:
        size += bytes([length & 127 | 128])
        length >>= 7
    return bytes([tag]) + size + bytes([length]) + content


@pytest.mark.parametrize("name", ODD_ROWS)
async def test_a_bad_row_of_many_costs_no_other(start: Start, name: str) -> None:
    server = await start({"limits.max_sample_bytes": 1000, "limits.max_depth": 8})
    data, message = ODD_ROWS[name]
    good = framed(0x1A, sample_to_message(RIGHT).SerializeToString())
    later = b"\xf8\x3f\x01"  # a field of a later version, beside the rows
    call = server.channel.stream_stream("/rewarden.v1.RewardService/VerifyStream")()
    for sent in (MANY.SerializeToString() + later, good + later + framed(0x1A, data) + good, good):
        await call.write(sent)
    await call.done_writing()
    found = [verdict async for reply in call for verdict in pb.VerifyStreamReply.FromString(reply).verdicts]
    found.sort(key=lambda verdict: verdict.index)
    expected = ("scored", "") if message is None else ("error", "caller")
    assert [(verdict.status, verdict.fault) for verdict in found] == [
        ("scored", ""), expected, ("scored", ""), ("scored", "")
    ]  # fmt: skip
    assert message is None or message in found[1].feedback + found[1].evidence_json


def test_replies_of_many_are_bounded_and_groups_come_last() -> None:
    verdicts = [Verdict(index=n, status="scored", score=1.0, feedback="x" * 300_000, group="g") for n in range(10)]
    group = Group(group="g", size=10, scored=10, unscored=0, passed=0)
    made = list(together([*verdicts[:5], group, *verdicts[5:]], None))
    assert [len(reply.verdicts) for reply in made] == [4, 4, 2]
    assert [len(reply.groups) for reply in made] == [0, 0, 1]
    assert [verdict.index for reply in made for verdict in reply.verdicts] == list(range(10))


# --- before a message is parsed


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
    for message in (
        HEADER.SerializeToString(),
        b"\x12\x80\x80\x80\x01" + NO_END * 2**21,
        row(RIGHT).SerializeToString(),
    ):
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


STREAM_ROWS = {
    "one": row(RIGHT).SerializeToString(),
    "several": several(RIGHT, Sample(response="B"), RIGHT).SerializeToString(),
    "an empty one": b"\x1a\x00",
    "with fields that nobody knows, of each kind": b"\x28\xff\x01" + b"\x31" + b"\x1a" * 8 + b"\x1a\x00",
    "with a length in more bytes than it needs": b"\x1a\x82\x00\x12\x00",
}  # fmt: skip


@pytest.mark.parametrize("data", STREAM_ROWS.values(), ids=STREAM_ROWS)
def test_rows_of_a_stream_are_found_where_protobuf_finds_them(data: bytes) -> None:
    whole = pb.VerifyStreamRequest.FromString(data)
    expected = list(whole.samples) or [whole.sample]
    assert [pb.Sample.FromString(data[start:end]) for start, end in rows_in(data, 100)] == expected


def test_finding_rows_ends_beyond_the_limit() -> None:
    assert len(rows_in(b"\x1a\x00" * 1000 + NO_END, 10)) == 11
    with pytest.raises(InvalidRequest, match="other than samples"):
        rows_in(b"\x1a\x00" + b"\x20\x01" * 1000 + NO_END, 10)


@pytest.mark.parametrize("data", [NO_END * 12, b"\x1a", b"\x1a\x01", b"\x1b\x1c", b"\x1a" + NO_END * 20])
def test_bytes_that_are_no_message_have_no_rows_of_a_stream(data: bytes) -> None:
    with pytest.raises(InvalidRequest):
        rows_in(data, 100)


def test_counting_ends_beyond_the_limit() -> None:
    assert rows(ROW * 1000 + NO_END, 10) == 11
    with pytest.raises(InvalidRequest, match="other than samples"):
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
