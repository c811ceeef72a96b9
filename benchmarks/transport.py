"""The cost that HTTP and gRPC add to the engine, and the cost of 10,000 cheap samples against plain JSON.

Loads: the 2,000 math pairs in one request over HTTP against the engine in process; the same pairs through the client,
in one request and as a stream, over HTTP and gRPC in turn; and 10,000 `choice` samples of about 1 kB in one POST
against `json.loads` of the request's bytes plus `json.dumps` of the result. The cache is off.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from dataclasses import dataclass, field

import httpx

from benchmarks.math_pairs import engine_alone
from benchmarks.pairs import _prose, pairs
from benchmarks.report import Report
from benchmarks.server import Served, served
from rewarden import Client
from rewarden.types import Sample

_ROUNDS = 5
_TURNS = 11


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
        with httpx.Client(timeout=600) as http, engine_alone(load) as alone:
            warm = {"use": "math", "samples": samples[:64]}
            http.post(f"{server.http}/v1/verify", json=warm).raise_for_status()
            over_http, engine = [], []
            for _ in range(_ROUNDS):
                start = time.perf_counter()
                http.post(f"{server.http}/v1/verify", content=body, headers=_JSON).raise_for_status()
                over_http.append(time.perf_counter() - start)
                engine.append(alone())
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
        typed = [Sample(response=pair.response, reference=pair.reference, group=pair.group) for pair in load]
        taken = _taken(typed, server)
    report.figure("engine alone", len(load) / statistics.median(engine), "/s")
    report.figure("over HTTP", len(load) / statistics.median(over_http), "/s")
    report.figure("HTTP, times the engine alone", _ratio(over_http, engine), most=1.2)
    for form in ("unary", "stream"):
        http_s, grpc_s = taken["http", form], taken["grpc", form]
        for name, found in (("HTTP", http_s), ("gRPC", grpc_s)):
            report.figure(f"{form}, client over {name}", len(load) / statistics.median(found.wall_s), "/s")
            spent = statistics.fmean(found.cpu_s) / len(load)
            report.figure(f"{form}, client over {name}: CPU time of client and server", spent * 1e6, "us")
        report.figure(f"{form}: gRPC's rate, times HTTP's", _ratio(http_s.wall_s, grpc_s.wall_s), least=0.8)
        report.figure(f"{form}: gRPC's CPU time, times HTTP's", _ratio(grpc_s.cpu_s, http_s.cpu_s), most=1.25)
    report.figure("10,000 choice samples over HTTP", 10_000 / statistics.median(took), "/s")
    report.figure(
        f"request {len(cheap) / 1e6:.1f} MB, reply {size / 1e6:.1f} MB: json alone", statistics.median(plain), "s"
    )
    report.figure("times json alone", _ratio(took, plain), most=6)
    return report.broken


@dataclass(slots=True)
class _Times:
    """The wall time of each round, and the CPU time of the client's and the server's own process together."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)


def _taken(samples: list[Sample], server: Served) -> dict[tuple[str, str], _Times]:
    """The times of each transport and form. They take turns, so that other work on the machine slows all alike."""
    forms = {"unary": len(samples), "stream": 0}  # `stream_above`
    clients = {
        (scheme, form): Client(target, stream_above=above)
        for form, above in forms.items()
        for scheme, target in (("http", server.http), ("grpc", server.grpc))
    }
    taken = {name: _Times() for name in clients}
    for turn in range(1 + _TURNS):
        for name, client in clients.items():
            cpu, start = time.process_time() + server.cpu_seconds(), time.perf_counter()
            client.verify(samples, use="math")
            if turn:  # the first one opens the connections
                taken[name].wall_s.append(time.perf_counter() - start)
                taken[name].cpu_s.append(time.process_time() + server.cpu_seconds() - cpu)
    for client in clients.values():
        client.close()
    return taken


_JSON = {"content-type": "application/json"}


def _ratio(above: list[float], below: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
