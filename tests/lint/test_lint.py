"""`rewarden lint`: its findings about references agree with the verdicts."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.client import AsyncClient
from rewarden.types import Sample, Use
from rewarden_server.cli import lint as command
from rewarden_server.config import Config
from rewarden_server.studies.lint.findings import advice
from rewarden_verifiers.answer.branches import branch_of

FOUND: list[tuple[Any, set[str]]] = [
    ("42", set()),
    ("Paris", set()),
    ("true", set()),
    ("2024-05-01", set()),
    ("3.2 km", set()),
    (12, set()),
    ({"answer": "B", "options": ["red", "blue"]}, set()),
    ({"type": "number", "value": 3.5}, set()),
    (["Paris", "Lutetia"], set()),
    ("She has 12 eggs, twice.\n#### 24", {"worked_solution"}),
    ("So the values are \\boxed{1} and \\boxed{-2}", {"worked_solution", "several_values"}),
    ("2 or -2", {"several_values"}),
    (r"3 \pmod 7", {"condition"}),
    (r"x^2 \text{ where } x > 0", {"condition"}),
    ("B", {"option_unknown"}),
    ("It is what produces most of the energy", {"free_text_reference"}),
    (r"\frac{3", {"unreadable_reference"}),
    ("12 or maybe 13", {"unreadable_reference"}),
    ("", {"invalid_reference"}),
    ({"foo": [1]}, {"invalid_reference"}),
]
OTHERS = ("5", "-3/8", "true", "yes", "Berlin", "a blue heron", "C", "2019-01-02", "x+4", "(1,2)")
"""Answers in several forms."""


FORMAT = '{"boxed": 1}'
UNSCORED = {"free_text_reference", "unreadable_reference", "option_unknown"}


def written(folder: Path, references: list[Any], **fields: Any) -> Path:
    path = folder / "refs.jsonl"
    rows = [{"answer": reference, **fields} for reference in references]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def linted(*words: object) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([str(word) for word in words]))


def examined(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    linted(*words, "--json")
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_every_finding_is_named_for_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = examined(capsys, written(tmp_path, [reference for reference, _ in FOUND]))
    named = [{one["name"] for one in line["findings"]} for line in told["lines"]]
    assert named == [names for _, names in FOUND]
    assert [line["line"] for line in told["lines"]] == list(range(1, len(FOUND) + 1))
    assert all(one["set"] == advice(one["name"]) != "" for one in told["findings"])
    reading = {line["line"]: line["reading"] for line in told["lines"]}
    assert (reading[10], reading[11]) == ("24", "1, -2")


async def test_what_it_says_is_what_the_verdicts_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On answers that it does not try itself, and on the reading that it names."""
    references = [reference for reference, names in FOUND if "invalid_reference" not in names]
    lines = (await asyncio.to_thread(examined, capsys, written(tmp_path, references)))["lines"]
    asked = [
        [*OTHERS, *([line["reading"]] if line["reading"] is not None and "{3" not in line["reading"] else [])]
        for line in lines
    ]
    samples = [
        Sample(response=f"\\boxed{{{text}}}", reference=reference)
        for reference, texts in zip(references, asked, strict=True)
        for text in texts
    ]
    async with AsyncClient("local", config=Config()) as client:
        verdicts = iter((await client.verify(samples, Use(name="answer"))).verdicts)
    for line, texts in zip(lines, asked, strict=True):
        judged = [next(verdicts) for _ in texts]
        named = {one["name"] for one in line["findings"]}
        assert all(verdict.passed for verdict in judged[len(OTHERS) :]), line
        assert {(verdict.evidence["branch"], verdict.evidence["by"]) for verdict in judged} == {
            (line["branch"], line["by"])
        }
        reduced = {verdict.evidence.get("reference_reduced") for verdict in judged}
        assert (reduced != {None}) == ("worked_solution" in named), line
        others = [verdict for verdict in judged[: len(OTHERS)] if not verdict.passed]
        unscored = [verdict for verdict in others if verdict.status != "scored"]
        assert {verdict.reason for verdict in unscored} == named & UNSCORED, line
        if line["unscored"] in (0.0, 1.0):
            assert len(unscored) == line["unscored"] * len(others), line


