"""`rewarden compare`: two scored files, or two verifiers on one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.__main__ import main

OK = {"status": "scored", "score": 1.0, "range": [0.0, 1.0], "passed": True, "reason": None}
BAD = {"status": "scored", "score": 0.0, "range": [0.0, 1.0], "passed": False, "reason": "wrong"}
LOST = {"status": "error", "score": None, "reason": "worker_lost", "fault": "infra"}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def scored(path: Path, verdicts: list[Any], **columns: list[Any]) -> Path:
    rows = [{"id": f"r{place}", "verdict": verdict} for place, verdict in enumerate(verdicts)]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return write(path, rows)


def compared(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["compare", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_table_counts_what_both_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = scored(tmp_path / "a.jsonl", [OK, OK, BAD, BAD, LOST, OK])
    b = scored(tmp_path / "b.jsonl", [OK, BAD, OK, BAD, OK, LOST])
    found = compared(capsys, a, b)
    table = found["table"]
    assert (table["both_pass"], table["a_only"], table["b_only"], table["neither"]) == (1, 1, 1, 1)
    assert (found["rows"], found["differing"], table["agreement"], table["kappa"]) == (6, 4, 0.5, 0.0)
    assert {(item["a"], item["b"]): item["rows"] for item in found["statuses"]} == {
        ("scored", "scored"): 4,
        ("error", "scored"): 1,
        ("scored", "error"): 1,
    }
    assert {"a": "error: worker_lost", "b": "passed", "rows": 1} in found["reasons"]


def test_by_data_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = scored(tmp_path / "a.jsonl", [OK, OK, BAD], data_source=["x", "y", "y"])
    b = scored(tmp_path / "b.jsonl", [OK, BAD, BAD])
    found = compared(capsys, a, b)["by_data_source"]
    assert (found["x"]["agreement"], found["y"]["agreement"]) == (1.0, 0.5)


def test_numbers_of_others_are_verdicts_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = scored(tmp_path / "a.jsonl", [OK, BAD, BAD])
    b = write(tmp_path / "b.jsonl", [{"reward": 0.9}, {"reward": 0.6}, {"reward": 0.1}])
    found = compared(capsys, a, b, "--threshold", "0.5")
    assert (found["table"]["both_pass"], found["table"]["b_only"], found["table"]["neither"]) == (1, 1, 1)
    assert found["scores"]["spearman"] == pytest.approx(0.866, abs=1e-3)


def test_several_responses_of_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.jsonl", [{"verdicts": [OK, BAD]}])
    b = write(tmp_path / "b.jsonl", [{"verdicts": [OK, OK]}])
    assert compared(capsys, a, b)["table"]["b_only"] == 1
    b.write_text(json.dumps({"verdicts": [OK]}) + "\n")
    assert main(["compare", str(a), str(b)]) == 2
    assert "2 verdicts, and 1" in capsys.readouterr().err


def test_rows_in_another_order_are_refused_or_matched_by_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = scored(tmp_path / "a.jsonl", [OK, BAD])
    b = write(tmp_path / "b.jsonl", [{"id": "r1", "verdict": BAD}, {"id": "r0", "verdict": OK}])
    assert main(["compare", str(a), str(b)]) == 2
    assert "match them with --key id" in capsys.readouterr().err
    assert compared(capsys, a, b, "--key", "id")["differing"] == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "r0", "verdict": OK}], "ends after 1 rows"),
        ([{"id": "r0", "verdict": OK}] * 3, "in a different order"),
        ([{"id": "r0", "verdict": OK}, {"id": "r1", "verdict": OK}, {"verdict": OK}], "has more rows"),
        ([{"id": "r0", "verdict": "good"}], "line 1, verdict is neither a verdict nor a number"),
        ([{"id": "r0", "verdict": 10**400}], "line 1, verdict is neither a verdict nor a number"),
        *(
            ([{"id": "r0", "verdict": {**OK, **odd}}], "line 1, verdict has a score or a range that is not a number")
            for odd in ({"score": "1"}, {"score": float("nan")}, {"range": [0, "1"]}, {"range": 1})
        ),
        ([{"id": "r0"}], "line 1 lacks any of the columns verdict, verdicts, score, scores, reward"),
    ],
)
def test_what_cannot_be_compared_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]], message: str
) -> None:
    a = scored(tmp_path / "a.jsonl", [OK, BAD])
    assert main(["compare", str(a), str(write(tmp_path / "b.jsonl", rows))]) == 2
    assert message in capsys.readouterr().err


def test_the_rows_that_differ_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = {**OK, "score": 0.5, "passed": False, "extracted": "12"}
    a = scored(tmp_path / "a.jsonl", [OK, BAD, BAD])
    b = scored(tmp_path / "b.jsonl", [OK, half, OK])
    out = tmp_path / "differ.jsonl"
    assert main(["compare", str(a), str(b), "--show", "1", "-o", str(out), "--check"]) == 1
    printed = capsys.readouterr().out
    assert "row 3  r2" in printed
    assert "row 2" not in printed
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], row["compared"]["b"]["score"]) for row in rows] == [("r1", 0.5), ("r2", 1.0)]


@pytest.mark.needs_server
def test_foreign_text_cannot_look_like_a_line_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forged = "x\x1b[2J\nagreement   100.0%"
    verdicts = [[{**judged, "reason": forged} for judged in column] for column in ([OK, OK], [BAD, OK])]
    a, b = (scored(tmp_path / f"{name}.jsonl", column) for name, column in zip("ab", verdicts, strict=True))
    for path in (a, b):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        write(path, [{**row, "id": forged, "data_source": f"{place}{forged}"} for place, row in enumerate(rows)])
    assert main(["compare", str(a), str(b)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert [line[:17] for line in shown.splitlines() if line.startswith("agreement")] == ["agreement   50.0%"]
    assert shown.count("x\\u001b[2J\\nagreement") >= 4


def test_two_verifiers_on_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rollouts = write(
        tmp_path / "rollouts.jsonl",
        [
            {"response": "So \\boxed{4}", "reference": "4"},
            {"response": "It is 4", "reference": "4"},
            {"response": "\\boxed{5}", "reference": "4"},
        ],
    )
    lax = json.dumps({"name": "math", "params": {"extraction": "lax"}})
    found = compared(capsys, "math", lax, "--on", rollouts)
    assert (found["table"]["both_pass"], found["table"]["b_only"], found["table"]["neither"]) == (1, 1, 1)
