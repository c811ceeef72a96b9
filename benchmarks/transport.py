"""The cost that HTTP and gRPC add to the engine, and the cost of 10,000 cheap samples against plain JSON.

Loads: the 2,000 math pairs in one request, cache off, over HTTP and gRPC against the engine in process; and 10,000
`choice` samples of about 1 kB in one POST against `json.loads` of the request's bytes plus `json.dumps` of the result.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time

import httpx

from benchmarks.math_pairs import ours
from benchmarks.pairs import _prose, pairs
from benchmarks.report import Report
from benchmarks.server import served
from rewarden import Client
from rewarden.types import Sample

_ROUNDS = 5


def choices(count: int = 10_000) -> list[dict[str, object]]:
    """Returns choice samples in JSON form: about 1 kB of reasoning, then an answer in one of several forms."""
    rng = random.Random(3)
    dresses = ("Answer: {}", "The answer is ({}).", "\\boxed{{{}}}", "So the correct option is {}.", "**{}**")
    return [
        {
            "id": str(number),
            "response": f"{_prose(rng, rng.randint(600, 1400))}\n\n{rng.choice(dresses).format(rng.choice('ABCD'))}",
            "reference": rng.choice("ABCD"),
            "group": f"g{number // 8}",
        }
        for number in range(count)
    ]


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("transport: 2,000 math pairs and 10,000 choice samples in one request each")
    load = pairs()
    samples = [{"response": pair.response, "reference": pair.reference, "group": pair.group} for pair in load]
    body = json.dumps({"use": "math", "samples": samples}).encode()
    with served(REWARDEN_ENGINE_CACHE="false", REWARDEN_ENGINE_WORKERS="2", REWARDEN_ENGINE_EAGER="true") as server:
        with httpx.Client(timeout=600) as http:
            warm = {"use": "math", "samples": samples[:64]}
            http.post(f"{server.http}/v1/verify", json=warm).raise_for_status()
            over_http, engine = [], []
            for _ in range(_ROUNDS):
                start = time.perf_counter()
                http.post(f"{server.http}/v1/verify", content=body, headers=_JSON).raise_for_status()
                over_http.append(time.perf_counter() - start)
                engine.append(asyncio.run(ours(load))[1])
            cheap = json.dumps({"use": "choice", "samples": choices()}).encode()
            plain, took, size = [], [], 0
            for _ in range(_ROUNDS):
                start = time.perf_counter()
                json.dumps(json.loads(cheap))
                plain.append(time.perf_counter() - start)
                start = time.perf_counter()
                reply = http.post(f"{server.http}/v1/verify", content=cheap, headers=_JSON)
                took.append(time.perf_counter() - start)
                size = len(reply.content)
        over_grpc = []
        typed = [Sample(response=pair.response, reference=pair.reference, group=pair.group) for pair in load]
        with Client(server.grpc) as client:
            for _ in range(_ROUNDS):
                start = time.perf_counter()
                client.verify(typed, use="math")
                over_grpc.append(time.perf_counter() - start)
    report.figure("engine alone", len(load) / statistics.median(engine), "/s")
    report.figure("over HTTP", len(load) / statistics.median(over_http), "/s")
    report.figure("over gRPC, including the client's own work", len(load) / statistics.median(over_grpc), "/s")
    report.figure("HTTP, times the engine alone", _ratio(over_http, engine), most=1.2)
    report.figure("10,000 choice samples over HTTP", 10_000 / statistics.median(took), "/s")
    report.figure(
        f"request {len(cheap) / 1e6:.1f} MB, reply {size / 1e6:.1f} MB: json alone", statistics.median(plain), "s"
    )
    report.figure("times json alone", _ratio(took, plain), most=6)
    return report.broken


_JSON = {"content-type": "application/json"}


def _ratio(above: list[float], below: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
