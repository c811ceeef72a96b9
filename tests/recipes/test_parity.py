"""Parity: a recipe is `verified` only by a measurement that is kept, and the comparison itself counts honestly."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import parity
from benchmarks.parity_rows import Row, mathematics, think_answer
from benchmarks.parity_systems import SYSTEMS, Deviation, Published
from rewarden.types import Verdict
from rewarden_verifiers.recipes.load import load_recipe
from rewarden_verifiers.registry import GALLERY

MEASURED: dict[str, Any] = json.loads(parity.RESULTS.read_text(encoding="utf-8"))
VERIFIED = [
    (recipe.name, covered.system, dict(covered.params))
    for recipe in map(load_recipe, sorted(GALLERY.glob("*.yaml")))
    for covered in recipe.systems
    if (covered.parity or recipe.parity) == "verified"
]


# --- what is verified ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("recipe", "system", "params"), VERIFIED, ids=[f"{one[1]}-{one[0]}" for one in VERIFIED])
def test_a_verified_recipe_was_measured_with_these_parameters(recipe: str, system: str, params: dict[str, Any]) -> None:
    found = [one for one in MEASURED.values() if (one["recipe"], one["system"]) == (recipe, system)]
    compared = [one for one in found if one["params"] == params]
    assert compared  # several, if a system judges several kinds of tasks alike
    assert all(one["compared"] >= parity.ENOUGH and one["equal"] == one["compared"] for one in compared)


@pytest.mark.parametrize("name", MEASURED)
def test_a_measurement_is_of_a_listed_comparison_and_its_deviations_do_deviate(name: str) -> None:
    one, system = MEASURED[name], SYSTEMS[name]
    assert (one["recipe"], one["params"], one["call"]) == (system.recipe, system.params, system.call)
    assert (one["repository"], one["commit"], one["file"]) == (system.repository, system.commit, system.file)
    for deviation in system.deviations:
        rows = [counts for label, counts in one["labels"].items() if system.deviation(label) is deviation]
        assert sum(all_ - equal for equal, all_ in rows) > 0, f"{deviation.labels} are listed without any difference"


def test_the_page_shows_what_was_measured() -> None:
    assert parity.PAGE.read_text(encoding="utf-8") == parity.page(MEASURED)


# --- the comparison --------------------------------------------------------------------------------------------------


def published(tmp_path: Path, source: str, **changes: Any) -> tuple[Published, Path]:
    """Returns a comparison with a published file of ours, in a repository of its own, and the folder of clones."""
    clone = tmp_path / "someone+rewards"
    clone.mkdir()

    def git(*arguments: str) -> str:
        told = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (clone / "reward.py").write_text(source, encoding="utf-8")
    git("add", ".")
    git("commit", "-q", "-m", "reward")
    system = Published(
        recipe="accuracy",
        repository="someone/rewards",
        commit=git("rev-parse", "HEAD"),
        file="reward.py",
        call="score(response, reference)",
        rows=mathematics(think_answer()),
    )
    (clone / "reward.py").write_text("raise RuntimeError('not this one')", encoding="utf-8")
    return replace(system, **changes), tmp_path


ROWS = [Row("right", "4", "4"), Row("wrong", "5", "4"), Row("odd", "", "4")]


def test_the_published_file_runs_as_committed_and_a_row_that_it_fails_on_has_no_number(tmp_path: Path) -> None:
    source = "def score(response, reference):\n    print('seen')\n    return 2 * (int(response) == int(reference))\n"
    system, folder = published(tmp_path, source)
    assert parity.theirs(system, folder, ROWS, sys.executable) == [2.0, 0.0, None]


def test_imports_that_the_reward_does_not_need_are_stubbed_and_others_are_not(tmp_path: Path) -> None:
    source = (
        "from heavy.trainer import Trainer\nimport heavy\n\nclass Own(Trainer):\n    pass\n\n"
        "@heavy.App('x').route('/')\ndef score(response, reference):\n    return float(response == reference)\n"
    )
    system, folder = published(tmp_path, source, stubs=("heavy", "heavy.trainer"))
    assert parity.theirs(system, folder, ROWS, sys.executable) == [1.0, 0.0, 0.0]
    with pytest.raises(subprocess.CalledProcessError):
        parity.theirs(replace(system, stubs=()), folder, ROWS, sys.executable)


def test_a_function_is_taken_out_of_a_script_that_goes_on_to_train(tmp_path: Path) -> None:
    source = (
        "import math\nMOST = 2\nmodel = math.load('./weights')\n\n"
        "def score(response, reference):\n    return math.sqrt(MOST * 2) * (response == reference)\n\n"
        "model.train()\n"
    )
    system, folder = published(tmp_path, source, names=("MOST", "score"))
    assert parity.theirs(system, folder, ROWS, sys.executable) == [2.0, 0.0, 0.0]
    with pytest.raises(subprocess.CalledProcessError):
        parity.theirs(replace(system, names=()), folder, ROWS, sys.executable)


async def test_lean_is_told_its_verdict_where_the_row_has_it() -> None:
    system = replace(SYSTEMS["proof-flow"], params={"error": -7})
    rows = [Row(kind, "simp", kind) for kind in ("proved", "open")]
    assert [verdict.score for verdict in await parity.ours(system, rows)] == [0.0, -7.0]


def test_a_repository_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="someone/rewards"):
        parity.clone(tmp_path, "someone/rewards")


def verdicts(*scores: float | None) -> list[Verdict]:
    return [Verdict(status="error" if score is None else "scored", score=score) for score in scores]


def test_only_rows_with_two_numbers_count_and_listed_deviations_count_apart() -> None:
    system = replace(SYSTEMS["logic-rl"], deviations=(Deviation(("denied, *",), "A denied answer counts."),))
    labels = ("right, plain", "wrong, plain", "denied, plain", "denied, cut", "right, cut", "right, after")
    rows = [Row(label, "r", {}) for label in labels]
    result, odd = parity.compared(system, rows, [3, -0.5, 3, -1, None, 3], verdicts(3, -1, -1, -1, 0, None))
    assert (result["compared"], result["equal"]) == (2, 1)
    assert odd == [1]
    assert result["labels"] == {
        "denied, cut": [1, 1], "denied, plain": [0, 1], "right, plain": [1, 1], "wrong, plain": [0, 1],
    }  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_rows_of_a_seed_are_the_same_and_have_right_wrong_and_empty_ones(name: str) -> None:
    rows = parity.rows_of(SYSTEMS[name], 300, 7)
    assert rows == parity.rows_of(SYSTEMS[name], 300, 7)
    assert rows != parity.rows_of(SYSTEMS[name], 300, 8)
    assert any(not row.response for row in rows)
    assert len({row.label for row in rows}) > 5


def test_the_rows_of_a_group_come_whole_and_know_each_other() -> None:
    size = 3
    system = replace(SYSTEMS["empo"], groups=lambda rng: [Row("right", f"{rng.random()}", "4") for _ in range(size)])
    rows = parity.rows_of(system, 4, 7)
    assert len(rows) == 2 * size
    for start in (0, size):
        members = rows[start : start + size]
        assert len({row.fields["group"] for row in members}) == 1
        assert [row.fields["responses"][row.fields["place"]] for row in members] == [row.response for row in members]
    assert rows[0].fields["group"] != rows[size].fields["group"]


def test_the_parts_of_the_environment_are_told_from_the_policys() -> None:
    text = "<think>a</think><information>b</information>\nc"
    told = [(step.kind, text[step.start : step.end]) for step in parity.steps(text, "information")]
    assert told == [
        ("policy", "<think>a</think>"), ("tool", "<information>b</information>\n"), ("policy", "c"),
    ]  # fmt: skip
