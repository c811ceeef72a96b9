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
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.view import View

_SHARED = ("contract", "equivalence", "extraction", "outcome", "view")
"""Modules whose change may change any verdict."""


def _sources(module: str) -> list[Path]:
    """The files that a verifier is made of: all Python files of the folder of its package, or its lone module.

    Too sensitive rather than not enough: a neighbour's change moves the fingerprint as well.
    """
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return []
    origin = Path(found.origin)
    return sorted(origin.parent.glob("*.py")) if "." in module else [origin]


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
            return dataclasses.asdict(item)
        if isinstance(item, Mapping):
            return dict(item)
        if isinstance(item, (set, frozenset)):
            return sorted(item)
        raise TypeError(f"{type(item).__name__} has no canonical form")

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=default)


def fingerprint(spec: VerifierSpec, params: Any = None, view: View | None = None, children: Sequence[str] = ()) -> str:
    """Twelve bytes in hex over the verifier, its libraries, the effective parameters, and what it builds on."""
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
    ]
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()
