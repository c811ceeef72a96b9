"""`rewarden data check` on answers, JSON, SQL and proofs: the stated answer must pass, and a changed one must not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.studies.data_check.answers import perturbed, perturbed_json
from tests.data_check.command import ran, written
from tests.lean.toolchain import needs_lean
from tests.programs import LEAN_PROJECTS, no_sandbox

MATH = [
    {"question": "How many?", "answer": "She has 3 and 4 more.\n#### 7", "source": "gsm8k"},
    {"question": "Divide 3 by 7.", "answer": r"\frac{3}{7}", "source": "math"},
]
DATABASE = {"script": "CREATE TABLE t (n TEXT, x INTEGER);\nINSERT INTO t VALUES ('a', 5), ('b', 7), ('c', 9);"}
REWARDS = """
from rewarden_verifiers.outcome import right, wrong


def believes(response, reference):
    return right() if response.strip() else wrong()


def sleeps(response, reference):
    return right()
"""


def found(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[dict[str, Any]]]:
    status = ran(*words, "--json", "-q")
    return status, json.loads(capsys.readouterr().out)["checked"]


def names(row: dict[str, Any], kind: str = "error") -> list[str]:
    return [one["name"] for one in row["findings"] if one["kind"] == kind]


def test_sound_answers_are_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, rows = found(capsys, written(tmp_path, MATH), "--use", "math")
    assert (status, [row["passed"] for row in rows]) == (0, [1, 1])
    assert names(rows[0], "note") == ["worked_solution"]  # as lint has it


def test_what_lint_calls_an_error_is_bad(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, rows = found(capsys, written(tmp_path, [*MATH, {"answer": r"\frac{3"}]), "--use", "math")
    assert status == 1
    assert names(rows[2]) == ["unreadable_reference"]
    assert [row["good"] for row in rows] == [True, True, False]


@pytest.mark.parametrize(("reward", "finding"), [("believes", "wrong_passes"), ("sleeps", "empty_passes")])
def test_a_verifier_that_pays_for_nothing_is_named(
    reward: str, finding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"paying_{reward}.py").write_text(REWARDS)
    status, rows = found(capsys, written(tmp_path, MATH[1:]), "--use", f"{tmp_path}/paying_{reward}.py:{reward}")
    assert (status, names(rows[0])) == (1, [finding])


def test_json_must_equal_the_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"reference": {"name": "Ada", "born": 1815}},
        {"reference": {"schema": {"type": "object"}}, "gold": '{"a": 1}'},
    ]
    status, good = found(capsys, written(tmp_path, rows), "--use", "json", "--solutions", "gold")
    assert (status, good[0]["findings"]) == (1, [])
    assert names(good[1]) == ["wrong_passes"]  # any object is valid


def test_queries_are_checked_on_their_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sqlglot", reason="sqlglot is not installed")
    rows = [
        {"reference": {"database": DATABASE, "sql": "SELECT n FROM t WHERE x > 5"}},
        {"reference": {"database": DATABASE, "sql": "SELECT nothing FROM t"}},
    ]
    status, (good, bad) = found(capsys, written(tmp_path, rows), "--use", "sql")
    assert (status, good["good"], good["passed"]) == (1, True, 1)
    assert good["mutants"] > len(good["survivors"])
    assert names(bad) == ["reference_failed"]


@needs_lean
@pytest.mark.needs_server
@pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or "")
def test_proofs_must_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REWARDEN_LEAN_PROJECTS", LEAN_PROJECTS)
    proof = "prelude\n\ntheorem k (p q : Prop) : p → q → p := fun hp _ => hp\n"
    rows = [{"reference": proof, "proof": proof}, {"reference": proof, "proof": proof.replace("=> hp", "=> hq")}]
    status, (good, bad) = found(capsys, written(tmp_path, rows), "--use", "lean")
    assert (status, good["findings"], names(bad)) == (1, [], ["solution_fails"])


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("7", "8"),
        (r"\frac{3}{7}", r"\frac{3}{8}"),
        ("2024-05-09", "2024-05-10"),
        ("3.09 km", "3.10 km"),
        ("yes", "no"),
        ("(C)", "A"),
        ("A", "B"),
        ("Paris", "a violet zeppelin"),
    ],
)
def test_one_thing_of_an_answer_is_changed(answer: str, other: str) -> None:
    assert perturbed(answer) == other


def test_one_leaf_of_json_is_changed() -> None:
    assert json.loads(perturbed_json('{"a": [{"b": 1}, 2]}') or "") == {"a": [{"b": 2}, 2]}
    assert perturbed_json("[]") is None
