"""Rows of SWE-bench and of its kind, as references of `swe`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewarden.routing.forms import read_reference
from rewarden.types import Sample
from rewarden_verifiers.repositories.reference import SweReference

ROW = {
    "instance_id": "calc__calc-1",
    "base_commit": "4f2a9c1",
    "patch": "gold",
    "test_patch": "tests",
    "FAIL_TO_PASS": '["tests/test_a.py::test_b", "tests/test_a.py::test_c[x"]',
    "PASS_TO_PASS": [],
}


def read(row: Any, **metadata: Any) -> Any:
    """Returns the reference of a row."""
    return read_reference("swe_bench", Sample(response="x", reference=row, metadata=metadata or None))


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
