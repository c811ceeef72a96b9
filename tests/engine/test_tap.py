"""The engine's hook for consumers of samples and verdicts: it is called once for each, within its request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rewarden.types import BadSample, Batch, Group, Progress, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.chat import Usage
from tests.engine.conftest import toy_registry


class Told:
    """A tap that remembers what it is told."""

    def __init__(self, header: Batch) -> None:
        self.header = header
        self.verdicts: list[tuple[Sample | BadSample, Verdict]] = []
        self.groups: list[tuple[Group, Sequence[Verdict]]] = []
        self.closed = 0

    def verdict(self, sample: Sample | BadSample, verdict: Verdict) -> None:
        self.verdicts.append((sample, verdict))

    def group(self, group: Group, members: Sequence[Verdict]) -> None:
        self.groups.append((group, members))

    def spent(self, sample: Sample, usage: Usage) -> None:
        raise AssertionError("no judge was asked")

    def close(self) -> None:
        self.closed += 1


class Taps(list[Told]):
    """All taps that an engine opened."""

    def open(self, header: Batch) -> Told:
        self.append(Told(header))
        return self[-1]


async def tapped() -> tuple[Engine, Taps]:
    taps = Taps()
    engine = Engine(toy_registry(), EngineSettings(workers=1), warm=(), open_tap=taps.open)
    await engine.start()
    return engine, taps


def samples(*texts: str, group: str | None = None) -> list[Sample]:
    return [Sample(response=text, reference="yes", group=group) for text in texts]


async def test_a_batch_and_a_stream_have_a_tap_each() -> None:
    engine, taps = await tapped()
    try:
        bad = BadSample(message="no sample")
        batch = Batch(samples=[*samples("yes", "no", group="g"), bad], use=Use(name="toy_inline"))
        result = await engine.verify(batch)
        stream = engine.open_stream(Batch(use=Use(name="toy_cpu"), progress=Progress(step=4)))
        for sample in samples("yes"):
            await stream.put(sample)
        stream.finish()
        streamed = [item async for item in stream]
    finally:
        await engine.close(drain_s=0)
    first, second = taps
    assert [sample for sample, _ in sorted(first.verdicts, key=lambda told: told[1].index)] == list(batch.samples)
    assert {verdict.index: verdict for _, verdict in first.verdicts} == dict(enumerate(result.verdicts))
    assert [(group, len(members)) for group, members in first.groups] == [(result.groups[0], 2)]
    assert [verdict for _, verdict in second.verdicts] == streamed
    assert second.header.progress == Progress(step=4)
    assert (first.closed, second.closed) == (1, 1)


async def test_verdicts_that_nobody_receives_are_not_told() -> None:
    engine, taps = await tapped()
    try:
        batch = Batch(samples=samples("yes"), use=Use(name="toy_never"))
        work = asyncio.ensure_future(engine.verify(batch))
        while not taps:
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    finally:
        await engine.close(drain_s=0)
    assert (taps[0].verdicts, taps[0].closed) == ([], 1)


async def test_the_name_of_a_run_changes_no_key_of_the_cache() -> None:
    engine, _ = await tapped()
    try:
        cached = []
        for metadata in (None, {"run": "one"}, {"run": "two"}, {"run": "one", "other": 1}):
            sample = Sample(response="x yes", reference="yes", metadata=metadata)
            result = await engine.verify(Batch(samples=[sample], use=Use(name="toy_metadata")))
            (verdict,) = result.verdicts
            assert verdict.metadata == metadata
            cached.append((verdict.cached, verdict.extracted))
    finally:
        await engine.close(drain_s=0)
    assert cached == [(False, None), (True, None), (True, None), (False, {"other": 1})]
