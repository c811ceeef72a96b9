"""The summary: honest counts by data source, as JSON and as a table; and the progress line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.studies.rescore import tally as module
from rewarden_server.studies.rescore.attempts import Attempts, PassAt
from rewarden_server.studies.rescore.progress import Bar, Console, duration, progress_line
from rewarden_server.studies.rescore.summary import Summary
from rewarden_server.studies.rescore.tally import Tally
from tests.rescore.conftest import Desk

REF = {"name": "yes", "version": "1", "fingerprint": "f00"}


def scored(score: float, passed: bool | None = None, **more: Any) -> dict[str, Any]:
    return {"status": "scored", "score": score, "passed": passed, "verifier": REF, **more}


def filled() -> Tally:
    tally = Tally()
    for source, verdict in [
        ("a", scored(1.0, True)),
        ("a", scored(0.0, False, reason="wrong", flags=["truncated"])),
        ("a", {"status": "undecided", "reason": "invalid_reference", "fault": "reference"}),
        ("a", {"status": "error", "reason": "worker_lost", "fault": "infra"}),
        ("b", scored(0.5, None)),
        ("b", scored(0.0, False, reason="no_answer", flags=["no_answer"], exclude=True)),
    ]:
        _, counts = tally.of(source)
        counts.rows += 1
        counts.add(verdict, "g")
    return tally


def summary(tally: Tally) -> Summary:
    each = [[PassAt(1, 0.5, 1)], []][: len(tally.sources)]
    return Summary(tally=tally, pass_at=each, pass_at_all=each[0], seconds=2.0)


def test_means_are_over_the_scored_and_say_so() -> None:
    made = summary(filled()).to_json()
    a, b = made["by_data_source"]["a"], made["by_data_source"]["b"]
    assert a["mean_score_over_scored"] == 0.5  # neither the undecided nor the error is a zero
    assert a["unscored_by_fault"] == {"undecided": {"reference": 1}, "error": {"infra": 1}}
    assert (a["judged"], a["passed"], a["passed_share"]) == (2, 1, 0.5)
    assert a["passed_interval_95"] == pytest.approx([0.0945, 0.9055], abs=1e-3)
    assert (b["judged"], b["passed_share"], b["excluded_share"]) == (1, 0.0, 0.5)
    assert (a["truncated_share"], b["no_answer_share"]) == (0.25, 0.5)
    assert made["reasons"] == {"wrong": 1, "invalid_reference": 1, "worker_lost": 1, "no_answer": 1}
    assert made["verifiers"] == [{**REF, "verdicts": 4}]
    assert made["rows_per_second"] == 3.0


def test_shares_of_nothing_are_null_not_zero() -> None:
    made = Summary(tally=Tally(), pass_at=[], pass_at_all=[], seconds=0.0).to_json()
    assert made["mean_score_over_scored"] is None
    assert made["passed_interval_95"] is None
    assert made["rows_per_second"] is None


def test_the_table_is_aligned_and_names_what_went_unscored() -> None:
    lines = summary(filled()).table().splitlines()
    assert lines[0].split()[:3] == ["data", "source", "rows"]
    assert [line.split()[0] for line in lines[2:5]] == ["a", "b", "(all)"]
    assert len({line.rindex("%") for line in lines[2:5]}) == 1
    assert "unscored   1 undecided (reference), 1 error (infra)" in lines
    assert any(line.startswith("verifier   yes 1 (f00): 4 verdicts") for line in lines)


def test_mistakes_in_requests_and_references_are_named_with_their_counts() -> None:
    tally = Tally()
    unnamed = "params.judge: no judge is named"
    for told in (unnamed, "recipe 'mine' reads\nprogress.step", unnamed):
        wrong = {"status": "error", "reason": "invalid_params", "fault": "caller", "feedback": told}
        tally.of("a")[1].add(wrong, "g")
    bad = "reference.target: there is no such field"
    tally.of("a")[1].add({"status": "undecided", "reason": "invalid", "fault": "reference", "feedback": bad}, "g")
    tally.of("a")[1].add({"status": "error", "reason": "lost", "fault": "infra", "feedback": "a worker"}, "g")
    made = summary(Tally(tally.state()))
    lines = made.table().splitlines()
    assert "mistake    reference.target: there is no such field: 1" in lines
    first = lines.index("mistake    params.judge: no judge is named: 2")
    assert lines[first + 1] == "mistake    recipe 'mine' reads\\nprogress.step: 1"
    assert "a worker" not in "".join(lines)
    assert made.to_json()["mistakes"]["params.judge: no judge is named"] == 2


def test_a_message_for_each_row_is_counted_within_bounds() -> None:
    tally = Tally()
    for row in range(1000):
        wrong = {"status": "error", "reason": "invalid_sample", "fault": "caller", "feedback": f"row {row} {'x' * 999}"}
        tally.of("a")[1].add(wrong, "g")
    mistakes = tally.total().mistakes
    assert (len(mistakes), sum(mistakes.values())) == (21, 1000)
    assert max(map(len, mistakes)) == 200


def test_flags_and_excluded_responses_stand_in_the_table() -> None:
    """A mean over fallbacks must not look like one over verdicts of the judge that was asked for."""
    tally = Tally()
    tally.of("a")[1].add(scored(0.5, True, flags=["fallback_used"]), "g")
    more = scored(0.0, False, reason="no_answer", flags=["no_answer", "fallback_used"], exclude=True)
    tally.of("a")[1].add(more, "g")
    lines = summary(tally).table().splitlines()
    assert "flags      fallback_used 2" in lines
    assert "excluded   1 responses, which trainers are asked to leave out" in lines


def test_a_mean_that_rounds_to_zero_has_no_sign() -> None:
    tally = Tally()
    tally.of("a")[1].add(scored(-1e-17, True), "g")
    assert "-0.000" not in summary(tally).table()


def test_outputs_on_which_a_judge_failed_are_counted_by_group() -> None:
    tally = Tally()
    failed = scored(0.0, False, reason="judge_failed_on_output", flags=["judge_failed_on_output"])
    for group, verdict in [("broken", failed), ("well", scored(1.0, True)), ("broken", failed), ("@row:7", failed)]:
        tally.of("a")[1].add(verdict, group)
    each = [PassAt(1, 0.5, 1)]
    made = Summary(tally=Tally(tally.state()), pass_at=[each], pass_at_all=each, seconds=2.0)
    assert made.to_json()["by_data_source"]["a"]["judge_failures"] == {"broken": 2, "@row:7": 1}
    assert "judges     failed on outputs, by group: broken 2, @row:7 1" in made.table().splitlines()


def test_counts_survive_the_journal() -> None:
    tally = filled()
    tally.rejected = 3
    again = Tally(tally.state())
    assert again.state() == tally.state()
    again.of("a")[1].add(scored(1.0, True), "g")
    assert again.total().scored == tally.total().scored + 1


def test_a_mistaken_column_of_sources_does_not_eat_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SOURCES", 3)
    tally = Tally()
    for number in range(10):
        tally.of(f"s{number}")[1].add(scored(1.0, reason=f"r{number}"), "g")
    assert list(tally.sources) == ["s0", "s1", "s2", module.OTHER]
    assert tally.total().scored == 10


def test_nothing_scored_is_told_from_nothing_to_score() -> None:
    assert not Summary(tally=Tally(), pass_at=[], pass_at_all=[], seconds=0.0).all_failed
    tally = Tally()
    tally.of("a")[1].add({"status": "error", "fault": "caller"}, "g")
    assert Summary(tally=tally, pass_at=[[]], pass_at_all=[], seconds=0.0).all_failed


def test_pass_at_k_joins_members_that_came_apart_and_keeps_sources_apart(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, 0)
    for passed in (True, False):
        attempts.count("a", 0, "g", passed)
        attempts.count("b", 1, "g", False)  # another source's group of the same name
        attempts.flush()
    (a, b), total = attempts.join(2, memory_mb=1)
    attempts.close()
    assert a == [PassAt(1, 0.5, 1), PassAt(2, 1.0, 1)]
    assert b == [PassAt(1, 0.0, 1), PassAt(2, 0.0, 1)]
    assert total == [PassAt(1, 0.25, 2), PassAt(2, 0.5, 2)]


async def test_the_same_shows_for_a_run(desk: Desk) -> None:
    desk.write([{"response": text, "source": "s"} for text in ("yes", "no", "broken", "unclear")])
    made = (await desk.rescore()).to_json()
    assert made["by_data_source"]["s"]["unscored_by_fault"] == {"undecided": {"reference": 1}, "error": {"infra": 1}}
    assert made["mean_score_over_scored"] == 0.5


# --- progress --------------------------------------------------------------------------------------------------


def test_the_progress_line_has_rate_and_time_left() -> None:
    assert progress_line(500, 0.25, 10.0, 0.25) == " 25.0%  500 rows  50 rows/s  30s left"
    assert progress_line(0, 0.9, 0.0, 0.0) == " 90.0%  0 rows  0 rows/s"


def test_time_left_counts_only_what_this_sitting_did() -> None:
    assert progress_line(100, 0.9, 10.0, 0.1).endswith("10s left")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.4, "59s"), (187, "3m 07s"), (18_720, "5h 12m"), (273_600, "3d 04h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "expected"), [(Terminal(), 4), (io.StringIO(), 2)])
def test_a_terminal_is_told_often_and_a_log_now_and_then(stream: io.StringIO, expected: int) -> None:
    times = iter([0.0, 0.1, 5.0, 10.0, 15.0, 20.0])
    console = Console(stream, clock=lambda: next(times))
    for rows in range(6):
        console.advance(rows, rows / 10)
    assert stream.getvalue().count("rows/s") == expected
    assert ("\r" in stream.getvalue()) == (expected == 4)


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), 4), (io.StringIO(), 0)])
def test_a_bar_shows_progress_alone_and_only_on_a_terminal(stream: io.StringIO, shown: int) -> None:
    times = iter([0.0, 0.1, 5.0, 10.0, 15.0, 20.0])
    bar = Bar(stream, clock=lambda: next(times))
    bar.plan(["what will be done"])
    for rows in range(6):
        bar.advance(rows, rows / 10)
    bar.end()
    assert stream.getvalue().count("rows/s") == shown
    assert "what will be done" not in stream.getvalue()
