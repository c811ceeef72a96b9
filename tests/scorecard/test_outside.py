"""`rewarden scorecard --data`: any labelled file is measured, and the page shows the figures that were kept."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Sample, Verdict
from rewarden_server.cli import scorecard as command
from rewarden_server.studies.farm.figures import Figures
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.scorecard.outside import (
    LabelledRow,
    Measured,
    keep,
    read_labelled,
    read_outside,
    together,
)
from rewarden_server.studies.scorecard.render import outside_misses, outside_plain, outside_table, outside_tables, page
from tests.judges.scripted import ScriptedJudge

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/scorecard.md"
KEPT = ROOT / "benchmarks/outside.json"

ROWS: list[dict[str, Any]] = [
    {"id": 1, "set": "real", "question": "1+1?", "response": "\\boxed{2}", "reference": "2", "label": True},
    {"id": 2, "set": "real", "response": "\\boxed{3}", "reference": "2", "label": False},
    {"id": 3, "set": "real", "response": "\\boxed{3}", "reference": "2", "label": True},
    {"id": 4, "set": "real", "response": "\\boxed{2}", "reference": "2", "label": False},
    {"id": 5, "set": "choice", "response": "(B)", "reference": "B", "options": ["red", "blue"], "label": "correct"},
    {"id": 6, "set": "choice", "response": "blue", "reference": "B", "options": ["red", "blue"], "label": 1},
    {"id": 7, "set": "choice", "response": "\\boxed{7}", "reference": "\\frac{3", "options": [], "label": True},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def run(*words: object) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([str(word) for word in words]))


@pytest.mark.needs_server
def test_a_labelled_folder_is_measured_by_file_and_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    data.mkdir()
    written(data / "a.jsonl", ROWS[:4])
    written(data / "b.jsonl.gz", ROWS[4:])
    figures = tmp_path / "outside.json"
    words = ("--data", data, "--by", "set", "--outside", figures, "--alone")
    assert run(*words, "--source", "Rows of others.", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)
    cells = ("rows", "true_positive", "false_positive", "true_negative", "false_negative", "unscored")
    assert told["judge"].startswith("answer ")
    assert [told[cell] for cell in cells] == [7, 3, 1, 1, 1, 1]
    assert (told["accuracy"], told["recall"], told["false_positive_rate"]) == (4 / 7, 3 / 5, 1 / 2)
    assert {name: of["rows"] for name, of in told["files"].items()} == {"a.jsonl": 4, "b.jsonl.gz": 3}
    assert {name: of["recall"] for name, of in told["groups"].items()} == {"real": 1 / 2, "choice": 2 / 3}
    assert [place for place, *_ in told["misses"]] == ["a.jsonl:3", "a.jsonl:4", "b.jsonl.gz:3"]
    kept = read_outside(figures)["data"]
    (counts,) = kept.judges.values()
    assert kept.source == "Rows of others."
    assert (together(counts).rows, together(counts).positive) == (7, 5)
    assert run(*words, "--misses") == 0
    out = capsys.readouterr().out
    assert "a.jsonl:3: real: labelled right, verdict wrong: '3' for '2'" in out
    assert "a.jsonl:4: real: labelled wrong, verdict pass: '2' for '2'" in out
    assert "b.jsonl.gz:3: choice: labelled right, verdict undecided (unreadable_reference)" in out
    assert "57.1% (25.0% – 84.2%)" in out


@pytest.mark.needs_server
def test_math_verify_stands_beside_and_is_given_answers_without_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("math_verify")
    path = written(tmp_path / "a.jsonl", [*ROWS[:2], {**ROWS[4], "reference": "2", "response": "\\boxed{2}"}])
    assert run("--data", path, "--by", "set", "--json") == 0
    ours, theirs = json.loads(capsys.readouterr().out)
    assert [one["judge"].split()[0] for one in (ours, theirs)] == ["answer", "math_verify"]
    assert (theirs["true_positive"], theirs["true_negative"]) == (2, 1)


def test_outside_a_clone_the_command_says_what_it_measures_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run() == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "rewarden scorecard: no labelled file for any verifier in tests/scorecard: run this in a clone"
    )
    assert "--data FILE" in said


def test_the_configuration_sets_up_the_verifiers_that_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"response": "It is Paris.", "reference": "Paris", "label": True}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("--data", tmp_path / "rows.jsonl", "--use", "judge", "--alone", "--json")
    with ScriptedJudge() as judge:
        judge.script({"when": "It is Paris.", "reply": {"reason": "so it is", "verdict": "correct"}})
        monkeypatch.setenv("REWARDEN_JUDGES_NAMED", json.dumps({"main": judge.settings(retries=0)}))
        assert run(*arguments) == 0
    assert json.loads(capsys.readouterr().out)[0]["accuracy"] == 1.0
    monkeypatch.setenv("REWARDEN_JUDGES_DEFAULT", "nobody")
    assert run(*arguments) == 2
    assert "judges.default" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        ([{"response": "a", "reference": "b"}], {}, "name its column with --label COLUMN. The columns are: response"),
        ([{"response": "a", "reference": "b", "ok": True}], {"label": "okay"}, "no row has a label"),
        ([{"response": "a", "reference": "b", "label": "perhaps"}], {}, "in.jsonl:1: the label 'perhaps' is neither"),
        ([{"response": "a", "label": True}, {"label": True}], {}, "in.jsonl:2: column 'response'"),
        ([], {}, "there are no rows"),
    ],
)
def test_a_row_that_cannot_be_measured_is_named(
    tmp_path: Path, rows: list[dict[str, Any]], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(RescoreError, match=said):
        read_labelled([written(tmp_path / "in.jsonl", rows)], {}, **more)


def test_the_label_is_never_read_as_the_reference(tmp_path: Path) -> None:
    (row,) = read_labelled([written(tmp_path / "in.jsonl", [{"response": "yes", "label": "yes"}])], {})
    assert (row.sample.reference, row.right, row.group) == (None, True, "none")


def verdict(passed: bool | None) -> Verdict:
    if passed is None:
        return Verdict(status="undecided", reason="free_text_reference", fault="reference")
    return Verdict(status="scored", score=float(passed), passed=passed, extracted="\x1b[2J")


def test_what_others_wrote_cannot_steer_the_terminal() -> None:
    measured = Measured("answer 2")
    row = LabelledRow("a\n.jsonl:1", "a", "k\x1b", Sample(response="r", reference="\u202e"), right=True)
    measured.judge_row(row, verdict(False))
    assert outside_misses(measured).isprintable()
    assert outside_table([measured]).replace("\n", "").isprintable()


def test_an_unscored_verdict_is_never_right_and_lowers_recall(tmp_path: Path) -> None:
    measured = Measured("answer 2")
    for right, passed in ((True, True), (True, None), (False, None), (False, False)):
        row = LabelledRow("a:1", "a", "all", Sample(response=""), right=right)
        measured.judge_row(row, verdict(passed))
    told = outside_plain(measured)
    assert (told["accuracy"], told["recall"], told["unscored"], told["false_positive_rate"]) == (0.5, 0.5, 2, 0.0)
    keep(tmp_path / "kept.json", "a set", "From there.", [measured, Measured("other 1", groups=measured.groups)])
    text = page([], Figures({}), read_outside(tmp_path / "kept.json"))
    assert text.index("## Outside sets") < text.index("## Our own rows")
    assert text.count("| 50.0% (15.0% – 85.0%) | 50.0% (9.5% – 90.5%) | 0.0% (0.0% – 65.8%) | 2 ") == 4


def test_the_page_shows_the_outside_figures_that_were_kept() -> None:
    text = PAGE.read_text(encoding="utf-8")
    kept = read_outside(KEPT)
    assert "\n".join(outside_tables(kept)) in text  # else: rewarden scorecard --page docs/scorecard.md
    assert text.index("## Outside sets") < text.index("## Our own rows")
    for of in kept.values():
        for groups in of.judges.values():
            assert together(groups).rows == together(next(iter(of.judges.values()))).rows


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"a": {"judges": {}}}')
    with pytest.raises(ValueError, match="no figures of outside sets"):
        read_outside(tmp_path / "odd.json")
