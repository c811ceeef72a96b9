"""The client: order restored, streams where they help, tries where they are safe, blocking if there is no loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from rewarden import AsyncClient, Client
from rewarden.errors import InvalidRequest, NotFound, Overloaded, Unavailable
from rewarden.loop_thread import LoopThread
from rewarden.retry import NO_RETRY, Retry
from rewarden.types import Batch, Group, Progress, Sample, Use, Verdict
from tests.client.servers import SERVERS, Script, judge

pytestmark = pytest.mark.needs_server

AT_ONCE = Retry(attempts=3, first_s=0.0)


def rows(count: int) -> list[Sample]:
    """Samples in groups of three, the groups interleaved; every other one is right."""
    return [
        Sample(response=str(n % 2), reference="1", id=str(n), group=f"g{n % (count // 3 or 1)}") for n in range(count)
    ]


async def test_a_small_batch_is_one_request(target: str, script: Script) -> None:
    async with AsyncClient(target) as client:
        result = await client.verify(rows(9), "equal")
    assert [verdict.index for verdict in result.verdicts] == list(range(9))
    assert [batch.use for batch in script.batches] == [Use(name="equal")]
    assert not script.streams


async def test_a_large_batch_is_a_stream_and_nobody_can_tell(target: str, script: Script) -> None:
    async with AsyncClient(target, stream_above=8) as streaming, AsyncClient(target, stream_above=9) as whole:
        assert await streaming.verify(rows(9), "equal") == await whole.verify(rows(9), "equal")
    assert len(script.streams) == len(script.batches) == 1


async def test_much_text_is_a_stream_too(target: str, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarden.client.STREAM_ABOVE_CHARACTERS", 10)
    async with AsyncClient(target) as client:
        await client.verify([Sample(response="x" * 11)])
    assert len(script.streams) == 1


async def test_a_streamed_batch_says_when_each_group_is_whole(target: str, script: Script) -> None:
    samples = [*rows(6), Sample(response=""), Sample(response="", group="known", group_size=7)]
    async with AsyncClient(target, stream_above=0) as client:
        result = await client.verify(samples)
    assert [sample.group_size for sample in script.streams[0]] == [3, 3, 3, 3, 3, 3, None, 7]
    assert [group.group for group in result.groups] == ["g0", "g1", "known"], "in order of appearance"


async def test_a_broken_stream_costs_nothing(target: str, script: Script) -> None:
    script.breaks.extend([4, 1])
    async with AsyncClient(target, stream_above=0, retry=AT_ONCE) as client:
        result = await client.verify(rows(12))
    assert [verdict.id for verdict in result.verdicts] == [str(n) for n in range(12)]
    assert [group.size for group in result.groups] == [3] * 4
    assert len(script.streams) == 3


async def test_arguments_stand_over_the_fields_of_a_batch(target: str, script: Script) -> None:
    batch = Batch(samples=rows(3), use=Use(name="old"), deadline_s=5.0)
    async with AsyncClient(target) as client:
        await client.verify(batch, {"name": "new", "params": {"a": 1}}, progress=Progress(step=2))
        await client.verify(batch)
    assert script.batches[0].use == Use(name="new", params={"a": 1})
    assert (script.batches[0].deadline_s, script.batches[0].progress) == (5.0, Progress(step=2))
    assert script.batches[1].use == Use(name="old")


async def test_rows_may_be_mappings_and_a_misspelt_one_is_refused_before_anything_is_sent(
    target: str, script: Script
) -> None:
    async with AsyncClient(target) as client:
        result = await client.verify([{"response": "1", "reference": "1"}])
        assert result.verdicts[0].score == 1.0
        with pytest.raises(InvalidRequest, match=r"samples\[1\].*did you mean 'response'"):
            await client.verify([{"response": ""}, {"respones": ""}])
    assert len(script.batches) == 1


async def test_one_response_has_one_verdict(target: str) -> None:
    async with AsyncClient(target) as client:
        verdict = await client.verify_one("1", "1", "equal", id="a")
    assert (verdict.score, verdict.id) == (1.0, "a")


async def test_a_stream_takes_samples_from_anything_that_can_be_iterated(target: str) -> None:
    async def live() -> AsyncIterator[dict[str, Any]]:
        yield {"response": "1"}

    async with AsyncClient(target) as client:
        for source in (live(), iter(rows(1)), rows(1), Batch(samples=rows(1))):
            verdicts = [item async for item in client.stream(source) if isinstance(item, Verdict)]
            assert [verdict.index for verdict in verdicts] == [0]


async def test_what_may_help_is_tried_again(target: str, script: Script) -> None:
    script.refusals.extend([Overloaded("busy"), Unavailable("draining")])
    async with AsyncClient(target, retry=AT_ONCE) as client:
        await client.verify(rows(3))
    assert len(script.authorizations) == 3


@pytest.mark.parametrize(
    ("refusal", "retry", "tries"),
    [
        (Overloaded("busy"), AT_ONCE, 3),
        (Overloaded("busy"), NO_RETRY, 1),
        (Overloaded("busy", retry_after_s=999.0), AT_ONCE, 1),
        (InvalidRequest("wrong"), AT_ONCE, 1),
        (NotFound("wrong"), AT_ONCE, 1),
    ],
)
async def test_tries_are_bounded_and_made_only_where_they_help(
    target: str, script: Script, refusal: Any, retry: Retry, tries: int
) -> None:
    script.refusals.extend([refusal] * 9)
    async with AsyncClient(target, retry=retry) as client:
        with pytest.raises(type(refusal)):
            await client.verify(rows(3))
    assert len(script.authorizations) == tries


def test_the_wait_doubles_has_jitter_and_honours_the_servers_wish() -> None:
    retry = Retry(attempts=100, first_s=1.0, most_s=8.0, patience_s=60.0)
    for failures, most in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (50, 8.0)):
        waits = {retry.wait_s(failures, Overloaded("")) for _ in range(50)}
        assert all(wait is not None and 0.0 <= wait <= most for wait in waits)
        assert len(waits) > 10
    wait = retry.wait_s(1, Overloaded("", retry_after_s=30))
    assert wait is not None
    assert 30.0 <= wait <= 31.0
    assert retry.wait_s(1, Overloaded("", retry_after_s=61)) is None


async def test_a_key_that_no_header_can_hold_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="api_key"):
        AsyncClient(api_key="secret\n")


@pytest.mark.parametrize("target", ["ftp://x", "127.0.0.1:8080", "somewhere"])
async def test_a_target_that_nobody_knows_is_refused_with_those_that_are_known(target: str) -> None:
    with pytest.raises(InvalidRequest, match="use http://HOST:PORT"):
        await AsyncClient(target).info()


async def test_the_target_local_without_the_server_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: ())
    with pytest.raises(InvalidRequest, match="needs rewarden-server: pip install"):
        await AsyncClient("local").info()


async def test_a_package_may_declare_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        def __init__(self, target: str, **options: Any) -> None:
            self.told = {"target": target, **options}

        async def info(self) -> dict[str, Any]:
            return self.told

        async def close(self) -> None: ...

    class Point:
        def load(self) -> type[Mine]:
            return Mine

    def points(*, group: str, name: str) -> list[Point]:
        assert (group, name) == ("rewarden.targets", "mine")
        return [Point()]

    monkeypatch.setattr("importlib.metadata.entry_points", points)
    async with AsyncClient("mine://a", api_key="k", workers=2) as client:
        assert await client.info() == {"target": "mine://a", "api_key": "k", "timeout_s": None, "workers": 2}


def test_one_client_serves_one_loop_after_another(served: str) -> None:
    client = AsyncClient(served)
    for _ in range(2):
        assert asyncio.run(client.info()) == {"version": "0"}
    asyncio.run(client.close())


# --- without await ---------------------------------------------------------------------------------------------


def test_everything_works_without_await(served: str) -> None:
    with Client(served) as client:
        assert client.verify_one("1", "1", "equal").score == 1.0
        assert len(client.verify(iter(rows(9)), "equal").verdicts) == 9
        assert client.verifiers() == [{"name": "equal", "summary": "Are they equal?"}]
        assert client.verifiers("equal")[0]["doc"] == "All of it."
        assert client.info() == {"version": "0"}
        items = list(client.stream(rows(9), use="equal"))
        assert sorted(item.index for item in items if isinstance(item, Verdict)) == list(range(9))
        assert len([item for item in items if isinstance(item, Group)]) == 3
        with pytest.raises(InvalidRequest):
            client.verify([{"text": ""}])


def test_single_samples_of_one_envelope_share_a_stream_whatever_thread_they_come_from(
    served: str, script: Script
) -> None:
    came: list[Sample] = []
    all_came = asyncio.Event()

    async def together(header: Batch, samples: AsyncIterator[Sample]) -> AsyncIterator[Verdict | Group]:
        script.headers.append(header)
        indices = []
        async for sample in samples:
            came.append(sample)
            indices.append((sample, len(indices)))
            if len(came) == 16:
                all_came.set()
            if len(indices) == 8:
                await all_came.wait()
                for one, index in indices:
                    yield judge(one, index)

    script.stream = together  # type: ignore[method-assign]
    with Client(served, timeout_s=60) as client, ThreadPoolExecutor(16) as pool:
        fields = ("status", "score")
        calls = [
            pool.submit(client.verify, [Sample(response="1", id=str(n))], ("a", "b")[n % 2], fields=fields)
            for n in range(16)
        ]
        results = [call.result() for call in calls]
    assert [result.verdicts[0].id for result in results] == [str(n) for n in range(16)]
    assert {(len(result.verdicts), result.verdicts[0].index, result.groups) for result in results} == {(1, 0, ())}
    assert sorted((header.use.name, header.fields) for header in script.headers if header.use) == [  # type: ignore[type-var]
        ("a", fields),
        ("b", fields),
    ]
    assert script.batches == []


@pytest.mark.parametrize("envelope", [{"deadline_s": 5.0}, {"shared": {"k": 1}}, {"use": {"name": "a"}, "grouped": 1}])
def test_a_single_sample_that_a_shared_stream_cannot_state_is_a_request(
    served: str, script: Script, envelope: dict[str, Any]
) -> None:
    group = "g" if envelope.pop("grouped", None) else None
    with Client(served) as client:
        result = client.verify([Sample(response="1", group=group)], **envelope)
    assert ([len(batch.samples) for batch in script.batches], script.streams) == ([1], [])
    assert [found.group for found in result.groups] == ([group] if group else [])


def test_parameters_without_end_open_no_streams_without_end(served: str, script: Script) -> None:
    class All(asyncio.Event):
        came = 0

        async def wait(self) -> Any:
            self.came += 1
            if self.came == 20:
                self.set()
            return await super().wait()

    script.hold = All()
    with Client(served, timeout_s=60) as client, ThreadPoolExecutor(20) as pool:
        uses = [{"name": "equal", "params": {"n": n}} for n in range(20)]
        assert [verdict.score for verdict in pool.map(client.verify_one, "1" * 20, "1" * 20, uses)] == [1.0] * 20
    assert (len(script.streams), len(script.batches)) == (8, 12)


def test_an_error_of_a_shared_stream_is_raised_only_to_whom_it_belongs(served: str, script: Script) -> None:
    script.refusals.append(InvalidRequest("not as a stream"))
    with Client(served) as client:
        assert client.verify_one("1", "1").score == 1.0
        script.refusals.extend([InvalidRequest("not as a stream"), InvalidRequest("nor as a request")])
        with pytest.raises(InvalidRequest, match="nor as a request"):
            client.verify_one("1", "1")


def test_a_shared_stream_is_retried_for_as_long_as_the_client_says(served: str, script: Script) -> None:
    with Client(served, retry=Retry(first_s=0.0)) as client:
        script.refusals.extend([Unavailable("restarting"), Overloaded("busy")])
        assert client.verify_one("1", "1").score == 1.0
    with Client(served, retry=NO_RETRY) as client:
        script.refusals.append(Unavailable("restarting"))
        with pytest.raises(Unavailable, match="restarting"):
            client.verify_one("1", "1")


async def test_it_works_inside_a_running_loop(served: str) -> None:
    with Client(served) as client:
        assert client.verify_one("1", "1").score == 1.0


def test_many_threads_share_a_client(served: str) -> None:
    scores: list[float | None] = []
    with Client(served) as client:
        threads = [threading.Thread(target=lambda: scores.append(client.verify_one("1", "1").score)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert scores == [1.0] * 16


def test_a_generator_of_samples_may_wait_for_verdicts(served: str) -> None:
    answered = threading.Event()

    def live() -> Iterator[Sample]:
        yield Sample(response="1")
        assert answered.wait(30), "a client that made samples on its loop would never hear the first verdict"
        yield Sample(response="2")

    with Client(served) as client:
        seen = 0
        for _ in client.stream(live()):
            seen += 1
            answered.set()
    assert seen == 2


def test_what_the_samples_raise_comes_out_of_the_stream(served: str) -> None:
    def failing() -> Iterator[Sample]:
        yield Sample(response="1")
        raise ZeroDivisionError("mine")

    with Client(served) as client, pytest.raises(ZeroDivisionError, match="mine"):
        list(client.stream(failing()))


def test_leaving_a_stream_early_tells_the_server(served: str, script: Script) -> None:
    with ExitStack() as stack:
        client = stack.enter_context(Client(served))
        more = threading.Event()
        stack.callback(more.set)

        def endless() -> Iterator[Sample]:
            yield Sample(response="1")
            more.wait()

        stream = client.stream(endless())
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        for _ in range(3000):
            if script.left.is_set():
                break
            more.wait(0.01)
        assert script.left.is_set()


@pytest.fixture(params=sorted(SERVERS))
def served_either_way(request: pytest.FixtureRequest, script: Script) -> Iterator[str]:
    """The address of a scripted server that runs in another thread, over each transport."""
    thread = LoopThread("server")
    server = SERVERS[request.param](script)
    yield thread.run(server.__aenter__())  # type: ignore[arg-type]
    thread.stop(server.__aexit__(None, None, None))  # type: ignore[arg-type]


class Unending:
    """Two samples, and the end of the samples no sooner than `more` is set."""

    def __init__(self) -> None:
        self.more = threading.Event()

    def __iter__(self) -> Iterator[Sample]:
        yield from (Sample(response="1"), Sample(response="2"))
        self.more.wait()


def clients() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "rewarden-client"]


def test_a_stream_that_is_read_on_after_its_client_was_closed_is_never_silently_short(served_either_way: str) -> None:
    samples = Unending()
    with Client(served_either_way) as client:
        stream = client.stream(samples)
        seen = [next(stream), next(stream)]
    with pytest.raises(Unavailable, match="client was closed"):
        next(stream)
    assert [item.index for item in seen if isinstance(item, Verdict)] == [0, 1]
    assert not clients(), "reading on must not begin another thread, which nobody would end"
    samples.more.set()


def test_what_had_come_before_its_client_was_closed_is_told_and_an_end_too() -> None:
    read = threading.Event()

    async def items() -> AsyncGenerator[int, None]:
        for number in range(3):
            yield number
        read.set()

    thread = LoopThread("own")
    iterator = thread.iterate(items)
    assert next(iterator) == 0
    assert read.wait(30)
    thread.stop(asyncio.sleep(0))
    assert list(iterator) == [1, 2]


def test_a_stream_whose_client_another_thread_closes_is_never_silently_short(served_either_way: str) -> None:
    samples = Unending()
    client = Client(served_either_way)
    answered = threading.Event()
    ends: list[str] = []

    def read() -> None:
        try:
            for item in client.stream(samples):
                if item.index == 1:  # type: ignore[union-attr]
                    answered.set()
            ends.append("as if all were answered")
        except Unavailable as error:
            ends.append(error.message)

    reader = threading.Thread(target=read)
    reader.start()
    assert answered.wait(30)
    client.close()
    reader.join(30)
    samples.more.set()
    assert ends == ["the client was closed before the response arrived"]
    assert not clients()


def test_leaving_a_stream_of_a_closed_client_says_nothing(served: str) -> None:
    samples = Unending()
    with Client(served) as client:
        stream = client.stream(samples)
        next(stream)
    stream.close()  # type: ignore[attr-defined]
    samples.more.set()
    assert not clients()


def test_a_call_whose_client_another_thread_closes_is_unavailable(served: str, script: Script) -> None:
    begun = threading.Event()

    class Hold(asyncio.Event):
        async def wait(self) -> Any:
            begun.set()
            await super().wait()

    script.hold = Hold()
    client = Client(served, retry=NO_RETRY)
    closer = threading.Thread(target=lambda: (begun.wait(30), client.close()))
    closer.start()
    with pytest.raises(Unavailable, match=r"client was closed|cannot be reached"):
        client.verify_one("1", "1")
    closer.join(30)


def test_a_closed_client_may_be_used_again_and_its_thread_ends(served: str) -> None:
    client = Client(served)
    for _ in range(2):
        assert client.info() == {"version": "0"}
        client.close()
        assert not [thread for thread in threading.enumerate() if thread.name == "rewarden-client"]


@pytest.mark.forks
def test_after_a_fork_the_child_has_its_own_connections(served: str) -> None:
    with Client(served) as client:
        client.info()
        parent = client._thread
        child = os.fork()
        if not child:
            os._exit(0 if client.info() == {"version": "0"} and client._thread is not parent else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert client._thread is parent


def test_a_blocking_call_on_its_own_loop_is_refused_and_not_a_deadlock() -> None:
    thread = LoopThread("own")

    async def inside() -> None:
        thread.run(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="use AsyncClient"):
        thread.run(inside())
    thread.stop(asyncio.sleep(0))
