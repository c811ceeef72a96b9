"""The CPU time that a verdict costs, by process: the figures that docs/scaling.md multiplies.

Load: samples of several verifiers, all different, the verdict cache off, over HTTP in requests of 500 and over gRPC as
one stream; for `code`, programs with 15 tests each, by the CPU time of a busy sandbox. CPU time, because other load on
the machine hardly changes it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import httpx

from benchmarks.pairs import pairs
from benchmarks.report import Report
from benchmarks.sandbox_cost import Meter, _cpu, descendants
from benchmarks.server import served
from benchmarks.transport import choices
from rewarden import AsyncClient

Sample = dict[str, Any]
_PIECE = 500


def maths() -> list[Sample]:
    """Returns the 2,000 pairs of `benchmarks.pairs`."""
    return [{"response": pair.response, "reference": pair.reference} for pair in pairs()]


def objects() -> list[Sample]:
    """Returns JSON objects to check against a schema."""
    schema = {"type": "object", "required": ["name", "age"], "properties": {"age": {"type": "integer"}}}
    return [
        {
            "response": json.dumps({"name": f"n{number}", "age": number if number % 3 else "old", "tags": ["a"] * 20}),
            "reference": {"schema": schema},
        }
        for number in range(2000)
    ]


def programs(count: int) -> list[Sample]:
    """Returns programs that add numbers, with 15 tests each."""
    tests = [{"type": "stdio", "stdin": f"{n} {n * n}\n", "stdout": f"{n + n * n}\n"} for n in range(15)]
    return [
        {
            "response": f"```python\n# {number}\na, b = map(int, input().split())\nprint(a + b)\n```",
            "reference": {"language": "python", "tests": tests},
        }
        for number in range(count)
    ]


def run() -> list[str]:
    """Runs and reports; there are no promises."""
    report = Report("costs: CPU time per verdict, by process")
    settings = {"REWARDEN_ENGINE_CACHE": "false", "REWARDEN_ENGINE_WORKERS": "2", "REWARDEN_ENGINE_EAGER": "true"}
    with served(**settings) as server, httpx.Client(timeout=600) as http:
        for use, samples in {"choice": choices(4000), "math": maths(), "json": objects()}.items():
            size = len(json.dumps(samples))
            post(http, server.http, use, samples[:64])
            report.figure(f"{use}: request", size / len(samples), "bytes")
            own, below = _cpu(server.pid), _below(server.pid)
            received = sum(
                post(http, server.http, use, samples[at : at + _PIECE]) for at in range(0, len(samples), _PIECE)
            )
            _figures(report, f"{use} over HTTP", server.pid, own, below, len(samples))
            report.figure(f"{use}: response", received / len(samples), "bytes")
            own, below = _cpu(server.pid), _below(server.pid)
            asyncio.run(stream(server.grpc, use, samples))
            _figures(report, f"{use} over gRPC, streamed", server.pid, own, below, len(samples))
        _code(report, http, server.http, server.pid)
    with served(**settings | {"REWARDEN_ENGINE_CACHE": "true"}) as server, httpx.Client(timeout=600) as http:
        samples = maths()
        for _ in range(2):
            own, below = _cpu(server.pid), _below(server.pid)
            for at in range(0, len(samples), _PIECE):
                post(http, server.http, "math", samples[at : at + _PIECE])
        _figures(report, "math over HTTP, cached", server.pid, own, below, len(samples))
    return report.broken


def post(http: httpx.Client, address: str, use: str, samples: Sequence[Sample]) -> int:
    """Has samples judged in one request, and returns the size of the response."""
    answer = http.post(f"{address}/v1/verify", json={"use": use, "samples": samples})
    answer.raise_for_status()
    return len(answer.content)


async def stream(target: str, use: str, samples: Sequence[Sample]) -> None:
    """Has samples judged in one stream."""
    async with AsyncClient(target) as client:
        async for _ in client.stream(samples, use):
            pass


def _below(pid: int) -> float:
    return sum(map(_cpu, descendants(pid)))


def _figures(report: Report, what: str, pid: int, own: float, below: float, count: int) -> None:
    report.figure(f"{what}: the server's own process", 1e6 * (_cpu(pid) - own) / count, "µs")
    report.figure(f"{what}: its workers", 1e6 * (_below(pid) - below) / count, "µs")


def _code(report: Report, http: httpx.Client, address: str, pid: int) -> None:
    post(http, address, "code", programs(16))
    info = http.get(f"{address}/v1/info").json()
    launcher = info["sandbox"].get("host", {}).get("launcher") or info["sandbox"].get("launcher") or ""
    meter = Meter(pid, launcher)
    count = 100
    before, start = meter.spent(), time.perf_counter()
    post(http, address, "code", programs(count + 16)[16:])
    took = time.perf_counter() - start
    for name, seconds in meter.spent().since(before).items():
        report.figure(f"code, 15 tests: {name}", 1e3 * seconds / count, "ms")
    report.figure("code, 15 tests: samples per second, at the machine's present load", count / took, "1/s")
