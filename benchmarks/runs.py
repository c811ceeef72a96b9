"""The cost of the store of runs: the server's rate with it and without it, the bytes of a verdict, and the first load.

Loads: 4,000 `choice` samples of about 1 kB in one request, the cheapest verdicts that there are, in turn to a server
that stores runs and to one that does not; and a million verdicts of 1,000 steps and 5 data sources, put into a store
by its own path, and read as a page reads them first.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.report import Report
from benchmarks.server import Served, served
from benchmarks.transport import choices
from rewarden.types import Batch, Outcome, Progress, Sample, VerifierRef
from rewarden_server.engine.verdicts import make_verdict
from rewarden_server.engine.work import Result
from rewarden_server.runs.reader import Range
from rewarden_server.runs.settings import RunSettings
from rewarden_server.runs.store import Store
from rewarden_verifiers.group.statistics import describe
from rewarden_verifiers.outcome import no_answer, right, undecided, wrong

_ROUNDS, _SAMPLES = 12, 4_000
_STEPS, _SOURCES, _GROUPS, _MEMBERS = 1000, 5, 25, 8


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("runs: the store's cost at 4,000 choice samples a request, and a store of a million verdicts")
    _rates(report)
    asyncio.run(_million(report))
    return report.broken


def _rates(report: Report) -> None:
    settings = {"REWARDEN_ENGINE_CACHE": "false", "REWARDEN_ENGINE_WORKERS": "1"}
    samples = [{**one, "data_source": f"source {number % 5}"} for number, one in enumerate(choices(_SAMPLES))]
    with (
        served(**settings, REWARDEN_RUNS_STORE="true") as storing,
        served(**settings, REWARDEN_RUNS_STORE="false") as bare,
        httpx.Client(timeout=600) as http,
    ):
        wall: dict[int, list[float]] = {storing.pid: [], bare.pid: []}
        cpu: dict[int, list[float]] = {storing.pid: [], bare.pid: []}
        for step in range(_ROUNDS + 1):
            body = json.dumps({"use": "choice", "samples": samples, "progress": {"step": step}}).encode()
            # Each is first in every second round: whatever slows the machine slows both.
            for server in (storing, bare) if step % 2 else (bare, storing):
                seconds, spent = _send(http, server, body)
                if step:  # the first loads the verifier
                    wall[server.pid].append(seconds)
                    cpu[server.pid].append(spent)
    report.figure("rate with the store", _SAMPLES / statistics.median(wall[storing.pid]), "/s")
    report.figure("rate without it", _SAMPLES / statistics.median(wall[bare.pid]), "/s")
    pairs = zip(wall[bare.pid], wall[storing.pid], strict=True)
    report.figure(
        "rate with the store, times the rate without it", statistics.median(a / b for a, b in pairs), least=0.97
    )
    report.figure("CPU time with the store, times that without it", sum(cpu[storing.pid]) / sum(cpu[bare.pid]))


def _send(http: httpx.Client, server: Served, body: bytes) -> tuple[float, float]:
    """Returns the seconds of a request, and the server's CPU seconds, with those of the write that follows."""
    spent, start = server.cpu_seconds(), time.perf_counter()
    http.post(f"{server.http}/v1/verify", content=body, headers={"content-type": "application/json"}).raise_for_status()
    seconds = time.perf_counter() - start
    time.sleep(0.6)
    return seconds, server.cpu_seconds() - spent


async def _million(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds = await _fill(Path(folder))
        count = _STEPS * _SOURCES * _GROUPS * _MEMBERS
        report.figure("a million verdicts into the store", seconds, "s")
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        report.figure("bytes a verdict", size / count, "B", most=20)
        store = Store(RunSettings(dir=Path(folder)))
        start = time.perf_counter()
        (found,) = await store.runs(None)
        report.figure("first load: the list of runs", 1000 * (time.perf_counter() - start), "ms", most=100)
        assert found.verdicts == count
        start = time.perf_counter()
        points = await store.points(found.id, None, None, _STEPS)
        report.figure("first load: 5,000 points", 1000 * (time.perf_counter() - start), "ms", most=300)
        report.figure("bytes of these points", len(points.body) / 1e6, "MB")
        start = time.perf_counter()
        await store.counts(found, Range("step"))
        report.figure("counts of all steps", 1000 * (time.perf_counter() - start), "ms")
        start = time.perf_counter()
        await store.points(found.id, None, None, _STEPS, found.seq - 1)
        report.figure("what changed last", 1000 * (time.perf_counter() - start), "ms")
        await store.close()


async def _fill(folder: Path) -> float:
    """Puts the verdicts into a store, a write each step; returns the seconds."""
    rng = random.Random(5)
    ref = VerifierRef(name="math", version="1", fingerprint="0123456789abcdef")
    store = Store(RunSettings(dir=folder))
    took = 0.0
    for step in range(_STEPS):
        made = []
        for source in range(_SOURCES):
            for group in range(_GROUPS):
                name = f"{source} {group}"
                for member in range(_MEMBERS):
                    text = "x" * int(rng.lognormvariate(7, 0.6))
                    sample = Sample(
                        response=text,
                        group=name,
                        data_source=f"source {source}",
                        token_count=len(text) // 4,
                        metadata={"run": "benchmark"},
                    )
                    result = Result(queue_s=rng.random() / 100, run_s=rng.random() / 50)
                    made.append((sample, make_verdict(member, sample, _outcome(rng), ref, result)))
        start = time.perf_counter()
        tap = store.feed.open(Batch(progress=Progress(step=step)))
        assert tap is not None
        for sample, verdict in made:
            tap.verdict(sample, verdict)
        for first in range(0, len(made), _MEMBERS):
            members = [verdict for _, verdict in made[first : first + _MEMBERS]]
            tap.group(describe(members[0].group or "", members), members)
        await store.flush()
        took += time.perf_counter() - start
    start = time.perf_counter()
    await store.close()
    return took + time.perf_counter() - start


def _outcome(rng: random.Random) -> Outcome:
    chance = rng.random()
    if chance < 0.5:
        return right()
    if chance < 0.85:
        return wrong(flags=("loose_extraction",) if chance < 0.6 else ())
    if chance < 0.97:
        return no_answer()
    return undecided("empty_reference", fault="reference") if chance < 0.99 else wrong("hedged", flags=("hedged",))
