"""The engine's side of our own wire: many tasks become few requests, and nothing that a process says badly becomes a
number."""

from __future__ import annotations

import asyncio
import gc
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InputTooLong, InvalidParams, InvalidSample, MissingDependency, ModelError, SampleError
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.models import process_backend
from rewarden_server.models.process_backend import ProcessBackend
from rewarden_server.models.result_check import check_result
from rewarden_verifiers.inference import (
    Choices,
    Choose,
    Classify,
    Embed,
    Facts,
    Input,
    Likelihood,
    Likelihoods,
    Logits,
    Margin,
    Pair,
    Rate,
    StepValues,
    Task,
    Texts,
    Vector,
    Write,
    Written,
)
from tests.models.rough import Rough, Say, error, honest, line

pytestmark = pytest.mark.needs_server


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yields the folder of the sockets; pytest's own folders have names too long for one."""
    with tempfile.TemporaryDirectory(prefix="rw-") as made:
        yield Path(made)


@asynccontextmanager
async def speaking(folder: Path, say: Say, **settings: Any) -> AsyncIterator[tuple[ProcessBackend, Rough]]:
    """A backend of model `m`, and a process that says that."""
    async with Rough(folder, say) as rough:
        backend = ProcessBackend("m", ModelEndpoint(model="x", address=rough.address, **settings))
        try:
            yield backend, rough
        finally:
            await backend.close()


