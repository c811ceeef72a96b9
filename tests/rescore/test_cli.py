"""The command: flags, exit status, and a real engine behind it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.cli import rescore as command
from rewarden_server.cli.uses import read_uses
from rewarden_server.studies.rescore.options import VERDICT_FIELDS_KEPT, RescoreError
from tests.rescore.conftest import Desk, write_rows


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return parser.parse_args(words)


def options(*words: str) -> Any:
    return command.read_options(arguments("in.jsonl", "-o", "out.jsonl", *words))


def test_flags_become_options(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('response = "a"\nreference = "b"\n')
    made = options(
        "--use", "math", "--params", '{"extraction": "lax"}', "--columns", str(tmp_path / "c.toml"),
        "--column", "reference=c", "--group", "@file,id", "--only", "error,undecided", "--unscored", "-1",
        "--checkpoint-s", "0.5",
    )  # fmt: skip
    assert made.columns == {"response": "a", "reference": "c", "group": "@file,id"}
    assert made.only == {"error", "undecided"}
    assert made.unscored == -1.0
    assert (made.checkpoint_s, made.sort_mb) == (0.5, 64)
    assert made.fields == VERDICT_FIELDS_KEPT
    (route,) = made.routing.routes
    assert (route.match, route.use.name, route.use.params) == ({}, "math", {"extraction": "lax"})


def test_routes_in_every_form(tmp_path: Path) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text("name: r\nversion: '1'\nuses: {answer: math}\nscore: answer.score\n")
    one, two, four, three = read_uses(
        ["demo/*=choice", f"x={recipe}", '{"name": "math", "params": {"a": "b=c"}}', 'y={"name": "math"}']
    ).routes
    assert (one.match, one.use.name) == ({"data_source": ("demo/*",)}, "choice")
    assert two.use.recipe == {"name": "r", "version": "1", "uses": {"answer": "math"}, "score": "answer.score"}
    assert (four.match, four.use.name) == ({"data_source": ("y",)}, "math")
    assert (three.match, three.use.params) == ({}, {"a": "b=c"})  # what takes the rest comes last


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no verifier: give --use"),
        (("--use", "math", "--column", "response"), "--column must be FIELD=COLUMN"),
        (("--use", "math", "--only", "wrong"), "--only: unknown value 'wrong'"),
        (("--use", "math", "--fields", "socre"), "--fields: unknown value 'socre'"),
        (("--use", "math", "--unscored", "nan"), "--unscored must be null, skip or a number"),
        (("--use", "math", "--use", "choice", "--params", "{}"), "--params needs exactly one --use"),
        (("--use", "math", "--params", "{"), "--params: not JSON"),
        (("--use", '{"nam": "math"}'), "--use"),
        (("--use", "math", "--resume", "--force"), "give one of them"),
        (("--use", "math", "--routing", "starter"), "--routing cannot be combined with --use or --params"),
        (("--routing", "starter", "--params", "{}"), "--routing cannot be combined with --use or --params"),
        (("--routing", "nowhere.toml"), "--routing nowhere.toml: cannot be read"),
        (("--routing", "routes"), "must be a .toml or .json file, or 'starter'"),
    ],
)
def test_flags_that_make_no_sense_are_named(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(RescoreError, match=message):
        options(*words)


def run(desk: Desk, *words: str) -> int:
    return command.run(arguments(str(desk.input), "-o", str(desk.output), *words))


@pytest.mark.needs_server
def test_a_file_is_scored_by_the_engine_in_this_process(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.write(
        [
            {"problem": "1+1", "completion": f"So \\boxed{{{answer}}}", "answer": "2", "prompt_id": n // 2}
            for n, answer in enumerate(["2", "3", "\\frac{4}{2}", "x"])
        ]
    )
    assert run(desk, "--use", "math", "--workers", "1") == 0
    assert [row["score"] for row in desk.rows()] == [1.0, 0.0, 1.0, 0.0]
    shown = capsys.readouterr()
    assert "50.0%" in shown.out
    assert "completion  (guessed)" in shown.err
    assert run(desk, "--use", "math", "--workers", "1") == 2
    assert "--force" in capsys.readouterr().err
    assert run(desk, "--use", "math", "--workers", "1", "--force", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert run(desk, "--use", "consensus", "--force", "--summary-json", "--quiet", "--workers", "1") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["responses"] == 4
    assert shown.err == ""


@pytest.mark.needs_server
@pytest.mark.parametrize(("rows", "counted"), [(100, 64), (20, 20)])
def test_a_run_without_answers_says_what_would_read_them(
    desk: Desk, capsys: pytest.CaptureFixture[str], rows: int, counted: int
) -> None:
    asked = "1+1? Put it in \\boxed{}."
    desk.write([{"problem": asked, "completion": f"Two.\n#### {2 + (n == 5)}", "answer": "2"} for n in range(rows)])
    assert run(desk, "--use", "answer", "--workers", "1") == 0
    told = (
        f"{counted - 1} of the first {counted} responses would be right with extraction: explicit; 0 are now, because "
        f"answer reads no answer in {counted} of them. The prompt asks for \\boxed{{…}}, and the response has none."
    )
    assert f"advice     {told}" in capsys.readouterr().out
    (advice,) = json.loads((desk.folder / "out.jsonl.summary.json").read_text())["advice"]
    assert advice.startswith(told)
    # Nobody's score is other for it, and a run that reads its answers says nothing.
    assert {row["score"] for row in desk.rows()} == {0.0}
    assert run(desk, "--use", "math", "--params", '{"extraction": "explicit"}', "--workers", "1", "--force") == 0
    assert "advice" not in capsys.readouterr().out


def test_several_inputs_are_kept_in_order_and_one_stands_alone() -> None:
    made = command.read_options(arguments("a.jsonl", "b.parquet", "-o", "out", "--use", "math"))
    assert made.paths == (Path("a.jsonl"), Path("b.parquet"))
    assert options("--use", "math").input == Path("in.jsonl")


def test_without_an_output_nothing_is_scored() -> None:
    with pytest.raises(RescoreError, match="-o OUT"):
        command.read_options(arguments("in.jsonl", "--use", "math", "--report", "r.html"))


def test_a_file_that_is_scored_already_is_shown(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = {"status": "scored", "score": 1.0, "passed": True}
    desk.write([{"text": "yes", "score": 1.0, "verdict": verdict}])
    report = desk.folder / "report.html"
    words = (str(desk.input), "--report", str(report), "--column", "response=text")
    assert command.run(arguments(*words)) == 0
    assert "report.html (" in capsys.readouterr().err
    assert "Rewarden report" in report.read_text()
    assert command.run(arguments(*words, "-q")) == 0  # a report may be made anew
    report.write_text("mine")
    assert command.run(arguments(*words)) == 2
    assert "is not a report" in capsys.readouterr().err
    assert report.read_text() == "mine"
    desk.write([{"text": "yes"}])
    assert command.run(arguments(*words, "--force")) == 2
    assert "no row has a verdict" in capsys.readouterr().err


@pytest.mark.needs_server
def test_a_run_makes_its_report_and_a_finished_one_makes_it_again(desk: Desk) -> None:
    desk.write([{"completion": "\\boxed{2}", "answer": "2"}, {"completion": "\\boxed{3}", "answer": "2"}])
    report = desk.folder / "report.html"
    words = ("--use", "math", "--workers", "1", "-q", "--report", str(report))
    assert run(desk, *words) == 0
    first = report.read_bytes()
    report.unlink()
    assert run(desk, *words, "--resume") == 0
    assert report.read_bytes() == first


@pytest.mark.needs_server
def test_a_dump_of_verl_needs_no_option_and_the_summary_opens_with_the_disagreements(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    told = [("2", 1.0), ("2", 0.0), ("2", -1.0), ("3", 1.0)]
    desk.write(
        {"input": "1+1?", "output": f"\\boxed{{{text}}}", "gts": "2", "score": score, "step": 7} for text, score in told
    )
    assert run(desk, "--use", "math", "--workers", "1") == 0
    shown = capsys.readouterr()
    assert "rollouts of verl, known by their columns" in shown.err
    assert shown.out.splitlines()[:3] == [
        "baseline   score (passes from 0.5): 4 responses compared, 3 disagree (75.0%)",
        "  theirs fails, ours passes        2 (50.0%)  accepted: in.jsonl:2, in.jsonl:3",
        "  theirs passes, ours fails        1 (25.0%)  wrong: in.jsonl:4",
    ]
    assert [(row["score"], row["rewarden_score"]) for row in desk.rows()] == [(1, 1), (0, 1), (-1, 1), (1, 0)]
    report = desk.folder / "report.html"
    assert command.run(arguments(str(desk.output), "--report", str(report), "-q")) == 0
    assert "3 disagree (75.0%)" in report.read_text()
    words = ("--use", "math", "--workers", "1", "--force", "--baseline-passes=-1", "--summary-json", "-q")
    assert run(desk, *words) == 0
    assert json.loads(capsys.readouterr().out)["baseline"]["only_theirs"] == 1
    assert run(desk, *words, "--overwrite") == 0
    assert [row["score"] for row in desk.rows()] == [1.0, 1.0, 1.0, 0.0]
    assert json.loads(capsys.readouterr().out)["baseline"]["theirs_passed"] == 4
    assert run(desk, "--use", "math", "--workers", "1", "--force", "--baseline", "-") == 2
    assert "already has a column 'score'" in capsys.readouterr().err


@pytest.mark.needs_server
def test_values_that_training_schedules_are_those_of_the_given_step(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = desk.input.with_name("fading.yaml")
    recipe.write_text(
        "name: fading\nversion: '1'\nuses: {answer: math}\nrange: [0, 2]\n"
        "schedule: {left: 1.0 - progress.fraction}\nscore: answer.score + schedule.left\n"
    )
    desk.write([{"response": "\\boxed{2}", "answer": "2"}, {"response": "\\boxed{3}", "answer": "2"}])
    words = ("--use", str(recipe), "--workers", "1", "--force")
    assert run(desk, *words) == 3
    assert "reads progress.fraction in 'schedule.left'" in capsys.readouterr().out
    assert run(desk, *words, "--step", "30", "--total-steps", "40") == 0
    assert [row["score"] for row in desk.rows()] == [1.25, 0.25]


@pytest.mark.needs_server
def test_exit_status_tells_how_it_ended(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ("--workers", "1", "-q", "--force")
    desk.write([{"response": "2"}, {"response": "3"}])
    assert run(desk, "--use", "math", *quick) == 3  # no reference: nothing could be scored
    assert "no response was scored" in capsys.readouterr().err
    assert run(desk, "--use", "mth", *quick) == 2
    assert "did you mean 'math'" in capsys.readouterr().err
    assert run(desk, "--use", "math", "--target", "http://127.0.0.1:9", *quick) == 1
    write_rows(desk.input, [])
    assert run(desk, "--use", "math", *quick) == 0
    assert "the input has no rows" in capsys.readouterr().err


@pytest.mark.needs_server
def test_rows_that_were_set_aside_end_the_run_with_a_status_of_their_own_unless_that_is_allowed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--use", "math", "--workers", "1", "-q")
    desk.write([{"response": "\\boxed{2}", "answer": "2"}, "{broken", "[]"])
    told = f"2 rows were set aside; see {desk.output}.rejected.jsonl"
    assert run(desk, *words) == 4
    assert told in capsys.readouterr().err
    assert [row["score"] for row in desk.rows()] == [1.0]
    assert len(desk.rejected()) == 2
    # A loop that calls until 0 must not take the second call's "already complete" for it.
    assert run(desk, *words, "--resume") == 4
    assert told in capsys.readouterr().err
    for more in ("--resume", "--force"):
        assert run(desk, *words, more, "--allow-rejected") == 0
        assert f"warning: {told}" in capsys.readouterr().err
    desk.write(["{broken"])
    assert run(desk, *words, "--force", "--allow-rejected") == 2  # not a row can be read: refused, as ever
    desk.write([{"response": "\\boxed{2}", "answer": "2"}])
    assert run(desk, *words, "--force") == 0
    assert capsys.readouterr().err.count("set aside") == 0


@pytest.mark.needs_server
def test_a_server_judges_as_the_engine_in_this_process_does(desk: Desk, tmp_path: Path) -> None:
    rows = [
        {"group": f"g{n % 5}", "response": f"\\boxed{{{n % 3}}}", "reference": "2", "data_source": source}
        for source in ("each", "siblings")
        for n in range(20)
    ]
    desk.write(rows)
    use = (
        "--use",
        "each=math",
        "--use",
        "siblings=consensus",
        "--sort",
        "--group",
        "data_source,group",
        "-q",
        "--force",
    )
    assert run(desk, *use, "--workers", "1") == 0
    here = desk.output.read_bytes()
    ready = tmp_path / "ready.json"
    words = ["serve", "--port", "0", "--grpc-port", "0", "--ready-file", str(ready)]
    with subprocess.Popen([sys.executable, "-m", "rewarden", *words], stderr=subprocess.DEVNULL) as server:
        try:
            while not ready.exists():
                assert server.poll() is None
                time.sleep(0.05)
            addresses = json.loads(ready.read_text())
            for target in (addresses["http"], addresses["grpc"]):
                assert run(desk, *use, "--target", target) == 0
                assert desk.output.read_bytes() == here
            assert run(desk, "--use", "mth", "-q", "--force", "--target", addresses["http"]) == 2
        finally:
            server.terminate()
