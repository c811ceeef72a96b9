"""The sources of modules as fingerprints see them: the names in each, and the digest of its code.

Parsing all of our modules takes two seconds in every process that lists the verifiers. So the build of the distribution
writes a table of them, and a source is looked up there by its content; a source that has changed since is parsed.
`python -m rewarden_verifiers.fingerprint.sources FOLDER…` writes the table.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewarden_verifiers.fingerprint import imports, tree
from rewarden_verifiers.fingerprint.imports import Asked, asked

TABLE = Path(__file__).with_suffix(".json")
"""The table, next to this module; missing in a checkout that was never installed."""


def read(source: bytes, package: str) -> tuple[Asked, bytes] | None:
    """Returns what a module of `package` asks for, and the digest of its code without docstrings; None if it is not
    Python.
    """
    entry = _table().get(_key(source))
    if entry is None:
        found = parse(source)
        return None if found is None else (asked(found, package), tree.digest(found, docstrings=False))
    digest, modules, texts, reads = entry
    return Asked(frozenset(modules), frozenset(texts or ()), texts is not None, reads), bytes.fromhex(digest)


def parse(source: bytes) -> ast.Module | None:
    """The syntax tree of a source; None if it is not Python, whatever its suffix, such as a template."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def write(folders: Iterable[Path], table: Path = TABLE) -> None:
    """Writes the table of all modules in these packages, atomically, since others may be reading it."""
    entries: dict[str, Any] = {}
    for source in {path.read_bytes() for folder in folders for path in folder.rglob("*.py")}:
        found = parse(source)
        if found is None or (wanted := asked(found, "")) != asked(found, "package"):
            continue  # not Python, or with relative imports, which name different modules in each package
        texts = sorted(wanted.texts) if wanted.reaches else None
        digest = tree.digest(found, docstrings=False).hex()
        entries[_key(source)] = [digest, sorted(wanted.modules), texts, wanted.reads]
    beside = table.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps({"made_by": _maker(), "sources": dict(sorted(entries.items()))}), encoding="utf-8")
    beside.replace(table)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    """The entries by key; empty if another version of this code wrote them, since its digests may differ."""
    try:
        found = json.loads(TABLE.read_bytes())
    except (OSError, ValueError):
        return {}
    entries: Mapping[str, Any] = found["sources"] if found["made_by"] == _maker() else {}
    return entries


def _maker() -> str:
    """A digest of the code that determines the entries."""
    made = hashlib.blake2b(digest_size=16)
    for file in (__file__, imports.__file__, tree.__file__):
        made.update(Path(file).read_bytes())
    return made.hexdigest()


def _key(source: bytes) -> str:
    return hashlib.blake2b(source, digest_size=16).hexdigest()


if __name__ == "__main__":
    write(map(Path, sys.argv[1:]))
