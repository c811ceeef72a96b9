"""The command as tests call it, and the files that it reads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewarden_server.cli import data


def written(folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "rows.jsonl") -> Path:
    """A file with these rows."""
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def ran(*words: object) -> int:
    """The exit status of `rewarden data check`."""
    parser = argparse.ArgumentParser()
    data.configure(parser)
    return data.run(parser.parse_args(["check", *map(str, words)]))


def stdio(*pairs: tuple[str, str], language: str = "python", **fields: Any) -> dict[str, Any]:
    """A reference of `code` whose tests send the first text and expect the second."""
    tests = [{"type": "stdio", "stdin": stdin, "stdout": stdout} for stdin, stdout in pairs]
    return {"language": language, "tests": tests, **fields}


def asserting(code: str) -> dict[str, Any]:
    """A reference of `code` with one assertion or more."""
    return {"language": "python", "tests": [{"type": "assert", "code": code}]}
