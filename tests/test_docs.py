"""The generated documents are up to date, and the files that documents name exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rewarden_verifiers.registry import BUILT_IN, Registry

ROOT = Path(__file__).parent.parent
ARCHITECTURE = ROOT / "docs/architecture.md"
NAMING = (ARCHITECTURE, ROOT / "docs/concepts.md", ROOT / "docs/glossary.md", ROOT / "README.md")
"""Documents that name files of the repository alone, besides the decisions."""
CODE = re.compile(r"`([\w.-][\w./-]*(?:\.\w+|/))`")
ENDINGS = ("/", ".py", ".md", ".yml", ".yaml", ".toml", ".proto", ".jsonl")


def files() -> set[str]:
    """The files and folders of the repository, a slash before each and one behind a folder."""
    found = set()
    for folder in ("benchmarks", "client", "deploy", "docs", "protos", "sandboxes", "server", "tests", "verifiers"):
        for path in (ROOT / folder, *(ROOT / folder).rglob("*")):
            found.add(f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}")
    return found | {f"/{path.name}" for path in ROOT.iterdir() if path.is_file()}


@pytest.mark.needs_server
def test_generated_documents_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_is_short_shows_a_picture_and_counts_what_ships() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 8_000
    pictures = re.findall(r"!\[[^\]]+\]\((\S+)\)", text)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
    counts = re.search(r"hosts (\d+) verifiers .*? and (\d+) recipes", text, re.DOTALL)
    assert counts is not None
    assert counts.groups() == (str(len(BUILT_IN)), str(len([*Registry().recipe_names()])))


def test_files_that_documents_name_exist() -> None:
    known = files()
    for document in (*NAMING, *sorted((ROOT / "docs/decisions").glob("*.md"))):
        named = {name for name in CODE.findall(document.read_text(encoding="utf-8")) if name.endswith(ENDINGS)}
        missing = {name for name in named if not any(path.endswith(f"/{name}") for path in known)}
        assert missing <= {"rewarden.toml"}, document


def test_a_batch_passes_at_most_eight_stations_each_a_file_and_none_twice() -> None:
    stations = re.findall(r"^\d+\. \*\*`([\w/]+\.py)`\*\*", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)
    assert 1 < len(set(stations)) == len(stations) <= 8
    assert all((ROOT / "server/rewarden_server" / station).is_file() for station in stations)
