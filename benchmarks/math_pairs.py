"""Math pairs per second, against Math-Verify alone and in a pool of two processes, in the same run.

Load: `benchmarks.pairs` (2,000 pairs, 125 references × 16), the verdict cache off, workers warm, 2 workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

from benchmarks.pairs import Pair, pairs
from benchmarks.report import Report
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings

_ROUNDS = 5


def plain(pair: Pair) -> tuple[bool, float]:
    """Runs Math-Verify as its documentation uses it: parse both, verify. Returns (verdict, seconds)."""
    from math_verify import parse, verify

    start = time.perf_counter()
    verdict = bool(verify(parse(f"${pair.reference}$"), parse(pair.response)))
    return verdict, time.perf_counter() - start


async def ours(load: list[Pair], extraction: str = "auto") -> tuple[list[Verdict], float]:
    """Returns verdicts and seconds. The workers are warm from a first batch of other pairs."""
    use = Use(name="math", params={"extraction": extraction})
    engine = Engine(settings=EngineSettings(workers=2, cache=False, eager=True))
    await engine.start()
    try:
        warm = [Sample(response=pair.response, reference=pair.reference) for pair in pairs(seed=8)[:64]]
        await engine.verify(Batch(samples=warm, use=use))
        samples = [Sample(response=pair.response, reference=pair.reference, group=pair.group) for pair in load]
        start = time.perf_counter()
        result = await engine.verify(Batch(samples=samples, use=use))
        return list(result.verdicts), time.perf_counter() - start
    finally:
        await engine.close()


@contextlib.contextmanager
def engine_alone(load: list[Pair]) -> Iterator[Callable[[], float]]:
    """Yields a function that scores the load in this process and returns its seconds.

    The engine lives through all rounds, as a server does that is measured next to it: what its workers keep of
    references would otherwise count for the server alone.
    """
    samples = [Sample(response=pair.response, reference=pair.reference, group=pair.group) for pair in load]
    engine = Engine(settings=EngineSettings(workers=2, cache=False, eager=True))

    async def scored() -> float:
        start = time.perf_counter()
        await engine.verify(Batch(samples=samples, use=Use(name="math", params={})))
        return time.perf_counter() - start

    with asyncio.Runner() as runner:
        runner.run(engine.start())
        try:
            runner.run(scored())
            yield lambda: runner.run(scored())
        finally:
            runner.run(engine.close())


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("math: 2,000 pairs, 125 references × 16, cache off, 2 workers")
    load = pairs()
    plain(load[0])
    start = time.perf_counter()
    alone = [plain(pair) for pair in load]
    alone_s = time.perf_counter() - start
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(plain, load[:8]))
        start = time.perf_counter()
        list(pool.map(plain, load, chunksize=16))
        pool_s = time.perf_counter() - start
    rounds = [(asyncio.run(ours(load)), asyncio.run(ours(load, "strict"))) for _ in range(_ROUNDS)]
    verdicts, ours_s = sorted((auto for auto, _ in rounds), key=lambda auto: auto[1])[_ROUNDS // 2]
    slower = statistics.median(auto[1] / strict[1] for auto, strict in rounds)
    times = sorted(verdict.run_s for verdict in verdicts)
    p99 = times[int(len(times) * 0.99)] * 1000
    their_p99 = sorted(seconds for _, seconds in alone)[int(len(load) * 0.99)] * 1000
    right = sum((verdict.score == 1.0) == pair.right for verdict, pair in zip(verdicts, load, strict=True))
    theirs = sum(said == pair.right for (said, _), pair in zip(alone, load, strict=True))
    lost = sum(
        said == pair.right and (verdict.score == 1.0) != pair.right
        for (said, _), verdict, pair in zip(alone, verdicts, load, strict=True)
    )
    report.figure("Math-Verify, plain loop", len(load) / alone_s, "/s")
    report.figure("Math-Verify, 2 processes", len(load) / pool_s, "/s")
    report.figure("Rewarden, 2 workers", len(load) / ours_s, "/s")
    report.figure("times the plain loop", alone_s / ours_s, least=30)
    report.figure("times the pool of two", pool_s / ours_s, least=10)
    report.figure("`auto`, times `strict`", slower, "x", most=1.1)
    report.figure("time per pair, median", statistics.median(times) * 1000, "ms")
    report.figure("time per pair, p99", p99, "ms", most=20)
    report.figure("Math-Verify's p99", their_p99, "ms")
    report.figure("correct labels", right, least=len(load))
    report.figure("correct labels, Math-Verify", theirs)
    report.figure("pairs that Math-Verify judges correctly and we do not", lost, most=0)
    return report.broken
