"""A trainer's big step: 10,240 samples, 640 shared references, 8,000-token responses; memory stays bounded.

Load: 640 prompts × 16 responses of about 32 kB each (330 MB in total), through the client, which streams; cache off.
"""

from __future__ import annotations

import random
import threading
import time

from benchmarks.pairs import _prose, pairs
from benchmarks.report import Report
from benchmarks.server import served
from rewarden import Client
from rewarden.types import Sample, Verdict

_GROUPS, _SIZE = 640, 16
_CHARACTERS = 32_000


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("large: 10,240 samples of 8,000 tokens, 640 shared references, over HTTP by the client's stream")
    rng = random.Random(11)
    load = pairs()
    bodies = [_prose(rng, _CHARACTERS) for _ in range(64)]
    shared, samples = {}, []
    for group in range(_GROUPS):
        source = load[(group * 16) % len(load) : (group * 16) % len(load) + 16]
        shared[f"r{group}"] = source[0].reference
        for place in range(_SIZE):
            body = bodies[rng.randrange(len(bodies))]
            cut = rng.randrange(len(body))  # no two responses are alike
            tail = source[place].response[-80:]
            text = f"{group} {place} {body[cut:]} {body[:cut]} {tail}"
            samples.append(Sample(response=text, reference_key=f"r{group}", group=f"g{group}", group_size=_SIZE))
    peak = 0.0
    done = threading.Event()
    with (
        served(REWARDEN_ENGINE_CACHE="false", REWARDEN_ENGINE_EAGER="true") as server,
        Client(server.http, timeout_s=900) as client,
    ):
        client.verify(samples[:16], use="math", shared=shared)
        before = server.own_resident_mb()

        def watch() -> None:
            nonlocal peak
            while not done.wait(0.05):
                peak = max(peak, server.own_resident_mb())

        watcher = threading.Thread(target=watch)
        watcher.start()
        start = time.perf_counter()
        verdicts, times, groups = [], [], 0
        for item in client.stream(samples, "math", shared=shared):
            if isinstance(item, Verdict):
                verdicts.append(item)
                times.append(item.queue_s + item.run_s)
            else:
                groups += 1
        last = time.perf_counter() - start
        done.set()
        watcher.join()
    times.sort()
    report.figure("verdicts", len(verdicts), least=len(samples))
    report.figure("groups", groups, least=_GROUPS)
    report.figure("scored", sum(verdict.status == "scored" for verdict in verdicts), least=len(samples))
    report.figure("time to the last verdict", last, "s")
    report.figure("samples per second", len(samples) / last, "/s")
    report.figure("time of a sample in the server, p50", times[len(times) // 2] * 1000, "ms")
    report.figure("time of a sample in the server, p99.9", times[int(len(times) * 0.999)] * 1000, "ms")
    report.figure("the server's own memory above its idle level, peak", peak - before, "MB", most=600)
    return report.broken
