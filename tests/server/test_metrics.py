"""What `/metrics` shows."""

from __future__ import annotations

import re

from rewarden.types import Verdict, VerifierRef
from rewarden_server.metrics import OTHER, Metrics
from tests.server.conftest import Running, Start

RIGHT = {"response": "A", "reference": "A"}


def value(page: str, name: str, **labels: str) -> float:
    """A series' value; 0 when it is not there."""
    for line in page.splitlines():
        found = re.fullmatch(rf"{name}\{{(.*)\}} (\S+)", line)
        if found and dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[1])) == labels:
            return float(found[2])
    return 0.0


async def test_verdicts_are_counted_by_all_their_labels(server: Running) -> None:
    rows = [{**RIGHT, "data_source": "gsm"}, {**RIGHT, "data_source": "gsm"}, {"response": "B", "reference": "A"}, {}]
    await server.verify(*rows, use="same")
    page = (await server.http.get("/metrics")).text
    labels = {"verifier": "same", "status": "scored", "reason": "", "fault": "", "data_source": "gsm"}
    assert value(page, "rewarden_verdicts_total", **labels) == 2
    labels |= {"reason": "wrong", "fault": "policy", "data_source": ""}
    assert value(page, "rewarden_verdicts_total", **labels) == 1
    labels |= {"verifier": "", "status": "error", "reason": "invalid_sample", "fault": "caller"}
    assert value(page, "rewarden_verdicts_total", **labels) == 1
    assert value(page, "rewarden_run_seconds_count", verifier="same") == 3
    assert value(page, "rewarden_queue_seconds_bucket", verifier="same", le="+Inf") == 3
    assert value(page, "rewarden_admitted_samples_total", source="http") == 4
    assert value(page, "rewarden_batch_seconds_count", source="http") == 1


async def test_refusals_and_requests_are_counted(start: Start) -> None:
    server = await start({"engine.max_samples": 1})
    assert (await server.verify(RIGHT, RIGHT, use="same")).status_code == 429
    await server.http.get("/nowhere")
    page = (await server.http.get("/metrics")).text
    assert value(page, "rewarden_refused_total", source="http", reason="overloaded") == 1
    labels = {"surface": "http", "key": "anonymous"}
    assert value(page, "rewarden_requests_total", route="/v1/verify", status="429", **labels) == 1
    assert value(page, "rewarden_requests_total", route="unmatched", status="404", **labels) == 1


def verdict(source: str, name: str = "v") -> Verdict:
    """A verdict."""
    return Verdict(
        status="scored", score=1.0, data_source=source, verifier=VerifierRef(name=name, version="1", fingerprint="f")
    )


def test_labels_that_callers_choose_are_bounded() -> None:
    metrics = Metrics(sources=2, verifiers=1)
    for number in range(5):
        metrics.verdict(verdict(f"s{number}", f"v{number}"))
    page = metrics.page().decode()
    sources = set(re.findall(r'rewarden_verdicts_total\{data_source="(\w+)"', page))
    assert sources == {"s0", "s1", OTHER}
    assert f'verifier="{OTHER}"' in page


def test_any_text_of_a_caller_can_be_a_label() -> None:
    metrics = Metrics()
    for text in ('a"b\n\\', "\udcff", "x" * 5000):
        metrics.verdict(verdict(text))
    assert max(map(len, metrics.page().decode().splitlines())) < 1000


def test_the_page_shows_lanes_and_ended_workers() -> None:
    metrics = Metrics()
    metrics.depth("cpu", 7)
    metrics.worker_ended("expired")
    page = metrics.page().decode()
    assert value(page, "rewarden_lane_depth", lane="cpu") == 7
    assert value(page, "rewarden_workers_ended_total", reason="expired") == 1