def test_rows_that_cannot_be_read_are_named_with_their_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "refs.jsonl"
    path.write_text('{"answer": "1"}\n\nnot json\n{"answer": null}\n[1]\n', encoding="utf-8")
    assert linted(path) == 1
    out = capsys.readouterr().out
    assert "refs.jsonl:3: error: unreadable_row: the row cannot be read (not JSON" in out
    assert "refs.jsonl:4: error: no_reference" in out
    assert "refs.jsonl:5: error: unreadable_row: the row cannot be read (not a JSON object, but a list)" in out


def test_the_status_tells_errors_from_warnings_and_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert linted(written(tmp_path, ["42", "2 or -2", "B"])) == 0
    assert linted(written(tmp_path, ["42", r"\frac{3"])) == 1
    capsys.readouterr()
    for words, said in (
        ((tmp_path / "none.jsonl",), "there is no file"),
        ((written(tmp_path, ["1"]), "--column", "reference=other"), "no column 'other'"),
        ((written(tmp_path, ["1"]), "--use", "mth"), "did you mean 'math'"),
        ((written(tmp_path, ["1"]), "--use", "format", "--params", FORMAT), "format reads no reference"),
        ((written(tmp_path, ["1"]), "--use", "code"), "calls others"),
    ):
        assert linted(*words) == 2
        assert said in capsys.readouterr().err
    path = tmp_path / "odd.jsonl"
    path.write_text('{"thing": "1"}\n')
    assert linted(path) == 2
    assert "name it with --column reference=COLUMN. The columns are: thing" in capsys.readouterr().err


def test_a_quiet_lint_prints_findings_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, ["42", r"\frac{3"])
    assert linted(path, "--quiet") == 1
    told = capsys.readouterr()
    assert told.err == ""
    assert all(line.startswith(f"{path.name}:2: ") for line in told.out.splitlines())


def test_what_others_wrote_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    linted(written(tmp_path, ["two \x1b[31mor\u202e three\nrefs.jsonl:9: ok or four"]), "--all")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert [line.partition(": ")[0] for line in out.splitlines() if line.startswith("refs.jsonl:")] == ["refs.jsonl:1"]


def test_each_data_source_is_read_by_its_own_verifier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "refs.jsonl"
    rows = [
        {"gold": "B", "data_source": "mmlu"},
        {"gold": "1/2", "data_source": "gsm8k/main"},
        {"gold": "x", "data_source": "c"},
        {"gold": "y", "data_source": "other"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = examined(capsys, path, "--use", "mmlu=choice", "--use", "gsm8k/*=math", "--use", "c=code")
    assert [line["branch"] for line in told["lines"]] == ["choice", "math", None, None]
    named = [[one["name"] for one in line["findings"]] for line in told["lines"]]
    assert named == [["no_options"], [], ["not_examined"], ["unreadable_row"]]


def test_a_judge_that_would_be_asked_is_left_out_and_the_prompts_form_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, ["It is what produces most of the energy"], question="Why? Put it in \\boxed{}.")
    told = examined(capsys, path, "--use", "answer", "--params", '{"fallback": "judge"}')
    assert [one["name"] for one in told["lines"][0]["findings"]] == ["free_text_reference", "form_demanded"]
    assert told["unscored_share"] == 1.0


def test_a_file_of_math_references_says_how_each_was_reduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = examined(
        capsys,
        written(tmp_path, ["… = 42\n#### 42", "the cow jumped over the moon and then it fell down"]),
        "--use",
        "math",
    )
    lines = told["lines"]
    assert (lines[0]["reading"], lines[0]["branch"], lines[0]["by"]) == ("42", "math", None)
    assert [one["name"] for one in lines[0]["findings"]] == ["worked_solution"]
    assert [one["name"] for one in lines[1]["findings"]] == ["unreadable_reference"]
    assert branch_of("the cow jumped over the moon and then it fell down") == "text"  # what `answer` would make of it
