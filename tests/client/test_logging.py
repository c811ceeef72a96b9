"""Figures of rewards: their meaning, their bounds, and that they never end a training run."""

from __future__ import annotations

import gc
import itertools
import json
import math
import multiprocessing
import os
import pickle
import statistics
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidRequest
from rewarden.logging import Report, RewardLog, read_log, to_jsonl, to_tensorboard, to_wandb
from rewarden.logging import trl as trl_logging
from rewarden.logging.statistics import Durations
from rewarden.types import BadSample, Component, Sample, Verdict
from tests.client.test_weight import loaded_after


class Probe:
    """A sink that keeps its reports."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.threads: list[str] = []
        self.closed = 0

    def write(self, report: Report) -> None:
        self.reports.append(report)
        self.threads.append(threading.current_thread().name)

    def close(self) -> None:
        self.closed += 1


def scored(score: float, **fields: Any) -> Verdict:
    return Verdict(status="scored", score=score, **{"passed": score == 1.0, "data_source": "gsm8k", **fields})


def unscored(fault: Any, **fields: Any) -> Verdict:
    status = "error" if fault in ("infra", "caller") else "undecided"
    return Verdict(status=status, fault=fault, **{"reason": "broken", "data_source": "gsm8k", **fields})


def figures(verdicts: Sequence[Verdict], samples: Sequence[Sample] | None = None) -> Mapping[str, float]:
    log = RewardLog()
    log.add(verdicts, samples)
    return log.step().metrics


# --- what is counted ---------------------------------------------------------------------------------------------


def test_unscored_verdicts_are_counted_by_fault_and_not_as_zero() -> None:
    found = figures([scored(1.0), scored(0.0), unscored("infra"), unscored("infra"), unscored("reference")])
    assert found["rewarden/gsm8k/mean"] == 0.5
    assert found["rewarden/gsm8k/pass_rate"] == 0.5
    assert found["rewarden/gsm8k/unscored"] == 0.6
    assert found["rewarden/gsm8k/unscored_infra"] == 0.4
    assert found["rewarden/gsm8k/unscored_reference"] == 0.2
    assert found["rewarden/gsm8k/unscored_verifier"] == found["rewarden/gsm8k/unscored_caller"] == 0.0


def test_there_is_no_mean_without_scores() -> None:
    found = figures([unscored("infra")])
    assert "rewarden/gsm8k/mean" not in found
    assert "rewarden/all/pass_rate" not in found
    assert all(math.isfinite(value) for value in found.values())


def test_the_pass_rate_covers_verdicts_whose_verifier_defines_passing() -> None:
    found = figures([scored(1.0), scored(0.7, passed=None), scored(0.2)])
    assert found["rewarden/gsm8k/pass_rate"] == 0.5
    assert found["rewarden/gsm8k/min"] == 0.2
    assert found["rewarden/gsm8k/max"] == 1.0


def test_shares_of_missing_truncated_excluded_and_cached_answers() -> None:
    found = figures(
        [
            scored(0.0, flags=("no_answer", "truncated"), reason="no_answer"),
            scored(0.0, flags=("truncated",), reason="wrong", exclude=True),
            scored(0.0, reason="wrong", cached=True),
            scored(1.0),
        ]
    )
    named = {name.removeprefix("rewarden/gsm8k/"): value for name, value in found.items()}
    assert (named["no_answer"], named["truncated"], named["excluded"], named["cached"]) == (0.25, 0.5, 0.25, 0.25)
    assert (named["reason/no_answer"], named["reason/wrong"]) == (0.25, 0.5)


def test_all_combines_the_sources() -> None:
    scores = {"a": [0.0, 0.5, 1.0], "b": [-1.0, 1.0], "": [0.25]}
    verdicts = [scored(score, data_source=name or None) for name, many in scores.items() for score in many]
    found = figures(verdicts)
    flat = [score for many in scores.values() for score in many]
    assert found["rewarden/all/count"] == 6.0
    assert found["rewarden/all/mean"] == pytest.approx(statistics.fmean(flat))
    assert found["rewarden/all/std"] == pytest.approx(statistics.pstdev(flat))
    assert (found["rewarden/all/min"], found["rewarden/all/max"]) == (-1.0, 1.0)
    assert found["rewarden/unnamed/mean"] == 0.25


def test_components_have_a_mean_and_a_share_without_a_score() -> None:
    right, broken = Component(status="scored", score=1.0), Component(status="error", fault="infra")
    verdicts = [
        scored(1.0, components={"answer": right, "judge": broken}),
        scored(0.5, components={"answer": Component(status="scored", score=0.0), "judge": right}),
    ]
    found = figures(verdicts)
    for source in ("gsm8k", "all"):
        assert found[f"rewarden/{source}/component/answer"] == 0.5
        assert found[f"rewarden/{source}/component/judge"] == 1.0
        assert found[f"rewarden/{source}/component_unscored/judge"] == 0.5


def test_a_reason_that_no_longer_occurs_is_reported_as_zero() -> None:
    log = RewardLog()
    log.add([scored(0.0, reason="wrong")])
    assert log.step().metrics["rewarden/gsm8k/reason/wrong"] == 1.0
    log.add([scored(1.0)])
    assert log.step().metrics["rewarden/gsm8k/reason/wrong"] == 0.0


def test_each_step_starts_at_zero_and_can_be_numbered_by_the_trainer() -> None:
    log = RewardLog()
    log.add([scored(0.0)])
    assert (log.step().step, log.step(7).step, log.step().step) == (0, 7, 8)
    log.add([scored(1.0)], retried=1)
    report = log.step()
    assert (report.metrics["rewarden/step"], report.named) == (9.0, False)
    assert report.metrics["rewarden/all/mean"] == report.metrics["rewarden/all/retried"] == 1.0


def test_quantiles_are_right_to_five_percent() -> None:
    seconds = [1e-5 * 1.01**n for n in range(1500)]
    durations = Durations()
    for value in seconds:
        durations.add(value)
    for share in (0.5, 0.95):
        assert durations.quantile(share) == pytest.approx(seconds[math.ceil(share * 1500) - 1], rel=0.05)
    found = figures([scored(1.0, run_s=2.0, queue_s=0.0), scored(1.0, run_s=90.0, cached=True)])
    assert found["rewarden/gsm8k/run_s_p95"] == pytest.approx(2.0, rel=0.05)
    assert found["rewarden/gsm8k/queue_s_p50"] == 0.0


# --- groups ------------------------------------------------------------------------------------------------------


def test_groups_report_how_many_have_a_learning_signal() -> None:
    verdicts = [
        *(scored(1.0, group="all right") for _ in range(4)),
        *(scored(0.0, group="all wrong") for _ in range(4)),
        *(scored(score, group="mixed") for score in (1.0, 0.0, 0.0, 0.0)),
        *(scored(0.0, group="one is missing") for _ in range(3)),
        unscored("infra", group="one is missing"),
    ]
    found = figures(verdicts)
    named = {name.partition("groups/")[2]: value for name, value in found.items() if "gsm8k/groups/" in name}
    assert (named["count"], named["all_pass"], named["all_fail"], named["unscored"]) == (4.0, 0.25, 0.25, 0.25)
    assert named["no_signal"] == 0.75
    assert named["mean"] == pytest.approx((1 + 0 + 0.25 + 0) / 4)
    assert named["std"] == pytest.approx(statistics.pstdev((1, 0, 0, 0)) / 4)
    pairs = list(itertools.combinations((1, 0, 0, 0), 2))
    assert named["pass_at_2"] == pytest.approx((1 + 0 + sum(map(any, pairs)) / len(pairs) + 0) / 4)
    assert named["pass_at_4"] == pytest.approx((1 + 0 + 1) / 3)
    assert "pass_at_8" not in named
    assert found["rewarden/all/groups/no_signal"] == 0.75


def test_a_group_of_known_size_waits_for_its_siblings_beyond_a_step() -> None:
    log = RewardLog()
    member = Sample(response="", group="q", group_size=2)
    log.add([scored(1.0, group="q")], [member])
    assert "rewarden/gsm8k/groups/count" not in log.step().metrics
    log.add([scored(0.0, group="q")], [member])
    assert log.step().metrics["rewarden/gsm8k/groups/no_signal"] == 0.0
    log.add([scored(1.0, group="q")], [member])
    log.step()
    assert log.step().metrics["rewarden/gsm8k/groups/count"] == 1.0, "it waits for one step, not for ever"


def test_a_group_of_unknown_size_consists_of_the_samples_of_one_call() -> None:
    log = RewardLog()
    for score in (1.0, 0.0):
        log.add([scored(score, group="0"), scored(score, group="0")])
    found = log.step().metrics
    assert (found["rewarden/gsm8k/groups/count"], found["rewarden/gsm8k/groups/no_signal"]) == (2.0, 1.0)


# --- names and bounds ----------------------------------------------------------------------------------------------


def test_names_are_valid_in_every_tracker() -> None:
    sources = ("openai/gsm8k", "all", "a b", "数学", "x" * 300)
    found = figures([scored(1.0, data_source=name, reason="a/b", group="g") for name in sources])
    assert {"rewarden/openai_gsm8k/mean", "rewarden/all_/mean", "rewarden/a_b/mean", "rewarden/数学/mean"} <= {*found}
    assert max(map(len, found)) < 120
    folders = {name[:place] for name in found for place, char in enumerate(name) if char == "/"}
    assert not folders & {*found}, "a metric whose name is another's folder breaks MLflow's file store"
    assert "reward" not in folders, "TRL has a metric of that name"


def size(value: Any, seen: set[int] | None = None) -> int:
    """Returns the number of objects reachable from a value."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, (int, float, str, bytes, type(None))):
        return 1
    seen.add(id(value))
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set)):
        inner = list(value)
    else:
        inner = list(getattr(value, "__dict__", {}).values())
        inner += [getattr(value, name, None) for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return 1 + sum(size(item, seen) for item in inner)


def test_memory_does_not_grow_with_the_number_of_steps() -> None:
    log = RewardLog()
    sizes, widths = [], []
    for step in range(10_000):
        name = str(step)
        parts = {name: Component(status="scored", score=1.0)}
        log.add([scored(0.0, id=name, data_source=name, reason=name, components=parts, group=name), unscored("infra")])
        report = log.step()
        if step in (99, 9_999):
            sizes.append(size(log))
            widths.append(len(report.metrics))
    assert sizes[0] == sizes[1]
    assert widths[0] == widths[1]


def test_memory_of_one_step_is_bounded() -> None:
    log = RewardLog(worst=4)
    verdicts = [
        scored(0.0, id=str(n), data_source=f"s{n % 99}", reason=f"r{n}", group=f"g{n}", feedback="f" * 9000)
        for n in range(3000)
    ]
    member = Sample(response="word " * 9000, group_size=2)
    log.add(verdicts, [member] * 3000)
    sizes = [size(log)]
    log.add([unscored("infra", id=str(n), feedback="f" * 9000) for n in range(3000)])
    sizes.append(size(log))
    report = log.step()
    assert sizes[1] < sizes[0] + 100
    assert len({name.split("/")[1] for name in report.metrics}) <= 32 + 3
    assert sum("/s0/reason/" in name for name in report.metrics) <= 17
    named = sum(report.metrics[f"rewarden/s{n}/count"] for n in range(32))
    assert report.metrics["rewarden/other/count"] == 6000 - named
    assert (len(report.worst), len(report.unscored)) == (4, 4)
    assert all(len(str(cell)) < 700 for row in (*report.worst, *report.unscored) for cell in row.cells)


def test_an_unreferenced_log_is_freed() -> None:
    """TRL's adapter makes one for each call."""
    gone = weakref.ref(RewardLog(every=1))
    gc.collect()
    assert gone() is None


# --- tables --------------------------------------------------------------------------------------------------------


def test_the_worst_come_first_relative_to_their_range_and_the_unscored_separately() -> None:
    log = RewardLog(worst=2)
    verdicts = [
        scored(0.2, id="low"),
        scored(-0.2, id="middle", range=(-1.0, 1.0)),
        scored(1.0, id="full"),
        scored(0.0, id="lowest", reason="wrong", extracted={"a": 1}, feedback="no"),
        unscored("infra", id="broken"),
    ]
    said = [{"role": "assistant", "content": [{"type": "text", "text": "it is 7"}]}]
    log.add(verdicts, [Sample(response=said)] * 5)
    report = log.step()
    assert [row.id for row in report.worst] == ["lowest", "low"]
    worst = report.worst[0]
    assert (worst.score, worst.reason, worst.extracted, worst.feedback) == (0.0, "wrong", '{"a": 1}', "no")
    assert worst.response == "it is 7"
    assert [(row.id, row.fault, row.score) for row in report.unscored] == [("broken", "infra", None)]


def test_ties_are_sampled_from_the_whole_batch_and_reproducibly() -> None:
    def drawn() -> list[str]:
        log = RewardLog(worst=16)
        log.add([scored(0.0, id=str(n)) for n in range(1000)])
        return [row.id for row in log.step().worst]

    assert drawn() == drawn()
    assert max(map(int, drawn())) > 500


def test_an_excerpt_keeps_the_beginning_and_the_end_and_can_be_written() -> None:
    log = RewardLog()
    log.add([scored(0.0)], [Sample(response="begin" + "x" * 5000 + "\ud800 end")])
    response = log.step().worst[0].response or ""
    assert response.startswith("begin")
    assert response.encode().endswith(b"? end")
    assert "4410 characters omitted" in response


# --- it never harms ------------------------------------------------------------------------------------------------


def test_a_failing_sink_is_warned_of_once_and_does_not_affect_the_others(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Probe):
        def write(self, report: Report) -> None:
            raise ConnectionError("tracker is away")

    kept = Probe()
    log = RewardLog(Broken(), kept)
    for _ in range(3):
        log.add([scored(1.0)])
        log.step()
    assert len(kept.reports) == 3
    assert [record.message.count("tracker is away") for record in caplog.records] == [1]


def test_verdicts_that_cannot_be_counted_cause_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    log = RewardLog()
    log.add([None])  # type: ignore[list-item]
    log.add([scored(1.0)], [])
    assert log.step().metrics["rewarden/all/count"] == 1.0
    assert len(caplog.records) == 2


def test_a_log_that_closes_its_own_steps_writes_in_its_own_thread_and_loses_nothing() -> None:
    probe = Probe()
    log = RewardLog(probe, every=4)
    for _ in range(10):
        log.add([scored(1.0)])
    log.close()
    assert [report.metrics["rewarden/all/count"] for report in probe.reports] == [4.0, 4.0, 2.0]
    assert probe.threads[:2] == ["rewarden-logging"] * 2
    assert probe.closed == 1
    log.add([scored(1.0)] * 4)
    log.close()
    assert len(probe.reports) == 4, "it may be used again"


class Clock:
    """A clock that tests move forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_verdicts_are_reported_after_thirty_seconds_unless_the_caller_closes_the_steps() -> None:
    clock, probe = Clock(), Probe()
    log = RewardLog(probe, clock=clock)
    log.add([scored(1.0)])
    clock.now = 29.9
    log.add([scored(1.0)])
    clock.now = 30.0
    log.add([scored(1.0)])
    log.report_rest()
    assert [report.metrics["rewarden/all/count"] for report in probe.reports] == [3.0]
    log.add([scored(1.0)])
    assert log.step(5).metrics["rewarden/all/count"] == 1.0
    log.add([scored(1.0)])
    clock.now = 1000.0
    log.add([scored(1.0)])
    assert log.step(6).metrics["rewarden/all/count"] == 2.0, "its steps are whole"
    assert [report.step for report in probe.reports] == [0, 5, 6]
    log.close()


def test_verdicts_are_reported_even_if_no_more_come() -> None:
    written = threading.Event()

    class Waited(Probe):
        def write(self, report: Report) -> None:
            super().write(report)
            written.set()

    probe = Waited()
    log = RewardLog(probe, every_s=0.01)
    log.add([scored(1.0)])
    assert written.wait(60)
    assert probe.threads == ["rewarden-logging"]
    log.close()


def test_the_thread_of_a_log_ends_with_it() -> None:
    log = RewardLog(Probe())
    log.add([scored(1.0)])
    (thread,) = [each for each in threading.enumerate() if each is log._thread]
    log.report_rest()
    del log
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()


def test_a_log_without_sinks_writes_to_the_processs_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "rewarden.logging")
    log = RewardLog()
    log.add([scored(1.0), scored(0.0, reason="wrong"), unscored("infra")])
    log.close()
    (line,) = [record.message for record in caplog.records]
    assert line.startswith("rewarden: 3 verdicts, mean 0.5, pass_rate 0.5, unscored 0.333")


def test_a_log_of_a_function_that_ended_is_reported_when_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "rewards.jsonl"
    program = f"""
from rewarden.logging import RewardLog, to_jsonl
from rewarden.types import Verdict

def main():
    RewardLog(to_jsonl({str(path)!r})).add([Verdict(status="scored", score=1.0)])

main()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert json.loads(path.read_text())["metrics"]["rewarden/all/count"] == 1.0


def test_what_is_left_is_reported_when_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "rewards.jsonl"
    program = f"""
from rewarden.logging import read_log
from rewarden.types import Verdict
read_log("jsonl:{path}").add([Verdict(status="scored", score=1.0)])
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert json.loads(path.read_text())["metrics"]["rewarden/all/mean"] == 1.0


def test_a_slow_sink_does_not_block_callers(caplog: pytest.LogCaptureFixture) -> None:
    go = threading.Event()

    class Slow(Probe):
        def write(self, report: Report) -> None:
            go.wait()
            super().write(report)

    slow = Slow()
    log = RewardLog(slow, every=1)
    for _ in range(50):
        log.add([scored(1.0)])  # would never come back if it waited
    go.set()
    log.close()
    assert 8 <= len(slow.reports) < 50
    assert "the sinks are too slow" in caplog.text


def test_many_threads_can_add() -> None:
    log = RewardLog()
    threads = [threading.Thread(target=lambda: [log.add([scored(1.0)]) for _ in range(200)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.step().metrics["rewarden/all/count"] == 1600.0


def test_a_copy_in_another_process_is_empty_and_has_the_same_settings(tmp_path: Path) -> None:
    log = RewardLog(to_jsonl(tmp_path / "a.jsonl"), every=2, worst=3, prefix="math")
    log.add([scored(1.0)])
    copy: RewardLog = pickle.loads(pickle.dumps(log))  # noqa: S301
    assert (copy.every, copy.worst, copy.prefix) == (2, 3, "math")
    assert copy.step().metrics == {"math/step": 0.0, "math/all/count": 0.0}


@pytest.mark.forks
def test_a_log_continues_after_a_fork_with_its_own_figures(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = RewardLog(to_jsonl(path), every=2)
    log.add([scored(0.0)])
    child = os.fork()
    if not child:
        log.add([scored(1.0)] * 2)
        log.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    log.close()
    means = {line["process"]: line["metrics"]["rewarden/all/mean"] for line in map(json.loads, path.open())}
    assert sorted(means.values()) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"every": 0}, "every"),
        ({"every_s": 0}, "every_s"),
        ({"every_s": "soon"}, "every_s"),
        ({"worst": -1}, "worst"),
        ({"worst": 1.5}, "worst"),
        ({"prefix": "a b"}, "prefix"),
        ({"prefix": "/a"}, "prefix"),
    ],
)
def test_bad_arguments_raise_immediately(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        RewardLog(**arguments)


def test_a_string_is_not_a_sink() -> None:
    with pytest.raises(InvalidRequest, match="to_wandb"):
        RewardLog("wandb")  # type: ignore[arg-type]


def test_a_missing_package_is_reported_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarden.logging.packages.find_spec", lambda name: None)
    with pytest.raises(InvalidRequest, match="pip install wandb"):
        to_wandb()
    with pytest.raises(InvalidRequest, match="pip install tensorboardX"):
        to_tensorboard("runs")


# --- from text, to a file, to TRL ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("", "is not one of"),
        ("wandbb", "is not one of jsonl, mlflow"),
        ("jsonl", "needs a file"),
        ("tensorboard:", "needs a folder"),
        ("jsonl:.", "cannot be written"),
        ("jsonl:a.jsonl?evry=3", "unknown option 'evry'"),
        ("jsonl:a.jsonl?every=0", "every"),
        ("jsonl:a.jsonl?every=x", "every"),
    ],
)
def test_a_text_that_describes_no_log_is_refused(spec: str, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        read_log(spec)


def test_a_text_describes_one_log_for_the_whole_process(tmp_path: Path) -> None:
    spec = f"jsonl:{tmp_path}/a-{{rank}}.jsonl, jsonl:{tmp_path}/b.jsonl?every=2&worst=0&prefix=math"
    log = read_log(spec)
    assert read_log(spec) is log
    assert pickle.loads(pickle.dumps(log)) is log  # noqa: S301
    log.add([scored(0.0), unscored("infra")])
    log.close()
    lines = [(tmp_path / name).read_text() for name in ("a-0.jsonl", "b.jsonl")]
    assert all(json.loads(line)["metrics"]["math/gsm8k/mean"] == 0.0 for line in lines)


def test_a_line_of_json_for_each_report(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rewards.jsonl"
    log = RewardLog(to_jsonl(path))
    for score in (0.0, 1.0):
        log.add([scored(score, id="x")], [Sample(response="é")])
        log.step()
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["step"], first["metrics"]["rewarden/gsm8k/mean"]) == (0, 0.0)
    assert first["tables"]["rewarden/worst"][0]["response"] == "é"
    assert (second["step"], second["tables"]) == (1, {})
    assert first["process"].endswith(f":{os.getpid()}")


def test_trl_gets_figures_that_can_be_averaged_and_columns_as_long_as_the_batch() -> None:
    metrics: dict[str, float] = {}
    columns: dict[str, list[Any]] = {}
    verdicts = [scored(1.0, extracted=7), unscored("infra"), scored(0.0, reason="wrong", data_source=None)]
    trl_logging.report(verdicts, metrics.__setitem__, columns.__setitem__, name="math")
    assert metrics["rewarden/math/all/mean"] == 0.5
    assert metrics["rewarden/math/gsm8k/unscored_infra"] == 0.5
    assert not [name for name in metrics if "reason" in name or "count" in name or "unnamed" in name]
    assert columns == {
        "math_status": ["scored", "error", "scored"],
        "math_reason": ["", "broken", "wrong"],
        "math_fault": ["", "infra", ""],
        "math_extracted": ["7", "", ""],
        "math_feedback": ["", "", ""],
    }


def test_without_a_log_nothing_is_collected() -> None:
    assert "rewarden.logging" not in loaded_after("from rewarden.adapters import Settings; Settings.read()")
    loaded = loaded_after("import rewarden.logging")
    assert not loaded & {"torch", "tensorboard", "tensorboardX", "wandb", "trackio", "mlflow", "httpx", "asyncio"}


def test_a_score_that_is_not_a_number_counts_as_unscored_and_does_not_spoil_the_mean(tmp_path: Path) -> None:
    log = RewardLog(probe := Probe(), to_jsonl(tmp_path / "log.jsonl"))
    part = {"a": Component(status="scored", score=math.nan), "b": Component(status="scored", score=0.5)}
    log.add([scored(math.nan), scored(math.inf), scored(1.0, components=part)])
    log.step()
    (report,) = probe.reports
    assert report.metrics["rewarden/gsm8k/mean"] == 1.0
    assert report.metrics["rewarden/gsm8k/unscored_verifier"] == pytest.approx(2 / 3)
    assert report.metrics["rewarden/gsm8k/component_unscored/a"] == 1.0
    assert [row.reason for row in report.unscored] == ["not_finite", "not_finite"]
    assert json.loads((tmp_path / "log.jsonl").read_text())["metrics"] == report.metrics


def test_figures_that_overflow_are_left_out() -> None:
    found = figures([scored(1e308), scored(-1e308)])
    assert found["rewarden/all/min"] == -1e308
    assert all(map(math.isfinite, found.values()))


def test_an_odd_row_does_not_affect_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    loop: list[Any] = []
    loop.append(loop)
    log = RewardLog(to_jsonl(tmp_path / "log.jsonl"))
    odd: list[tuple[dict[str, Any], Any]] = [
        ({"extracted": loop}, Sample(response="x")),
        ({"extracted": {(1, 2): 3}}, Sample(response=[{"role": "assistant", "content": ["a", {"text": "b"}]}])),
        ({"reason": "\ud800" * 5000}, BadSample(message="no", path="response")),
        ({"range": None}, Sample(response=[{"role": "assistant", "content": 7}])),
        ({}, Sample(response="last")),
    ]
    log.add([scored(0.0, **fields) for fields, _ in odd], [sample for _, sample in odd])
    report = log.step()
    assert report.metrics["rewarden/all/count"] == 5.0
    rows = json.loads((tmp_path / "log.jsonl").read_text())["tables"]["rewarden/worst"]
    assert {row["response"] for row in rows} == {"x", "ab", None, "last"}
    assert max(len(row["reason"] or "") for row in rows) < 300
    assert [record.message for record in caplog.records if "TypeError" in record.message]


def test_a_step_without_a_number_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = RewardLog()
    assert [log.step(step).step for step in (3, math.nan, "x", None)] == [3, 4, 5, 6]  # type: ignore[arg-type]
    assert "not a step number" in caplog.text


def _adds_three(spec: str) -> None:
    read_log(spec).add([scored(1.0)] * 3)


def test_processes_of_multiprocessing_report_their_last_step(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    spec = f"jsonl:{path}?every=4"
    read_log(spec)  # the parent's: a fork has it, too
    for method in ("fork", "forkserver"):
        process = multiprocessing.get_context(method).Process(target=_adds_three, args=(spec,))
        process.start()
        process.join()
    counts = [json.loads(line)["metrics"]["rewarden/all/count"] for line in path.read_text().splitlines()]
    assert counts == [3.0, 3.0]
