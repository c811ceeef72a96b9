"""A fingerprint of all that may change a verdict: sources, libraries, version, parameters.

Two verdicts with equal fingerprints came from the same code with the same parameters. A caller may demand one
(`Batch.expect`) and is refused with 409 when it moved.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.view import View

_SHARED = ("contract", "equivalence", "extraction", "outcome", "view")
"""Modules whose change may change any verdict."""


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))", re.MULTILINE
)


def _sources(module: str) -> list[Path]:
    """The files that a verifier is made of: all Python files of the folder of its package, or its lone module, what
    these import of the same distribution's top package, wherever that lies, and the prompts in its folder.

    Too sensitive rather than not enough: a neighbour's change moves the fingerprint as well.
    """
    origin = _origin(module)
    if origin is None:
        return []
    found = set(origin.parent.glob("*.py")) if "." in module else {origin}
    prompts = set(origin.parent.glob("prompts/*.j2"))
    waiting = list(found)
    top = module.partition(".")[0]
    while waiting:
        for wanted in _imported(waiting.pop(), top):
            imported = _origin(wanted)
            if imported is not None and imported not in found:
                found.add(imported)
                waiting.append(imported)
    return sorted(found | prompts)


def _imported(path: Path, top: str) -> set[str]:
    """The modules of `top` that a file imports; names within a module are told from modules when they are looked for.

    Relative imports are of the folder, whose files are all there already.
    """
    found: set[str] = set()
    for source, names, plain in _IMPORT.findall(path.read_text(encoding="utf-8")):
        module = source or plain
        if module.partition(".")[0] == top:
            found.add(module)
            found.update(f"{module}.{name}" for name in re.findall(r"\w+", names) if name.islower())
    return found


@lru_cache(maxsize=4096)
def _origin(module: str) -> Path | None:
    """The file of a module, or None for what is none."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return None
    return Path(found.origin)


@lru_cache(maxsize=512)
def _module_hash(module: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in _sources(module):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=64)
def _library(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def canonical(value: Any) -> str:
    """JSON text that is equal exactly when the values are. Raises TypeError for what is not JSON-like."""

    def default(item: Any) -> Any:
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}  # asdict copies deeply
        if isinstance(item, Mapping):
            return dict(item)
        if isinstance(item, (set, frozenset)):
            return sorted(item)
        raise TypeError(f"{type(item).__name__} has no canonical form")

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=default)


def fingerprint(
    spec: VerifierSpec, params: Any = None, view: View | None = None, children: Sequence[str] = (), site: str = ""
) -> str:
    """Twelve bytes in hex over the verifier, its libraries, the effective parameters, what it builds on, and the
    fingerprint of what the server's configuration provides for it.
    """
    digest = hashlib.blake2b(digest_size=12)
    parts = [
        spec.name,
        spec.version,
        f"{sys.version_info.major}.{sys.version_info.minor}",
        _module_hash(spec.module),
        *(_module_hash(f"rewarden_verifiers.{name}") for name in _SHARED),
        *(f"{name}={_library(name)}" for name in sorted(spec.libraries)),
        spec.source_text or "",
        canonical(params),
        canonical(view),
        *children,
        *([site] if site else []),
    ]
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()
