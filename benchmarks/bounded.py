"""Pathological answers: each ends within its bound, and barely slows 1,000 ordinary samples next to it.

Load: the towers, factorials, sums and nests of the attack list, ten of them among 1,000 ordinary pairs; the limit is
the default, 2 s of CPU per item; cache off.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.pairs import pairs
from benchmarks.report import Report
from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings

PATHOLOGICAL = {
    "exponent tower": "\\dfrac{5^{(5^{(5^{(5^5)})} - 4)} - 5}{16}",
    "bare tower": "9^{9^{9^{9}}}",
    "factorial": "(10^{9})!",
    "factorials of factorials": "((1000!)!)!",
    "giant sum": "\\sum_{k=1}^{1000000000} \\frac{1}{k^2 + \\sin k}",
    "giant product": "\\prod_{k=1}^{10^{9}} \\left(1 + \\frac{1}{k^3}\\right)",
    "5,000 characters": "+".join(f"\\sqrt{{x^{{{k}}}+{k}}}" for k in range(1, 350)),
    "4,000 braces": "{" * 4000 + "1" + "}" * 4000,
    "4,000 fractions": "\\frac{1}{1+" * 2000 + "x" + "}" * 2000,
    "huge power of a polynomial": "(x+y+z+w+1)^{4000}",
    "10 million digits": "1" + "0" * 19_000,
    "nested radicals": "\\sqrt{2+" * 600 + "2" + "}" * 600,
}


async def _seconds(engine: Engine, samples: list[Sample]) -> tuple[float, list[float | None], list[tuple[str, ...]]]:
    start = time.perf_counter()
    result = await engine.verify(Batch(samples=samples, use=Use(name="math")))
    took = time.perf_counter() - start
    return took, [verdict.score for verdict in result.verdicts], [tuple(verdict.flags) for verdict in result.verdicts]


async def _run(report: Report) -> None:
    engine = Engine(settings=EngineSettings(workers=2, cache=False, eager=True))
    await engine.start()
    ordinary = [Sample(response=pair.response, reference=pair.reference) for pair in pairs()[:1000]]
    await _seconds(engine, ordinary[:100])
    for name, answer in PATHOLOGICAL.items():
        sample = Sample(response=f"So the answer is \\boxed{{{answer}}}.", reference="\\frac{7}{3}")
        took, scores, flags = await _seconds(engine, [sample])
        report.figure(f"{name}: seconds", took, "s", most=3)
        if scores != [0.0]:
            report.broken.append(f"{name} scored {scores}")
        if "too_expensive" not in flags[0]:
            print(f"      (decided within bounds: {flags[0] or 'no flag'})")
    alone = min([(await _seconds(engine, ordinary))[0] for _ in range(3)])
    bad = [Sample(response=f"\\boxed{{{answer}}}", reference="\\frac{7}{3}") for answer in PATHOLOGICAL.values()]
    mixed = list(ordinary)
    for place, sample in enumerate(bad):
        mixed.insert(place * 83 + 5, sample)
    scores: list[float | None] = []
    # The time until the ordinary samples have their verdicts counts, so this uses a stream.
    best = float("inf")
    places = {place * 83 + 5 for place in range(len(bad))}
    for _ in range(3):
        stream = engine.open_stream(Batch(use=Use(name="math")))
        start = time.perf_counter()

        async def put(stream=stream) -> None:  # type: ignore[no-untyped-def]
            for sample in mixed:
                await stream.put(sample)
            stream.finish()

        putting = asyncio.ensure_future(put())
        last, scores = 0.0, [None] * len(mixed)
        async for verdict in stream:
            scores[verdict.index] = verdict.score  # type: ignore[union-attr]
            if verdict.index not in places:  # type: ignore[union-attr]
                last = time.perf_counter() - start
        await putting
        best = min(best, last)
    report.figure("1,000 ordinary pairs alone", alone, "s")
    report.figure("1,000 ordinary pairs next to the pathological ones", best, "s", most=1.5 * alone + 0.5)
    report.figure("pathological answers that scored", sum(scores[place] != 0.0 for place in places), most=0)
    await engine.close()


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("bounds: pathological answers alone and among 1,000 ordinary pairs")
    asyncio.run(_run(report))
    return report.broken
