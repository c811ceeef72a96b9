"""Ten thousand requests, one in twenty pathological at a limit of 0.2 s: nothing may leak. `make soak`.

Load: 10,000 POSTs of one math sample each, 16 at a time, cache off. Every reply must be a verdict; afterwards the
server has the processes and descriptors that it began with, and its memory has settled.
"""

from __future__ import annotations

import asyncio
import random
import sys

import httpx

from benchmarks.bounded import PATHOLOGICAL
from benchmarks.pairs import pairs
from benchmarks.report import Report
from benchmarks.server import served

_REQUESTS = 10_000
_CLIENTS = 16

STUCK = "\\prod_{k=1}^{10^{9}} \\left(1 + \\frac{x^k}{k^3}\\right)"


async def _load(url: str, requests: int, seed: int) -> dict[str, int]:
    load = pairs()
    rng = random.Random(seed)
    bad = [*PATHOLOGICAL.values(), STUCK]
    counts: dict[str, int] = {}
    todo = iter(range(requests))

    async def client(http: httpx.AsyncClient) -> None:
        for number in todo:
            pair = load[number % len(load)]
            response = f"\\boxed{{{rng.choice(bad)}}} {number}" if number % 20 == 7 else pair.response
            body = {"use": "math", "samples": [{"response": response, "reference": pair.reference}]}
            reply = await http.post(f"{url}/v1/verify", json=body)
            status = reply.json()["verdicts"][0]["status"] if reply.status_code == 200 else str(reply.status_code)
            counts[status] = counts.get(status, 0) + 1

    async with httpx.AsyncClient(timeout=120) as http:
        await asyncio.gather(*(client(http) for _ in range(_CLIENTS)))
    return counts


def main() -> int:
    """See the module; 1 when something leaked or was lost."""
    report = Report(f"soak: {_REQUESTS} requests, 5 % pathological, a limit of 0.2 s")
    with served(
        REWARDEN_ENGINE_CACHE="false", REWARDEN_ENGINE_EAGER="true", REWARDEN_ENGINE_ITEM_CPU_S="0.2"
    ) as server:
        asyncio.run(_load(server.http, 1000, 1))  # everything that is made once is made
        before = (server.processes(), server.descriptors(), server.own_resident_mb())
        counts = asyncio.run(_load(server.http, _REQUESTS, 2))
        after = (server.processes(), server.descriptors(), server.own_resident_mb())
    for status, count in sorted(counts.items()):
        report.figure(f"verdicts {status}", count)
    report.figure("replies that are verdicts", sum(counts.get(s, 0) for s in ("scored", "undecided")), least=_REQUESTS)
    report.figure("processes more than before", after[0] - before[0], most=0)
    report.figure("descriptors more than before", after[1] - before[1], most=2)
    report.figure("server's own memory more than before", after[2] - before[2], "MB", most=16)
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main())
