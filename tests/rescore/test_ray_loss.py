"""Engines on Ray that fail, hang or differ: nothing is lost, and nothing waits forever. Ray itself is a double, whose
only part is to fail; what runs on a real one is in `test_ray.py`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest

from rewarden.errors import InvalidRequest, Unavailable
from rewarden.types import Sample, Use, Verdict
from rewarden.wire.json import dumps, error_to_json
from rewarden_server.studies.rescore import ray as engines
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.ray_engine import fingerprints

USES = [Use(name="math")]


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


EXCEPTIONS = SimpleNamespace(
    RayError=RayError,
    RayActorError=RayActorError,
    **{name: type(name, (RayError,), {}) for name in ("OutOfMemoryError", "WorkerCrashedError", "NodeDiedError")},
)

Fault = Callable[["Actor", list[str]], Awaitable[bytes | None]]
"""An actor's treatment of the texts of a piece before it judges them: raises, answers otherwise, or None."""


class Actor:
    """An engine that gives 1.0 for everything, unless its fault has it."""

    def __init__(self, ray: Ray) -> None:
        self._ray = ray
        self.number = len(ray.actors)
        self.dead = asyncio.Event()
        ray.actors.append(self)
        for name in ("start", "here", "judge", "verifiers", "close"):
            setattr(self, name, SimpleNamespace(remote=self._method(name)))

    def _method(self, name: str) -> Callable[..., Awaitable[bytes]]:
        async def call(*told: bytes) -> bytes:
            work = asyncio.ensure_future(getattr(self, f"_{name}")(*told))
            death = asyncio.ensure_future(self.dead.wait())
            try:
                await asyncio.wait({work, death}, return_when=asyncio.FIRST_COMPLETED)
                if self.dead.is_set():
                    raise RayActorError("The actor died.\nnobody knows why")
                return await work
            finally:
                work.cancel()
                death.cancel()

        return call

    async def _start(self) -> bytes:
        return dumps({"host": "there", "version": self._ray.version, "fingerprints": self._ray.fingerprints})

    async def _here(self) -> None:
        if self.number in self._ray.hung:
            await asyncio.Event().wait()

    async def _judge(self, header: bytes, data: bytes) -> bytes:
        texts = [sample["response"] for sample in json.loads(data)]
        await asyncio.sleep(0)
        said = await self._ray.fault(self, texts)
        return said or dumps([{"index": index, "status": "scored", "score": 1.0} for index in range(len(texts))])

    async def _close(self) -> None:
        pass


class Ray:
    """As much of the package as is used."""

    exceptions = EXCEPTIONS

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.actors: list[Actor] = []
        self.hung: set[int] = set()
        self.fingerprints = fingerprints(USES)
        self.version = version("rewarden-server")

    def remote(self, kind: type) -> Any:
        return SimpleNamespace(options=lambda **options: SimpleNamespace(remote=lambda told: Actor(self)))

    def kill(self, actor: Actor) -> None:
        actor.dead.set()


async def numbered(count: int) -> AsyncIterator[Sample]:
    for number in range(count):
        yield Sample(response=str(number))


async def judged(ray: Ray, count: int = 400, places: int = 2, *, revives: bool = True) -> dict[int, Verdict]:
    made = engines.RayEngines(ray, b"", USES, engines=places, cores=1, revives=revives, own=False)
    found: dict[int, Verdict] = {}
    try:
        async with asyncio.timeout(30):
            async for verdict in made.stream(numbered(count)):
                assert isinstance(verdict, Verdict)
                assert verdict.index not in found
                found[verdict.index] = verdict
    finally:
        await made.close()
        assert all(actor.dead.is_set() for actor in ray.actors)
    assert sorted(found) == list(range(count))
    return found


def once(error: Exception) -> Fault:
    left = [error]

    async def fault(actor: Actor, texts: list[str]) -> None:
        if left:
            raise left.pop()

    return fault


@pytest.mark.parametrize(
    "error", [RayError("a task's error"), ConnectionError("gone"), EXCEPTIONS.OutOfMemoryError("no memory")]
)
async def test_what_one_lane_could_not_have_judged_another_does(error: Exception) -> None:
    found = await judged(Ray(once(error)))
    assert {verdict.score for verdict in found.values()} == {1.0}


