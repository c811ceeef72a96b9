"""Repositories that the server's folders hold, and rows that cannot be read."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidReference
from rewarden_server.tasks.repositories import Repositories
from rewarden_verifiers.repositories.reference import SweReference
from rewarden_verifiers.repositories.row import canonical, read_reference
from rewarden_verifiers.repositories.source import tree_of
from tests.repositories.made import FILES, git, repository, row


def told(**changed: Any) -> SweReference:
    """Returns a reference without files of its own."""
    return SweReference(**{**row(files=None), **changed})


def test_a_git_repository_is_read_at_a_commit(tmp_path: Path) -> None:
    commit = repository(tmp_path / "calc")
    (tmp_path / "calc" / "calc" / "core.py").write_text("later")
    (tmp_path / "calc" / "run.sh").write_text("echo")
    (tmp_path / "calc" / "run.sh").chmod(0o755)
    (tmp_path / "calc" / "link").symlink_to("calc/core.py")
    git(tmp_path / "calc", "add", "-A")
    git(tmp_path / "calc", "commit", "-q", "-m", "Go on")
    first = tree_of(told(folder="calc", commit=commit), Repositories(tmp_path))
    assert first is not None
    assert {name: blob.data.decode() for name, blob in first.items()} == FILES
    later = tree_of(told(folder="calc", commit=git(tmp_path / "calc", "rev-parse", "HEAD")), Repositories(tmp_path))
    assert later is not None
    assert (later["calc/core.py"].data, later["run.sh"].executable, later["link"].link) == (b"later", True, True)


def test_attributes_and_hooks_of_a_repository_have_no_say(tmp_path: Path) -> None:
    files = {**FILES, ".gitattributes": "calc/core.py export-ignore filter=evil\n*.py export-subst\n"}
    commit = repository(tmp_path / "calc", files)
    git(tmp_path / "calc", "config", "filter.evil.smudge", f"touch {tmp_path}/ran")
    git(tmp_path / "calc", "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    found = tree_of(told(folder="calc", commit=commit), Repositories(tmp_path))
    assert found is not None
    assert found["calc/core.py"].data.decode() == FILES["calc/core.py"]
    assert not (tmp_path / "ran").exists()


def test_a_folder_and_an_archive_are_read_without_git(tmp_path: Path) -> None:
    repository(tmp_path / "calc")
    with tarfile.open(tmp_path / "calc.tar.gz", "w:gz") as made:
        for name in FILES:
            made.add(tmp_path / "calc" / name, name)
    for name in ("calc", "calc.tar.gz"):
        found = tree_of(told(folder=name), Repositories(tmp_path))
        assert found is not None
        assert {path: blob.data.decode() for path, blob in found.items()} == FILES


@pytest.mark.parametrize("folder", ["..", ".", "/etc", "calc/../..", "gone", "out", "a\0b", "a" * 5000])
def test_a_folder_elsewhere_is_refused(tmp_path: Path, folder: str) -> None:
    inner = tmp_path / "inner"
    repository(inner / "calc")
    (inner / "out").symlink_to(tmp_path)
    with pytest.raises(InvalidReference, match=r"below tasks\.repositories"):
        tree_of(told(folder=folder), Repositories(inner))


def test_no_folder_is_read_where_the_setting_names_none() -> None:
    with pytest.raises(InvalidReference, match="not set"):
        tree_of(told(folder="calc"), None)


@pytest.mark.parametrize("target", ["/etc", "../..", "calc/../../x"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    repository(tmp_path / "calc")
    os.symlink(target, tmp_path / "calc" / "link")
    with pytest.raises(InvalidReference, match="leads out"):
        tree_of(told(folder="calc"), Repositories(tmp_path))


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"command": " "}, "reference.command"),
        ({"fail_to_pass": []}, "reference.fail_to_pass"),
        ({"flaky": ["tests/test_core.py::test_add"]}, "reference.fail_to_pass"),
        ({"commit": "main"}, "reference.commit"),
        ({"root": "relative"}, "reference.root"),
        ({"root": "/"}, "reference.root"),
        ({"files": {}, "folder": "calc"}, "reference.folder"),
        ({"framework": "junit"}, "reference.report"),
        ({"timeout_s": 0}, "reference.timeout_s"),
        ({"test_patch": "no diff"}, "reference.test_patch"),
        ({"patch": "--- a/x\n+++ b/x\n@@ here @@\n-a\n+b\n"}, "reference.patch"),
    ],
)
def test_a_row_that_cannot_be_read_names_the_field(changed: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidReference) as error:
        read_reference(told(**changed))
    assert error.value.details["path"] == path


def test_a_test_of_unittest_has_one_id() -> None:
    assert canonical("test_a (tests.core.Core)") == "tests.core.Core.test_a"
    assert canonical("test_a (tests.core.Core.test_a)") == "tests.core.Core.test_a"
    assert canonical("tests/a.py::test_b") == "tests/a.py::test_b"
