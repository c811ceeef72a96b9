"""changes/ has the next section of CHANGELOG.md, in files of kinds that towncrier knows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parents[1]
CHANGES = ROOT / "changes"
KINDS = [
    kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
]
NAME = re.compile(rf"(?:\d+|\+[a-z0-9-]+)\.(?:{'|'.join(KINDS)})(?:\.\d+)?\.md")
FRAGMENTS = sorted(path for path in CHANGES.iterdir() if path.name != "README.md")


def towncrier(folder: Path, *words: str) -> str:
    """Returns what towncrier prints when it builds the changelog of a folder."""
    command = [sys.executable, "-m", "towncrier", "build", *words, "--dir", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what a changelog is made of."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(CHANGES, tmp_path / "changes")
    (tmp_path / "changes/17.fixed.md").write_text("A defect is gone.\n")
    return tmp_path


def test_every_fragment_has_a_known_kind_and_says_something() -> None:
    """After a release there is none."""
    assert [path.name for path in FRAGMENTS if not NAME.fullmatch(path.name)] == [], "see changes/README.md"
    assert [path.name for path in FRAGMENTS if not path.read_text(encoding="utf-8").strip().endswith(".")] == []


@pytest.mark.parametrize("name", ["17.fix.md", "few-words.fixed.md", "+few words.fixed.md", "17.fixed", "fixed.md"])
def test_other_names_are_told(name: str) -> None:
    assert not NAME.fullmatch(name)


def test_the_readme_explains_every_kind_and_no_other() -> None:
    assert re.findall(r"^\| `(\w+)` \|", (CHANGES / "README.md").read_text(), re.MULTILINE) == KINDS


def test_the_draft_says_what_every_fragment_says(checkout: Path) -> None:
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    draft = towncrier(checkout, "--draft", "--version", "9.9.9")
    assert "## 9.9.9 (" in draft
    assert "- A defect is gone. (#17)" in draft
    assert [path.name for path in FRAGMENTS if path.read_text(encoding="utf-8").strip() not in draft] == []
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_a_release_stands_above_the_one_before_and_takes_the_fragments(checkout: Path) -> None:
    head = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    towncrier(checkout, "--yes", "--version", "9.9.8")
    assert [path.name for path in (checkout / "changes").iterdir()] == ["README.md"]
    (checkout / "changes/18.fixed.md").write_text("Another is gone.\n")
    towncrier(checkout, "--yes", "--version", "9.9.9")
    text = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.startswith(head)
    assert re.findall(r"^## (\S+)", text, re.MULTILINE)[:2] == ["9.9.9", "9.9.8"]
    assert text.index("Another is gone. (#18)") < text.index("A defect is gone. (#17)")
