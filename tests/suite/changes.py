"""The files that changed since the last commit that is recorded as green in full."""

from __future__ import annotations

import subprocess
from pathlib import Path

GREEN = Path(".ci") / "green"
"""Holds the commit's full name; `make test-all` and then `git rev-parse HEAD` make it."""


def since_green(root: Path) -> set[Path] | None:
    """Files that differ from the green commit, committed or not, those that are gone included.

    None where nothing tells: no commit is recorded, or the clone does not have it.
    """
    try:
        commit = (root / GREEN).read_text(encoding="ascii").strip()
        changed = _git(root, "diff", "--name-only", "--no-renames", "-z", commit, "--")
        new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return {root / name for name in (changed + new).split("\0") if name} - {root / GREEN}


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout
