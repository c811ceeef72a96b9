"""The metrics that `/metrics` shows."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from rewarden.types import Verdict, VerifierRef
from rewarden_server.observe.metrics import CUSTOM, INLINE, Metrics
from rewarden_server.observe.rewards import Rewards
from rewarden_server.observe.series import OTHER, Distinct, Tuples
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


async def test_a_recipe_in_a_request_counts_as_no_registered_verifier_whatever_its_name(server: Running) -> None:
    table = [{"score": 1.0, "when": "a.passed", "reason": "my_reason"}, {"otherwise": 0.0, "reason": "my_other"}]
    mine = {"recipe": {"name": "same", "uses": {"a": "same"}, "table": table}}
    wrong = {"response": "B", "reference": "A"}
    sent = [{**row, "group": "g", "data_source": "gsm"} for row in (RIGHT, wrong)]
    answer = (await server.verify(*sent, {"response": "A"}, use=mine)).json()
    assert [verdict["reason"] for verdict in answer["verdicts"][:2]] == ["my_reason", "my_other"]
    page = (await server.http.get("/metrics")).text
    assert 'verifier="same"' not in page
    assert "my_" not in page
    labels = {"verifier": INLINE, "data_source": "gsm"}
    counted = re.findall(r'rewarden_verdicts_total\{(.*status="scored".*)\} (\S+)', page)
    assert sum(float(count) for said, count in counted if f'reason="{CUSTOM}"' in said) == 2
    assert value(page, "rewarden_groups_total", **labels, kind="mixed") == 1
    unscored = answer["verdicts"][2]
    labels = {"verifier": INLINE, "data_source": "", "status": unscored["status"], "fault": unscored["fault"]}
    assert value(page, "rewarden_verdicts_total", **labels, reason=unscored["reason"]) == 1


def test_registered_verifiers_keep_their_names_whatever_comes_first() -> None:
    metrics = Metrics(verifiers=1)
    metrics.registered(["math", "code"])
    for name in ("a", "b", "math", "code"):
        metrics.verdict(verdict("s", name))
    named = set(re.findall(r'rewarden_verdicts_total\{.*verifier="(\w+)"', metrics.page().decode()))
    assert named == {"a", OTHER, "math", "code"}


async def test_a_server_tells_all_its_verifiers_apart(server: Running) -> None:
    metrics = server.serving.service.metrics
    for number in range(300):
        metrics.verdict(verdict("s", f"v{number}"))
    await server.verify(RIGHT, use="same")
    page = (await server.http.get("/metrics")).text
    assert value(page, "rewarden_run_seconds_count", verifier="same") == 1


def test_tuples_of_labels_are_bounded() -> None:
    metrics = Metrics(tuples=3)
    for number in range(9):
        metrics.verdict(replace(verdict(f"s{number // 3}", f"v{number % 3}"), flags=("odd",)))
    page = metrics.page().decode()
    for family in ("rewarden_verdicts_total", "rewarden_flags_total"):
        series = [line for line in page.splitlines() if line.startswith(family + "{")]
        assert len(series) == 4
        rest = next(line for line in series if f'verifier="{OTHER}"' in line)
        assert f'data_source="{OTHER}"' in rest
        assert rest.endswith(" 6.0")


def test_a_tuple_that_is_known_is_counted_beyond_the_bound() -> None:
    counts = Tuples(1, others=(1,))
    for values in (("a", "b"), ("a", "c"), ("a", "b"), ("d", "e")):
        counts.add(*values)
    assert counts == {("a", "b"): 2, ("a", OTHER): 1, ("d", OTHER): 1}


def test_what_a_caller_sends_as_a_label_is_not_held_whole() -> None:
    label = Distinct(2)
    assert {label["x" * 100_000], label["x" * 100_001]} == {"x" * 120}
    assert max(len(known or "") for known in label) == 120


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


async def test_rewards_are_counted_by_source_as_positions_in_their_range(server: Running) -> None:
    signed = {"recipe": {"name": "signed", "range": [-1, 1], "uses": {"a": "same"}, "score": "a.passed ? 0.5 : -1.0"}}
    rows = [{**RIGHT, "data_source": "gsm"}, {"response": "B", "reference": "A", "data_source": "gsm"}, {}]
    await server.verify(*rows, use=signed)
    page = (await server.http.get("/metrics")).text
    labels = {"verifier": INLINE, "data_source": "gsm"}
    assert value(page, "rewarden_score_position_count", **labels) == 2  # what is unscored is not zero
    assert value(page, "rewarden_score_position_sum", **labels) == 0.75
    assert value(page, "rewarden_score_position_squares_total", **labels) == 0.75**2
    assert value(page, "rewarden_score_position_bucket", **labels, le="0.0") == 1
    assert value(page, "rewarden_score_position_bucket", **labels, le="0.75") == 2


async def test_passes_flags_and_groups_are_counted_by_source(server: Running) -> None:
    wrong = {"response": "B", "reference": "A"}
    groups = {"pass": (RIGHT, RIGHT), "fail": (wrong, wrong), "mix": (RIGHT, wrong), "gap": (RIGHT, {"response": "A"})}
    rows = [{**row, "group": name, "data_source": "gsm"} for name, members in groups.items() for row in members]
    rows.append({**RIGHT, "group": "alone", "data_source": "gsm", "finish_reason": "length"})
    await server.verify(*rows, use="same")
    page = (await server.http.get("/metrics")).text
    labels = {"verifier": "same", "data_source": "gsm"}
    assert value(page, "rewarden_passed_total", **labels, passed="yes") == 5
    assert value(page, "rewarden_passed_total", **labels, passed="no") == 3
    assert value(page, "rewarden_flags_total", **labels, flag="truncated") == 1
    for kind in ("all_pass", "all_fail", "mixed", "partly", "single"):
        assert value(page, "rewarden_groups_total", **labels, kind=kind) == 1, kind
    assert value(page, "rewarden_group_spread_count", **labels) == 3
    assert value(page, "rewarden_group_spread_sum", **labels) == 0.5


async def test_requests_work_under_way_and_workers_are_shown(server: Running) -> None:
    await server.verify({"response": "A", "reference": "A"}, use="worked")
    page = (await server.http.get("/metrics")).text
    assert value(page, "rewarden_request_seconds_count", surface="http", route="/v1/verify") == 1
    assert re.search(r"^rewarden_samples_under_way 0.0$", page, re.MULTILINE)
    assert value(page, "rewarden_workers", lane="cpu") >= 1
    assert value(page, "rewarden_worker_memory_bytes", lane="cpu") > 0
    assert value(page, "rewarden_sandbox_state", state="idle") == 1


def test_pairs_of_verifier_and_source_are_bounded() -> None:
    rewards = Rewards(most=2)
    for number in range(5):
        rewards.add("v", f"s{number}", verdict(f"s{number}"))
    (family,) = (family for family in rewards.families() if family.name == "rewarden_passed")
    assert {tuple(sample.labels.values())[:2] for sample in family.samples} == {
        ("v", "s0"),
        ("v", "s1"),
        (OTHER, OTHER),
    }


def test_a_score_without_a_range_has_no_position() -> None:
    metrics = Metrics()
    endless = Verdict(status="scored", score=3.0, range=(float("-inf"), float("inf")), data_source="s")
    metrics.verdict(endless)
    page = metrics.page().decode()
    assert value(page, "rewarden_passed_total", verifier="", data_source="s", passed="unknown") == 1
    assert "rewarden_score_position_count{" not in page


def test_a_score_outside_its_range_makes_no_counter_fall() -> None:
    rewards = Rewards()
    for score in (-3.0, 2.0, math.nan):
        rewards.add("v", "s", Verdict(index=0, status="scored", score=score, range=(0.0, 1.0)))
    positions = next(iter(rewards.families()))
    assert not positions.samples
