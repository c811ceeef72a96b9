"""The promises of every transport: one attempt, the whole answer or a named error, both directions at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from rewarden.errors import (
    REQUEST_ERRORS,
    DeadlineExceeded,
    InvalidRequest,
    Overloaded,
    RequestError,
    Unavailable,
)
from rewarden.transports.base import Transport
from rewarden.transports.targets import open_target
from rewarden.types import (
    BadSample,
    Batch,
    Group,
    Limits,
    Media,
    Progress,
    Run,
    RunResult,
    Sample,
    Step,
    Use,
    Verdict,
)
from tests.client.servers import Script, judge

pytestmark = pytest.mark.needs_server

FULL = Batch(
    samples=(
        Sample(response="a", reference="a", id="1", metadata={"n": 2**53 + 1}),
        Sample(
            response=[{"role": "assistant", "content": "é\u2028😀"}],
            prompt="p",
            use=Use(name="equal", params={"strict": True}),
            steps=(Step(start=1),),
            media=(Media(url="http://x"),),
        ),
    ),
    use=Use(recipe={"score": "1.0"}),
    shared={"k": [1, None]},
    progress=Progress(step=3),
    deadline_s=5.0,
    expect={"equal": "f"},
)


async def each(samples: Iterable[Sample]) -> AsyncIterator[Sample]:
    for sample in samples:
        yield sample


async def call(transport: Transport, how: str) -> None:
    """One call that needs an answer, by either way."""
    if how == "verify":
        await transport.verify(FULL)
    elif how == "run":
        await transport.run(Run(language="python", code=""))
    else:
        await drain(transport.stream(FULL, each(numbered(3))))


async def drain(items: AsyncIterator[Any], into: list[Any] | None = None) -> None:
    """Take all items."""
    async for item in items:
        if into is not None:
            into.append(item)


def numbered(count: int) -> list[Sample]:
    return [Sample(response=str(n), reference=str(n % 7), id=str(n)) for n in range(count)]


async def test_a_batch_arrives_as_it_was_sent_and_its_answer_comes_back(target: str, script: Script) -> None:
    transport = open_target(target)
    result = await transport.verify(FULL)
    assert script.batches == [FULL]
    assert result.verdicts == tuple(map(judge, FULL.samples, range(2)))  # type: ignore[arg-type]
    await transport.close()


async def test_a_program_arrives_as_it_was_sent_and_its_end_comes_back(target: str, script: Script) -> None:
    run = Run(
        language="python",
        code="print('é')",
        stdin="é",
        files={"a": {"base64": "/w=="}, "b/c": ""},
        args=("-x",),
        limits=Limits(cpu_s=0.5, memory_mb=64),
    )
    transport = open_target(target, api_key="secret")
    assert await transport.run(run) == RunResult(status="ok", exit_code=0, stdout="é", enforced={"cpu_s": "no"})
    assert script.runs == [run]
    assert script.authorizations == ["Bearer secret"]
    await transport.close()


async def test_a_stream_arrives_as_it_was_sent_and_its_answer_comes_back(target: str, script: Script) -> None:
    transport = open_target(target)
    samples = [replace(sample, group="g", group_size=2) for sample in FULL.samples]  # type: ignore[arg-type]
    items = [item async for item in transport.stream(FULL, each(samples))]
    assert script.headers == [replace(FULL, samples=())]
    assert script.streams == [samples]
    assert items[:2] == [judge(sample, index) for index, sample in enumerate(samples)]
    assert items[2] == Group(group="g", size=2, scored=2, unscored=0, passed=1, mean=0.5)
    await transport.close()


async def test_an_empty_stream_is_answered_by_nothing(target: str, script: Script) -> None:
    transport = open_target(target)
    assert [item async for item in transport.stream(Batch(use=Use(name="equal")), each([]))] == []
    assert script.headers == [Batch(use=Use(name="equal"))]
    await transport.close()


@pytest.mark.parametrize("code", sorted(REQUEST_ERRORS))
@pytest.mark.parametrize("how", ["verify", "run", "stream"])
async def test_what_the_server_raises_is_raised_here(target: str, script: Script, code: str, how: str) -> None:
    transport = open_target(target)
    script.refusals.append(REQUEST_ERRORS[code]("because é", path="x[0]", retry_after_s=1.5))
    with pytest.raises(REQUEST_ERRORS[code]) as caught:
        await call(transport, how)
    assert caught.value.message == "because é"
    assert caught.value.details == {"path": "x[0]", "retry_after_s": 1.5}
    await transport.close()


async def test_the_api_key_goes_with_every_request(target: str, script: Script) -> None:
    transport = open_target(target, api_key="secret")
    await transport.verify(FULL)
    async for _ in transport.stream(FULL, each([])):
        pass
    assert script.authorizations == ["Bearer secret"] * 2
    await transport.close()


async def test_the_catalogue_and_the_servers_state_are_told(target: str) -> None:
    transport = open_target(target)
    assert await transport.verifiers() == [{"name": "equal", "summary": "Are they equal?"}]
    assert await transport.verifiers("a/b é") == [{"name": "a/b é", "doc": "All of it."}]
    assert await transport.info() == {"version": "0"}
    await transport.close()


@pytest.mark.parametrize("target", ["http://127.0.0.1:1", "grpc://127.0.0.1:1"], indirect=False)
async def test_a_server_that_cannot_be_reached_is_unavailable(target: str) -> None:
    transport = open_target(target)
    with pytest.raises(Unavailable):
        await transport.verify(FULL)
    with pytest.raises(Unavailable):
        await drain(transport.stream(FULL, each(numbered(1))))
    await transport.close()


@pytest.mark.parametrize("how", ["verify", "run", "stream"])
async def test_silence_past_the_time_out_ends_the_call(target: str, script: Script, how: str) -> None:
    script.hold = asyncio.Event()
    transport = open_target(target, timeout_s=0.05)
    with pytest.raises(DeadlineExceeded):
        await call(transport, how)
    script.hold.set()
    await transport.close()


async def test_the_first_verdict_comes_before_the_last_sample_is_made(target: str) -> None:
    answered = asyncio.Event()

    async def live() -> AsyncIterator[Sample]:
        yield numbered(1)[0]
        await asyncio.wait_for(answered.wait(), 30)  # a transport that sends all before it reads would stick here
        yield numbered(2)[1]

    transport = open_target(target)
    indices = []
    async for item in transport.stream(Batch(), live()):
        assert isinstance(item, Verdict)
        indices.append(item.index)
        answered.set()
    assert indices == [0, 1]
    await transport.close()


async def test_more_than_any_buffer_goes_both_ways_at_once(target: str, script: Script) -> None:
    long = "é" * 20_000
    script.judge = lambda sample, index: replace(judge(sample, index), feedback=long)
    transport = open_target(target)
    samples = [replace(sample, prompt=long) for sample in numbered(500)]
    feedback = [item.feedback async for item in transport.stream(Batch(), each(samples))]  # type: ignore[union-attr]
    assert feedback == [long] * 500
    await transport.close()


async def test_an_answer_beyond_grpcs_usual_limit_comes_whole(target: str, script: Script) -> None:
    long = "x" * 6_000_000
    script.judge = lambda sample, index: replace(judge(sample, index), feedback=long)
    transport = open_target(target)
    result = await transport.verify(Batch(samples=[Sample(response=long)]))
    assert result.verdicts[0].feedback == long
    await transport.close()


async def test_what_the_samples_raise_is_raised_here(target: str, script: Script) -> None:
    answered = asyncio.Event()

    async def failing() -> AsyncIterator[Sample]:
        yield numbered(1)[0]
        await answered.wait()
        raise ZeroDivisionError("mine")

    async def read() -> None:
        async for _ in transport.stream(Batch(), failing()):
            answered.set()

    transport = open_target(target)
    with pytest.raises(ZeroDivisionError, match="mine"):
        await read()
    await asyncio.wait_for(script.left.wait(), 30)
    await transport.close()


async def test_a_sample_that_cannot_be_written_is_named(target: str) -> None:
    transport = open_target(target)
    poisoned = Sample(response="", metadata={"x": float("nan")})
    with pytest.raises(InvalidRequest, match=r"samples\[1\].*x: is not a finite number"):
        await drain(transport.stream(Batch(), each([*numbered(1), poisoned])))
    with pytest.raises(InvalidRequest, match=r"samples\[1\].*x: is not a finite number"):
        await transport.verify(Batch(samples=[*numbered(1), poisoned]))
    with pytest.raises(InvalidRequest, match=r"samples\[0\]: no"):
        await transport.verify(Batch(samples=[BadSample(message="no")]))
    await transport.close()


async def test_leaving_a_stream_early_tells_the_server(target: str, script: Script) -> None:
    more = asyncio.Event()

    async def endless() -> AsyncIterator[Sample]:
        yield numbered(1)[0]
        await more.wait()

    transport = open_target(target)
    async with aclosing(transport.stream(Batch(), endless())) as items:
        async for _ in items:
            break
    await asyncio.wait_for(script.left.wait(), 30)
    await transport.close()


@pytest.mark.parametrize("after", [0, 2])
async def test_a_stream_that_breaks_off_is_never_silently_short(target: str, script: Script, after: int) -> None:
    script.breaks.append(after)
    transport = open_target(target)
    got: list[Any] = []
    with pytest.raises(Unavailable):
        await drain(transport.stream(Batch(), each(numbered(4))), got)
    assert len(got) <= after
    await transport.close()


async def test_a_refusal_in_the_middle_of_a_stream_is_raised(target: str, script: Script) -> None:
    def refuse(sample: Sample, index: int) -> Verdict:
        if index == 2:
            raise Overloaded("too much", retry_after_s=3)
        return judge(sample, index)

    script.judge = refuse
    transport = open_target(target)
    with pytest.raises(Overloaded) as caught:
        await drain(transport.stream(Batch(), each(numbered(4))))
    assert caught.value.details == {"retry_after_s": 3}
    await transport.close()


async def test_many_calls_share_a_transport(target: str, script: Script) -> None:
    async def one(number: int) -> RequestError | str | None:
        result = await transport.verify(Batch(samples=[Sample(response=str(number), id=str(number))]))
        return result.verdicts[0].id

    transport = open_target(target)
    assert await asyncio.gather(*map(one, range(50))) == [str(number) for number in range(50)]
    await transport.close()


async def test_a_port_that_does_not_speak_grpc_is_no_server_to_wait_for(http_target: str) -> None:
    transport = open_target(http_target.replace("http://", "grpc://"))
    try:
        for how in ("verify", "stream"):
            with pytest.raises(InvalidRequest, match=r"HTTP/1\.1"):
                await call(transport, how)
    finally:
        await transport.close()
