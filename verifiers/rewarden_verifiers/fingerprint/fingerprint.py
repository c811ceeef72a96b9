"""A fingerprint of everything that can change a verdict: code, data, libraries, version, parameters.

Two verdicts with equal fingerprints came from the same code with the same parameters. A caller can require one
(`Batch.expect`); the request is refused with 409 if the fingerprint has changed. See docs/fingerprints.md.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import secrets
import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.fingerprint.closure import closure
from rewarden_verifiers.fingerprint.modules import distributions_of
from rewarden_verifiers.view import View


def fingerprint(
    spec: VerifierSpec, params: Any = None, view: View | None = None, children: Sequence[str] = (), resources: str = ""
) -> str:
    """Twelve bytes in hex over the verifier, its libraries, the effective parameters, the fingerprints of the verifiers
    it builds on, and the fingerprint of the resources that the server's configuration provides for it.
    """
    digest = hashlib.blake2b(digest_size=12)
    parts = [
        spec.name,
        spec.version,
        code_of(spec),
        spec.source_text or "",
        canonical(params),
        canonical(view),
        *children,
        *([resources] if resources else []),
    ]
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def code_of(spec: VerifierSpec) -> str:
    """The digest of a verifier's code and data, and the versions of the libraries they run on."""
    reached = closure(spec.module, *spec.plugin)
    if not reached.whole:
        return _unwritten(spec.function)
    versions = [f"{name}={_version(name)}" for name in libraries_of(spec)]
    if "unicodedata" in reached.libraries:
        versions.append(f"unicode={unicodedata.unidata_version}")
    if spec.per_python:
        versions.append(f"python={sys.version_info.major}.{sys.version_info.minor}")
    return " ".join([reached.digest, *versions])


def libraries_of(spec: VerifierSpec) -> list[str]:
    """The distributions whose versions are part of the fingerprint: those that its code imports, and those that it
    names.
    """
    libraries = closure(spec.module, *spec.plugin).libraries
    imported = [name for name in libraries if name not in sys.stdlib_module_names]
    return sorted({name for package in imported for name in distributions_of(package)} | set(spec.libraries))


@lru_cache(maxsize=1024)
def _unwritten(function: Callable[..., Any]) -> str:
    """A stand-in for the digest of code without a file, such as a notebook's. Nobody can tell whether it has changed,
    so it counts as new in each process.
    """
    return secrets.token_hex(16)


@lru_cache(maxsize=256)
def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"
