"""Rows of SWE-bench and of its kind, and of R2E-Gym, as references of `swe`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewarden.routing.forms import read_reference
from rewarden.types import Sample
from rewarden_verifiers.patches.patch import FileDiff
from rewarden_verifiers.patches.reading import read_patch
from rewarden_verifiers.repositories.reference import SweReference
from tests.repositories.made import r2e_row

ROW = {
    "instance_id": "calc__calc-1",
    "base_commit": "4f2a9c1",
    "patch": "gold",
    "test_patch": "tests",
    "FAIL_TO_PASS": '["tests/test_a.py::test_b", "tests/test_a.py::test_c[x"]',
    "PASS_TO_PASS": [],
}


R2E: dict[str, Any] = r2e_row()


def read(row: Any, form: str = "swe_bench", **metadata: Any) -> Any:
    """Returns the reference of a row."""
    return read_reference(form, Sample(response="x", reference=row, metadata=metadata or None))


def files_of(diff: str | None) -> list[tuple[str | None, str | None]]:
    """Returns the old and the new path of each file in a diff."""
    changes = read_patch(diff or "", ("diff",)).changes
    return [(one.old, one.new) for one in changes if isinstance(one, FileDiff)]


@pytest.mark.parametrize("row", [ROW, json.dumps(ROW)], ids=["object", "text"])
def test_a_row_is_a_reference_of_the_verifier(row: Any) -> None:
    found = SweReference(**read(row, image="swe@sha256:0"))
    assert (found.image, found.commit, found.patch, found.test_patch) == ("swe@sha256:0", "4f2a9c1", "gold", "tests")
    assert (found.command, found.framework) == ("python -m pytest -q tests/test_a.py", "pytest")
    assert list(found.fail_to_pass) == ["tests/test_a.py::test_b", "tests/test_a.py::test_c[x"]


def test_the_rows_own_command_counts_and_the_metadata_before_it() -> None:
    row = {**ROW, "test_cmds": ["make", "pytest -rA"], "docker_image": "live@sha256:1"}
    assert read(row)["command"] == "make\npytest -rA"
    assert read(row)["image"] == "live@sha256:1"
    assert read(row, command="tox", framework="unittest") | {"fail_to_pass": []} == {
        **read(row),
        "command": "tox",
        "framework": "unittest",
        "fail_to_pass": [],
    }


def test_the_patch_that_breaks_a_repository_is_no_solution() -> None:
    row = {name: value for name, value in ROW.items() if name not in ("base_commit", "test_patch")}
    assert "patch" not in read(row)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("text", "is not a row"),
        ({**ROW, "FAIL_TO_PASS": 3}, "FAIL_TO_PASS"),
        ({**ROW, "FAIL_TO_PASS": ["test_a (tests.A)"]}, r"metadata\.command"),
    ],
)
def test_a_row_that_does_not_suffice_is_refused(row: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(row)


@pytest.mark.parametrize("row", [R2E, json.dumps(R2E)], ids=["object", "text"])
def test_the_logs_of_r2e_gym_say_which_tests_the_commit_makes_pass(row: Any) -> None:
    found = SweReference(**read(row, "r2e_gym", image="r2e@sha256:0"))
    assert (found.image, found.commit, found.framework) == ("r2e@sha256:0", "4f2a9c1", "pytest")
    assert list(found.fail_to_pass) == ["r2e_tests/test_1.py::test_add"]
    assert list(found.pass_to_pass) == ["r2e_tests/test_1.py::test_twice"]


def test_the_tests_of_r2e_gym_are_added_and_its_solution_leaves_tests_alone() -> None:
    found = SweReference(**read(R2E, "r2e_gym"))
    assert files_of(found.test_patch) == [(None, "r2e_tests/__init__.py"), (None, "r2e_tests/test_1.py")]
    assert files_of(found.patch) == [("calc/core.py", "calc/core.py")]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"parsed_commit_content": "none"}, "."),
        ({"parsed_commit_content": {"file_diffs": [{}]}}, "file_diffs"),
        ({"expected_output_json": {"test_lost": "PASSED"}}, "'test_lost' to pass, which its logs do not name"),
        ({"expected_output_json": {"test_twice": "PASSED"}}, "no test that its commit makes pass"),
        ({"execution_result_content": {}}, "logs do not name"),
    ],
)
def test_a_row_of_r2e_gym_that_does_not_suffice_is_refused(changed: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read({**R2E, **changed}, "r2e_gym")


def gym_row(dataset: str, inner: Any, **more: Any) -> dict[str, Any]:
    """Returns a row as NeMo Gym's SWE agents get it."""
    metadata = {"instance_id": "a", "dataset_name": dataset, "split": "train", "instance_dict": inner, **more}
    return {"responses_create_params": {"input": [], "metadata": metadata}, "agent_ref": {"name": "swe_agents"}}


@pytest.mark.parametrize("whole", [True, False], ids=["row", "metadata"])
@pytest.mark.parametrize(
    ("dataset", "form", "inner"), [("SWE-Gym/SWE-Gym", "swe_bench", ROW), ("R2E-Gym/R", "r2e_gym", R2E)]
)
def test_a_row_of_nemo_gym_holds_one_of_its_set(dataset: str, form: str, inner: Any, whole: bool) -> None:
    row = gym_row(dataset, json.dumps(inner))
    given = row if whole else row["responses_create_params"]["metadata"]
    assert read(given, "nemo_gym_swe", image="swe@sha256:0") == read(inner, form, image="swe@sha256:0")


def test_small_letters_and_selected_tests_are_read_of_rows_of_nemo_gym() -> None:
    inner = {"patch": "gold", "fail_to_pass": ["a::b", "a::c"], "fail_to_pass_select": '["a::b"]', "pass_to_pass": "[]"}
    found = read(
        gym_row("nv-internal-1", inner, base_commit="4f2"), "nemo_gym_swe", command="sh run", framework="junit"
    )
    assert (found["fail_to_pass"], found["pass_to_pass"], found["commit"], found["patch"]) == (
        ["a::b"],
        [],
        "4f2",
        "gold",
    )
    with pytest.raises(ValueError, match="has no object in instance_dict"):
        read(gym_row("SWE-Gym", 3), "nemo_gym_swe")