async def test_an_engine_that_refuses_for_now_loses_nothing() -> None:
    refusals = [dumps(error_to_json(Unavailable("draining")))] * 3

    async def fault(actor: Actor, texts: list[str]) -> bytes | None:
        return refusals.pop() if refusals else None

    assert {verdict.score for verdict in (await judged(Ray(fault))).values()} == {1.0}


async def test_a_cluster_that_fails_altogether_ends_the_run_with_its_cause() -> None:
    async def fault(actor: Actor, texts: list[str]) -> None:
        raise RayError("ray::RayEngine.judge()\n  File there\nKeyError: 'shape'")

    with pytest.raises(Unavailable, match=r"ray::RayEngine.* KeyError: 'shape'"):
        await judged(Ray(fault))


async def test_a_request_that_is_refused_ends_the_run() -> None:
    async def fault(actor: Actor, texts: list[str]) -> bytes:
        return dumps(error_to_json(InvalidRequest("no such thing")))

    with pytest.raises(InvalidRequest, match="no such thing"):
        await judged(Ray(fault))


async def test_samples_that_are_cancelled_end_the_run_with_an_error() -> None:
    async def fault(actor: Actor, texts: list[str]) -> None:
        pass

    made = asyncio.ensure_future(asyncio.Event().wait())

    async def samples() -> AsyncIterator[Sample]:
        yield Sample(response="0")
        made.cancel()
        await made

    engine = engines.RayEngines(Ray(fault), b"", USES, engines=1, cores=1, revives=True, own=False)

    async def read() -> None:
        async for _ in engine.stream(samples()):
            pass

    with pytest.raises(InvalidRequest, match="iterator of samples was cancelled"):
        await asyncio.wait_for(read(), 30)
    await engine.close()


async def test_a_row_that_kills_two_engines_is_an_error_of_ours_and_the_rest_is_judged() -> None:
    async def fault(actor: Actor, texts: list[str]) -> None:
        if "7" in texts:
            actor.dead.set()
            await asyncio.Event().wait()

    ray = Ray(fault)
    found = await judged(ray)
    assert (found[7].status, found[7].fault, found[7].score, found[7].retryable) == ("error", "infra", None, True)
    assert found[399].score == 1.0
    assert len(ray.actors) == 4  # two places, two losses


async def test_an_engine_that_hangs_is_killed_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_LOOK_S", 0.01)
    monkeypatch.setattr(engines, "_SILENT_S", 0.2)

    async def fault(actor: Actor, texts: list[str]) -> None:
        if actor.number == 0:
            await asyncio.Event().wait()

    class Once(Ray):
        """Flake: on a busy machine an engine that is well may be silent for 0.2 s too; only the first is looked at."""

        def kill(self, actor: Actor) -> None:
            monkeypatch.setattr(engines, "_LOOK_S", 1000.0)
            super().kill(actor)

    ray = Once(fault)
    ray.hung.add(0)
    found = await judged(ray, places=1)
    assert {verdict.score for verdict in found.values()} == {1.0}
    assert len(ray.actors) == 2


async def test_engines_that_are_lost_and_not_replaced_end_the_run() -> None:
    async def fault(actor: Actor, texts: list[str]) -> None:
        actor.dead.set()
        await asyncio.Event().wait()

    with pytest.raises(Unavailable, match="lost"):
        await judged(Ray(fault), count=10_000, revives=False)


@pytest.mark.parametrize(
    ("version", "prints"), [("9", fingerprints(USES)), (version("rewarden-server"), ["other packages"])]
)
async def test_a_node_that_judges_otherwise_is_refused(version: str, prints: list[str | None]) -> None:
    async def fault(actor: Actor, texts: list[str]) -> None:
        pass

    ray = Ray(fault)
    ray.version, ray.fingerprints = version, prints
    with pytest.raises(RescoreError, match=r"node there \(rewarden-server .*\) judges differently"):
        await judged(ray)
