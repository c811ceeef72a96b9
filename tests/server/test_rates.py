"""The limits of a key: rates, quotas, and concurrent requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import grpc
import pytest

from rewarden.errors import Overloaded, TooLarge
from rewarden.types import Batch, Sample, Use
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire.protobuf import batch_to_message, header_to_message, sample_to_message
from rewarden_server.access.key_record import new_key
from rewarden_server.access.rates import AGAIN_S, Meter
from rewarden_server.access.rules import KeyRule
from tests.server.clock import Clock
from tests.server.conftest import Gates, Running, Start

SAMPLE = {"response": "The answer is (B).", "reference": "B", "use": {"name": "choice"}}


def meter(clock: Clock, **rule: Any) -> Meter:
    """A meter of one rule."""
    return Meter("trainer", KeyRule(**rule), clock=clock, wall=clock)


def wait_of(work: Any) -> float:
    """The seconds after which a refused caller may come back."""
    with pytest.raises(Overloaded) as raised:
        work()
    return float(raised.value.details["retry_after_s"])


def test_a_minutes_worth_goes_at_once_and_then_as_fast_as_the_rate() -> None:
    clock = Clock()
    found = meter(clock, requests_per_minute=6)
    for _ in range(6):
        found.begin()
    assert wait_of(found.begin) == pytest.approx(10.0)
    clock.now += 9.9
    assert wait_of(found.begin) == pytest.approx(0.1)
    clock.now += 0.1
    found.begin()
    assert wait_of(found.begin) == pytest.approx(10.0)


def test_who_comes_back_when_told_is_let_in() -> None:
    clock = Clock()
    found = meter(clock, samples_per_minute=7)
    found.spend(7)
    for samples in (3, 1, 7, 2):
        clock.now += wait_of(lambda many=samples: found.spend(many))  # type: ignore[misc]
        found.spend(samples)


def test_a_request_over_the_rate_takes_nothing_of_it() -> None:
    found = meter(Clock(), samples_per_minute=10)
    found.spend(6)
    assert wait_of(lambda: found.spend(5)) == pytest.approx(6.0)
    found.spend(4)


@pytest.mark.parametrize("limit", ["samples_per_minute", "samples_per_day"])
def test_what_would_never_fit_is_not_told_to_come_back(limit: str) -> None:
    with pytest.raises(TooLarge) as raised:
        meter(Clock(), **{limit: 10}).spend(11)
    assert raised.value.details == {"limit": limit, "most": 10}


def test_the_days_samples_are_back_at_midnight() -> None:
    clock = Clock()
    found = meter(clock, samples_per_day=10)
    found.spend(8)
    assert wait_of(lambda: found.spend(3)) == pytest.approx(86_400 - clock.now % 86_400)
    found.spend(2)
    with pytest.raises(Overloaded):
        found.check_left()
    clock.now += 86_400 - clock.now % 86_400
    found.spend(10)


def test_so_many_requests_are_under_way_at_once() -> None:
    found = meter(Clock(), concurrency=2)
    found.begin()
    found.begin()
    assert wait_of(found.begin) == AGAIN_S
    found.end()
    found.begin()


def test_what_a_job_used_holds_up_what_comes_after() -> None:
    clock = Clock()
    found = meter(clock, samples_per_minute=60, samples_per_day=1000)
    found.note(180)
    assert wait_of(lambda: found.spend(1)) == pytest.approx(121.0)
    found.note(1000)
    assert wait_of(lambda: found.spend(1)) > 121.0


async def test_streams_of_one_key_wait_in_turn_and_a_cancelled_one_gives_back() -> None:
    clock = Clock()
    found = meter(clock, samples_per_minute=1)
    await found.wait()
    waiting = asyncio.ensure_future(found.wait())
    await asyncio.sleep(0)
    assert wait_of(lambda: found.spend(1)) == pytest.approx(120.0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert wait_of(lambda: found.spend(1)) == pytest.approx(60.0)


# --- on real servers


async def limited(start: Start, settings: Mapping[str, Any] | None = None, **rule: Any) -> Running:
    """A server whose only key has a rule; its clients send the key."""
    key, digest = new_key()
    keys = {"keys.named": f"trainer={digest}", "keys.rules": json.dumps({"trainer": rule})}
    server = await start(keys | dict(settings or {}))
    server.http.headers["Authorization"] = f"Bearer {key}"
    server.metadata = (("authorization", f"Bearer {key}"),)  # type: ignore[attr-defined]
    meter = server.serving.service.keys._meters["trainer"]
    assert meter is not None
    meter._wall = Clock()  # else the day may end in the middle of a test
    return server


async def test_both_surfaces_draw_on_one_allowance(start: Start) -> None:
    server = await limited(start, samples_per_day=3)
    assert (await server.verify(SAMPLE, SAMPLE)).status_code == 200
    refused = await server.verify(SAMPLE, SAMPLE)
    body = refused.json()["error"]
    assert (refused.status_code, body["code"], body["details"]["limit"]) == (429, "overloaded", "samples_per_day")
    wait_s = body["details"]["retry_after_s"]
    assert wait_s <= int(refused.headers["Retry-After"]) <= wait_s + 1
    message = batch_to_message(Batch(samples=[Sample(response="B", reference="B", use=Use(name="choice"))] * 2))
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await server.stub.Verify(message, metadata=server.metadata)  # type: ignore[attr-defined]
    assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert dict(raised.value.trailing_metadata() or ())["grpc-retry-pushback-ms"]
    assert (await server.verify(SAMPLE)).status_code == 200


async def test_a_refused_request_is_not_begun(start: Start, gate: Gates) -> None:
    server = await limited(start, samples_per_minute=1)
    assert (await server.verify(SAMPLE)).status_code == 200
    assert (await server.verify({"response": "x", "use": gate.use})).status_code == 429
    assert not (gate.folder / "entered").exists()


async def test_a_request_ends_its_place_however_it_ends(start: Start) -> None:
    server = await limited(start, concurrency=1)
    for body in (b"{", b'{"samples": []}', b""):
        answer = await server.http.post("/v1/verify", content=body)
        assert answer.status_code in (200, 400), answer.text
    for path in ("/v1/nothing", "/v1/info"):
        assert (await server.http.get(path)).status_code in (200, 404)


async def test_streams_that_are_left_give_their_place_back(start: Start) -> None:
    server = await limited(start, concurrency=1)

    async def messages() -> Any:
        yield pb.VerifyStreamRequest(header=header_to_message(Batch(samples=[], use=Use(name="choice"))))
        while True:
            yield pb.VerifyStreamRequest(sample=sample_to_message(Sample(response="B", reference="B")))

    call = server.stub.VerifyStream(messages(), metadata=server.metadata)  # type: ignore[attr-defined]
    await call.read()
    assert (await server.http.get("/v1/info")).status_code == 429
    call.cancel()
    async with asyncio.timeout(30):
        while (await server.http.get("/v1/info")).status_code != 200:
            await asyncio.sleep(0.01)


async def test_a_second_request_is_refused_while_the_first_runs(start: Start, gate: Gates) -> None:
    server = await limited(start, concurrency=1)
    first = asyncio.ensure_future(server.verify({"response": "x", "use": gate.use}))
    await gate.entered()
    second = await server.verify(SAMPLE)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await server.stub.Info(pb.InfoRequest(), metadata=server.metadata)  # type: ignore[attr-defined]
    gate.open()
    assert (await first).status_code == 200
    assert second.status_code == 429
    assert second.json()["error"]["details"]["limit"] == "concurrency"
    assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_call_over_the_rate_has_no_message_read(start: Start) -> None:
    server = await limited(start, requests_per_minute=1)
    assert (await server.http.get("/v1/info")).status_code == 200
    for method in ("Verify", "Run", "ListVerifiers", "Info"):
        path = f"/rewarden.v1.RewardService/{method}"
        call = server.channel.stream_unary(path)(metadata=server.metadata)  # type: ignore[attr-defined]
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await call  # answered while we still send
        assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_stream_over_the_days_samples_ends_with_an_error_after_its_verdicts(start: Start) -> None:
    server = await limited(start, samples_per_day=2)
    lines = [{"batch": {"use": "choice"}}, *[{"response": "B", "reference": "B"}] * 3]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    answer = await server.http.post("/v1/verify/stream", content=body, headers={"Content-Type": "application/x-ndjson"})
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert told[-1]["error"]["code"] == "overloaded"
    assert all("verdict" in line for line in told[:-1])

    def messages() -> Any:
        yield pb.VerifyStreamRequest(header=header_to_message(Batch(samples=[], use=Use(name="choice"))))
        yield pb.VerifyStreamRequest(sample=sample_to_message(Sample(response="B", reference="B")))

    with pytest.raises(grpc.aio.AioRpcError) as raised:
        async for _ in server.stub.VerifyStream(messages(), metadata=server.metadata):  # type: ignore[attr-defined]
            pass
    assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_what_the_server_had_no_place_for_is_not_counted(start: Start, gate: Gates) -> None:
    server = await limited(start, {"engine.max_samples": 1}, samples_per_day=2)
    first = asyncio.ensure_future(server.verify({"response": "x", "use": gate.use}))
    await gate.entered()
    for _ in range(3):
        refused = await server.verify(SAMPLE)
        assert refused.status_code == 429
        assert "do not fit" in refused.json()["error"]["message"]
    gate.open()
    assert (await first).status_code == 200
    assert (await server.verify(SAMPLE)).status_code == 200
    assert (await server.verify(SAMPLE)).json()["error"]["details"]["limit"] == "samples_per_day"


async def test_peers_protocols_count_too(start: Start) -> None:
    server = await limited(start, samples_per_day=1)
    body = {"response": "B", "label": "B"}
    assert (await server.http.post("/compat/slime/choice/rm", json=body)).status_code == 200
    assert (await server.http.post("/compat/slime/choice/rm", json=body)).status_code == 429


async def test_a_rule_may_bound_those_who_have_no_key(start: Start) -> None:
    server = await start({"keys.rules": json.dumps({"*": {"requests_per_minute": 1, "scopes": ["verify"]}})})
    assert (await server.verify(SAMPLE)).status_code == 200
    assert (await server.verify(SAMPLE)).status_code == 429
    assert (await server.http.get("/readyz")).status_code == 200
