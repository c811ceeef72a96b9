"""The cost of `rescore --engine ray` next to the engine in this process, on the same cores.

Load: the 2,000 math pairs ten times, made distinct, and 20,000 `choice` rows of about 1 kB, each set a file of JSON
lines; one engine of two workers against two engines of one worker each on a new local cluster. The outputs must be
equal. Start-up is reported separately: a cluster and its engines take seconds, once.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.pairs import pairs
from benchmarks.report import Report
from benchmarks.sandbox_cost import _cpu, descendants
from benchmarks.transport import choices
from rewarden.client import AsyncClient
from rewarden.routing import Routing
from rewarden.types import Use
from rewarden_server.config import load_config
from rewarden_server.studies.rescore.options import RescoreOptions
from rewarden_server.studies.rescore.ray import RayEngines
from rewarden_server.studies.rescore.run import rescore
from rewarden_server.studies.rescore.target import Target


def loads() -> dict[str, list[dict[str, Any]]]:
    """Returns rows by verifier."""
    return {
        "math": [
            {"response": f"Attempt {turn}. {pair.response}", "reference": pair.reference}
            for turn in range(10)
            for pair in pairs()
        ],
        "choice": [{"response": row["response"], "reference": row["reference"]} for row in choices(20_000)],
    }


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("ray: rows of a file, by one local engine and by two on Ray")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_run(report, Path(folder)))
    return report.broken


async def _run(report: Report, folder: Path) -> None:
    files = {use: _write(folder / f"{use}.jsonl", rows) for use, rows in loads().items()}
    config = load_config(environ={"REWARDEN_ENGINE_WORKERS": "2"})
    spent: dict[tuple[str, str], tuple[float, float, float]] = {}
    async with AsyncClient("local", config=config) as client:
        await client.info()
        for use, file in files.items():
            spent["local", use] = await _rescored(client, use, file, folder / f"{use}.local.jsonl")
    start = time.perf_counter()
    uses = [Use(name=use) for use in files]
    engines = await RayEngines.open(load_config(environ={}), uses, environ={}, engines=2, cores=1)
    report.figure("a cluster and its first engine", time.perf_counter() - start, "s")
    try:
        for use, file in files.items():
            spent["ray", use] = await _rescored(engines, use, file, folder / f"{use}.ray.jsonl")
    finally:
        await engines.close()
    for use in files:
        rows = 20_000
        for where in ("local", "ray"):
            seconds, cpu, own = spent[where, use]
            report.figure(f"{use}, {where}", rows / seconds, "1/s")
            report.figure(f"{use}, {where}: CPU time per row, all processes", 1e6 * cpu / rows, "µs")
            report.figure(f"{use}, {where}: of which this process", 1e6 * own / rows, "µs")
        report.figure(f"{use}: CPU time, Ray to local", spent["ray", use][1] / spent["local", use][1], "x")
        equal = (folder / f"{use}.local.jsonl").read_bytes() == (folder / f"{use}.ray.jsonl").read_bytes()
        report.figure(f"{use}: equal bytes", float(equal), least=1)


async def _rescored(target: Target, use: str, file: Path, output: Path) -> tuple[float, float, float]:
    """Returns seconds; CPU seconds of this process and all below it; and CPU seconds of this process alone. Other rows
    warm up first.
    """
    options = {"routing": Routing.by_source([("*", Use(name=use))]), "force": True}
    warm = _write(
        output.with_suffix(".warm.jsonl"), [{"response": f"A {n} \\boxed{{A}}", "reference": "A"} for n in range(64)]
    )
    await rescore(RescoreOptions(input=warm, output=output, **options), target)
    start, cpu, own = time.perf_counter(), _all(), _cpu(os.getpid())
    await rescore(RescoreOptions(input=file, output=output, **options), target)
    return time.perf_counter() - start, _all() - cpu, _cpu(os.getpid()) - own


def _all() -> float:
    return sum(map(_cpu, (os.getpid(), *descendants(os.getpid()))))


def _write(file: Path, rows: Iterable[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file