class Clock:
    """The clock that silence is measured by: it goes when a test says so."""

    def __init__(self) -> None:
        self._now_s = 1000.0

    def __call__(self) -> float:
        return self._now_s

    async def later(self, span_s: float) -> None:
        """Have so much time pass; and some of the loop's own, in which those look who wait."""
        self._now_s += span_s
        await asyncio.sleep(0.02)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that goes when a test says so."""
    made = Clock()
    monkeypatch.setattr(process_backend, "monotonic", made)
    return made


def classify(text: str = "hello") -> Classify:
    return Classify(input=Input(text=text))


def always(*said: bytes) -> Say:
    """Says that to every request."""

    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        for part in said:
            yield part

    return say


async def never(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def test_many_tasks_are_few_requests_and_each_has_its_own_answer(folder: Path) -> None:
    async with speaking(folder, honest) as (backend, rough):
        await backend.about()
        results = await asyncio.gather(*(backend.run(classify("x" * size)) for size in range(1000)))
        assert [result.values[0] for result in results] == list(range(1000))
        assert len(rough.asked) <= 3
        assert all(body["model"] == "m" for body in rough.asked)
        assert backend.status()["state"] == "remote"
        assert backend.status()["version"] == "v1"


async def test_an_answer_waits_for_no_neighbour(folder: Path) -> None:
    slow = asyncio.Event()

    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        for item in body["items"][1:]:
            yield line(item["id"])
        await slow.wait()
        yield line(0)

    async with speaking(folder, say) as (backend, _):
        tasks = [asyncio.create_task(backend.run(classify(str(number)))) for number in range(3)]
        await asyncio.gather(*tasks[1:])
        assert not tasks[0].done()
        slow.set()
        await tasks[0]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        line(0)[:-5],  # cut
        line(0, facts={"model": "m"}),  # no version
        b'{"id": 0}\n',
        b'{"id": 0, "result": null}\n',
        b'{"id": 0, "result": {"values": "many"}}\n',
        b'{"id": 0, "error": "bad"}\n',
        b'{"id": 7, "result": {}}\n',
        b"garbage\n",
        b"\xff\xfe\n",
        line(0, values=[None]),
        line(0).replace(b"0.0", b"NaN"),
        line(0).replace(b"0.0", b"1e999"),
        line(0, values=[1.0, 2.0]),  # two numbers, one label
        line(0, values=[], labels=[]),
        error(0, "memory"),
        error(0, "a kind of tomorrow"),
        error(0, "stopped"),
    ],
)
async def test_what_is_no_answer_is_an_error_of_ours_and_never_a_number(folder: Path, said: bytes) -> None:
    async with speaking(folder, always(said)) as (backend, _):
        with pytest.raises(ModelError) as found:
            await backend.run(classify(""))
        assert found.value.retryable


async def test_a_neighbour_of_a_bad_answer_keeps_its_own(folder: Path) -> None:
    async with speaking(folder, always(line(0, values=[1.0, 2.0]) + line(1, "abc"))) as (backend, _):
        first, second = await asyncio.gather(
            backend.run(classify("a")), backend.run(classify("b")), return_exceptions=True
        )
        assert isinstance(first, ModelError)
        assert isinstance(second, Logits)
        assert second.values == [3.0]


async def test_what_a_lost_process_had_not_answered_is_tried_once_more(folder: Path) -> None:
    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        for item in body["items"][: 1 if len(rough.asked) == 1 else None]:
            yield line(item["id"])

    async with speaking(folder, say) as (backend, rough):
        tasks = [asyncio.create_task(backend.run(classify(str(number)))) for number in range(3)]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in done] == [Logits, Logits, Logits]
        assert [len(body["items"]) for body in rough.asked] == [3, 1, 1]  # each alone, for one may have killed it


def deadly(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
    """Dies of each request with a text that begins with `die`, before it answers any."""
    texts = [item["task"]["input"]["text"] for item in body["items"]]
    return always(b"")(rough, body) if any(text.startswith("die") for text in texts) else honest(rough, body)


@pytest.mark.parametrize("killers", [{77}, {3, 150}, {10, 11}])
async def test_what_kills_its_process_costs_no_neighbour_its_result(folder: Path, killers: set[int]) -> None:
    texts = [f"die {number}" if number in killers else f"text {number}" for number in range(200)]
    async with speaking(folder, deadly) as (backend, _):
        done = await asyncio.gather(*(backend.run(classify(text)) for text in texts), return_exceptions=True)
        for number, (text, found) in enumerate(zip(texts, done, strict=True)):
            if number in killers:
                assert isinstance(found, ModelError)
                assert found.details["kind"] == "lost"
                assert "lost 4 times during the task" in str(found)
            else:
                assert isinstance(found, Logits), text
                assert found.values == [float(len(text))]
        assert backend.status()["in_flight"] == 0


async def test_suspects_are_tried_with_nothing_beside_them(folder: Path) -> None:
    late: list[asyncio.Task[Logits]] = []
    open_now: list[dict[str, Any]] = []

    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        open_now.append(body)
        if len(rough.asked) > 1 and not late:
            late.append(asyncio.create_task(backend.run(classify("late"))))
        if len(rough.asked) > 1:
            for _ in range(50):  # whatever else would be sent has the time for it
                await asyncio.sleep(0)
            assert open_now == [body]
        async for said in deadly(rough, body):
            yield said
        open_now.remove(body)

    async with speaking(folder, say) as (backend, rough):
        tasks = [backend.run(classify(text)) for text in ["die", *map(str, range(99))]]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(found, Logits) for found in done] == [False] + [True] * 99
        await late[0]
        assert [item["task"]["input"]["text"] for item in rough.asked[-1]["items"]] == ["late"]


async def test_the_time_of_a_suspect_does_not_run_while_others_go_first(folder: Path, clock: Clock) -> None:
    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        if len(rough.asked) > 1:
            await clock.later(0.03)
            async for said in honest(rough, body):
                yield said

    async with speaking(folder, say, timeout_s=0.05) as (backend, rough):
        await asyncio.gather(*(backend.run(classify(str(number))) for number in range(8)))
        assert len(rough.asked) == 9


async def test_suspects_that_nobody_waits_for_are_not_tried(folder: Path) -> None:
    leaving: list[asyncio.Task[Logits]] = []

    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        if len(rough.asked) > 1:
            for task in leaving:
                task.cancel()
            async for said in honest(rough, body):
                yield said

    async with speaking(folder, say) as (backend, rough):
        stays = asyncio.create_task(backend.run(classify("stays")))
        leaving += [asyncio.create_task(backend.run(classify("leaves"))) for _ in range(7)]
        assert (await stays).values == [5.0]
        await asyncio.gather(*leaving, return_exceptions=True)
        assert (await backend.run(classify("later"))).values == [5.0]
        assert [len(body["items"]) for body in rough.asked] == [8, 1, 1]


async def test_closing_fails_suspects_and_what_waits_for_them(folder: Path) -> None:
    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        if len(rough.asked) > 1:
            await asyncio.Event().wait()
        yield b""

    async with speaking(folder, say) as (backend, rough):
        tasks = [asyncio.create_task(backend.run(classify(str(number)))) for number in range(20)]
        while len(rough.asked) < 2:
            await asyncio.sleep(0)
        tasks.append(asyncio.create_task(backend.run(classify("late"))))
        while backend.status()["in_flight"] < 21:
            await asyncio.sleep(0)
        await backend.close()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(found, ModelError) and "is stopping" in str(found) for found in done)


async def test_what_loses_its_process_twice_is_given_up(folder: Path) -> None:
    async with speaking(folder, always(b"")) as (backend, rough):
        with pytest.raises(ModelError, match="2 times"):
            await backend.run(classify())
        assert len(rough.asked) == 2


async def test_a_process_that_never_answers_is_not_waited_for_for_ever(folder: Path, clock: Clock) -> None:
    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        await clock.later(0.06)  # no time passes before the request is there
        async for each in never(rough, body):
            yield each

    async with speaking(folder, say, timeout_s=0.05) as (backend, rough):
        with pytest.raises(ModelError, match="timeout_s"):
            await backend.run(classify())
        await rough.left.wait()


async def test_who_waits_long_behind_others_that_are_answered_has_its_answer_too(folder: Path, clock: Clock) -> None:
    """Flake: a long queue alone failed whoever stood at its end."""

    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        for place, item in enumerate(body["items"]):
            while backend.status()["in_flight"] > len(body["items"]) - place:  # the one before is on its way
                await asyncio.sleep(0)
            await clock.later(0.03)
            yield line(item["id"])

    async with speaking(folder, say, timeout_s=0.05) as (backend, rough):
        done = await asyncio.gather(*(backend.run(classify(str(number))) for number in range(20)))
        assert len(done) == 20
        assert len(rough.asked) == 1


async def test_refusals_are_no_sign_that_anything_is_computed(folder: Path, clock: Clock) -> None:
    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        while True:
            await clock.later(0.03)
            yield error(len(rough.asked[0]["items"]), "invalid")

    async with speaking(folder, say, timeout_s=0.05) as (backend, rough):
        with pytest.raises(ModelError, match="timeout_s"):
            await backend.run(classify())
        await rough.left.wait()


async def test_whoever_leaves_as_its_failure_comes_leaves_no_complaint(folder: Path) -> None:
    said: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context["message"]))

    async def leave_as_it_fails() -> None:
        async with speaking(folder, never) as (backend, rough):
            task = asyncio.create_task(backend.run(classify()))
            while not rough.asked:
                await asyncio.sleep(0)
            (item,) = backend._items
            item.answer.add_done_callback(lambda _: task.cancel())
            await backend.close()
            await asyncio.gather(task, return_exceptions=True)

    await leave_as_it_fails()
    gc.collect()
    assert not [message for message in said if "never retrieved" in message]


async def test_whoever_leaves_takes_its_task_along(folder: Path) -> None:
    async with speaking(folder, never) as (backend, rough):
        await backend.about()
        first, second = (asyncio.create_task(backend.run(classify(text))) for text in "ab")
        while not rough.asked:
            await asyncio.sleep(0)
        first.cancel()
        await rough.told.wait()
        (told,) = rough.cancelled
        assert told == {"call": rough.asked[0]["call"], "ids": [0]}
        assert not rough.left.is_set()
        second.cancel()
        await rough.left.wait()  # the last one of a request closes it


async def test_a_task_that_nobody_waits_for_is_never_sent(folder: Path) -> None:
    async with speaking(folder, honest) as (backend, rough):
        await backend.about()
        left = asyncio.create_task(backend.run(classify("left")))
        stays = asyncio.create_task(backend.run(classify("stays")))
        while backend.status()["in_flight"] < 2:
            await asyncio.sleep(0)
        left.cancel()
        await stays
        texts = [item["task"]["input"]["text"] for body in rough.asked for item in body["items"]]
        assert texts in (["stays"], ["left", "stays"])  # it may be on its way already


async def test_closing_fails_what_is_under_way_and_what_waits(folder: Path) -> None:
    async with speaking(folder, never, concurrency=2) as (backend, rough):
        tasks = [asyncio.create_task(backend.run(classify(str(number)))) for number in range(4)]
        while not rough.asked:
            await asyncio.sleep(0)
        await backend.close()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, ModelError) for result in done)
        assert all("is stopping" in str(result) for result in done)


async def test_no_more_than_so_many_are_in_flight(folder: Path) -> None:
    most = 0

    async def say(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
        nonlocal most
        most = max(most, backend.status()["in_flight"])
        async for said in honest(rough, body):
            yield said

    async with speaking(folder, say, concurrency=3) as (backend, _):
        await asyncio.gather(*(backend.run(classify(str(number))) for number in range(20)))
        assert 0 < most <= 3


async def test_work_waits_until_the_model_is_loaded(folder: Path) -> None:
    async with speaking(folder, honest) as (backend, rough):
        rough.about = {"state": "loading"}
        task = asyncio.create_task(backend.run(classify("four")))
        about = asyncio.create_task(backend.about())
        await asyncio.sleep(0)
        assert not rough.asked
        rough.about = {"state": "ready", "about": {"model": "m", "version": "v", "kinds": [], "context": 1}}
        assert (await about).context == 1
        assert (await task).values == [4.0]


@pytest.mark.parametrize(
    ("kind", "raised"), [("failed", ModelError), ("missing", MissingDependency), ("memory", ModelError)]
)
async def test_a_model_that_cannot_be_loaded_says_why(folder: Path, kind: str, raised: type[SampleError]) -> None:
    async with speaking(folder, honest) as (backend, rough):
        rough.about = {"state": "failed", "problem": "the moon is full", "kind": kind}
        with pytest.raises(raised, match="the moon is full"):
            await backend.run(classify())
        assert backend.status()["state"] == "failed"
        assert "moon" in backend.status()["problem"]
        rough.about = {"state": "ready", "about": {"model": "m", "version": "v", "kinds": [], "context": 1}}
        assert (await backend.run(classify("yes"))).values == [3.0]
        assert "problem" not in backend.status()


async def test_a_process_that_is_not_there_is_an_error_of_ours(folder: Path) -> None:
    backend = ProcessBackend("m", ModelEndpoint(model="x", address=f"unix:{folder / 'nobody'}"))
    with pytest.raises(ModelError, match="cannot be reached"):
        await backend.run(classify())
    assert backend.status()["state"] == "failed"
    await backend.close()


async def test_what_the_process_refuses_has_its_own_kind(folder: Path) -> None:
    async with speaking(folder, always(error(0, "too_long", tokens=9, context=5, candidate=3))) as (backend, _):
        with pytest.raises(InputTooLong) as found:
            await backend.run(classify())
        assert (found.value.details["tokens"], found.value.details["candidate"]) == (9, 3)
    async with speaking(folder, always(error(0, "unsupported"))) as (backend, _):
        with pytest.raises(InvalidParams):
            await backend.run(classify())


async def test_half_a_surrogate_pair_is_the_samples_fault(folder: Path) -> None:
    async with speaking(folder, honest) as (backend, _):
        with pytest.raises(InvalidSample, match="surrogate"):
            await backend.run(classify("a\ud800"))
        assert (await backend.run(classify("ab\x00é😀"))).values == [5.0]


FACTS = Facts(model="m", version="v1")
TEXT = Input(text="x")
CHOOSE = Choose(input=TEXT, choices=["a", "b"])
RATE = Rate(input=TEXT, steps=["s", "t"], mark="\n")
MARKED = Rate(input=TEXT, steps=["s"], mark="\n", choices=["+", "-"])
WRITE = Write(input=TEXT, samples=2)
LIKELIHOOD = Likelihood(input=TEXT, continuation="yes")
EMBED = Embed(input=TEXT)
PAIR = Pair(prompt="x", first="y", second="z")
NAN, INF = float("nan"), float("inf")

MISFITS: list[tuple[Task[Any], Callable[[], Any]]] = [
    (CHOOSE, lambda: Choices(logprobs=[-1.0], facts=FACTS)),
    (CHOOSE, lambda: Choices(logprobs=[-1.0, NAN], facts=FACTS)),
    (CHOOSE, lambda: Choices(logprobs=[-1.0, -INF], facts=FACTS)),
    (CHOOSE, lambda: Choices(logprobs=[-1.0, 0.5], facts=FACTS)),
    (LIKELIHOOD, lambda: Likelihoods(tokens=["yes"], logprobs=[], facts=FACTS)),
    (LIKELIHOOD, lambda: Likelihoods(tokens=[], logprobs=[], facts=FACTS)),
    (LIKELIHOOD, lambda: Likelihoods(tokens=["yes"], logprobs=[INF], facts=FACTS)),
    (PAIR, lambda: Margin(logit=NAN, facts=FACTS)),
    (PAIR, lambda: Margin(logit=-INF, facts=FACTS)),
    (RATE, lambda: StepValues(values=[[1.0]], labels=["x"], facts=FACTS)),
    (RATE, lambda: StepValues(values=[[1.0], []], labels=["x"], facts=FACTS)),
    (RATE, lambda: StepValues(values=[[1.0], [NAN]], labels=["x"], facts=FACTS)),
    (RATE, lambda: StepValues(values=[[], []], labels=[], facts=FACTS)),
    (MARKED, lambda: StepValues(values=[[-1.0]], labels=["+"], facts=FACTS)),
    (MARKED, lambda: StepValues(values=[[-1.0, 2.0]], labels=["+", "-"], facts=FACTS)),
    (WRITE, lambda: Texts(texts=[Written(text="one")], facts=FACTS)),
    (EMBED, lambda: Vector(values=[], facts=FACTS)),
    (EMBED, lambda: Vector(values=[0.1, INF], facts=FACTS)),
]


@pytest.mark.parametrize(("task", "result"), MISFITS)
def test_a_result_that_does_not_fit_its_task_is_refused(task: Task[Any], result: Callable[[], Any]) -> None:
    with pytest.raises(ModelError):
        check_result(task, result())


def test_results_that_fit_pass() -> None:
    check_result(CHOOSE, Choices(logprobs=[-1.0, 1e-6], facts=FACTS))
    check_result(LIKELIHOOD, Likelihoods(tokens=["y", "es"], logprobs=[-1.0, -700.0], facts=FACTS))
    check_result(RATE, StepValues(values=[[1.0], [-5.0]], labels=["x"], facts=FACTS))
    check_result(MARKED, StepValues(values=[[-1.0, -2.0]], labels=["+", "-"], facts=FACTS))
    check_result(WRITE, Texts(texts=[Written(text=""), Written(text="two")], facts=FACTS))
    check_result(PAIR, Margin(logit=-700.0, facts=FACTS))
    check_result(EMBED, Vector(values=[0.6, 0.8], facts=FACTS))


async def test_a_key_of_the_environment_that_is_none_is_never_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, said in (("sesame\n", None), ("open\nsesame", "header"), ("schlüssel", None)):
        monkeypatch.setenv("KEY", key)
        async with speaking(folder, honest, api_key_env="KEY") as (backend, _):
            if said is None:
                assert len((await backend.run(classify())).values) == 1
                continue
            with pytest.raises(ModelError, match=said) as found:
                await backend.run(classify())
            assert "sesame" not in str(found.value)
