"""Checks that verifiers are the ones a caller expects (`Batch.expect`), by fingerprint or by `NAME@VERSION`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewarden.errors import FingerprintMoved
from rewarden.types import VerifierRef


def difference(expect: Mapping[str, str], ref: VerifierRef) -> str | None:
    """Describes how a verifier differs from the one expected; None if it does not."""
    wanted = expect.get(ref.name)
    if wanted is None or wanted in (ref.fingerprint, f"{ref.name}@{ref.version}"):
        return None
    if "@" in wanted:
        return f"verifier {ref.name!r} is {ref.name}@{ref.version}, not the expected {wanted}"
    return f"verifier {ref.name!r} has fingerprint {ref.fingerprint}, not the expected {wanted}"


def check(expect: Mapping[str, str], refs: Sequence[VerifierRef]) -> None:
    """Raises FingerprintMoved if a verifier is not the one expected."""
    for ref in refs:
        found = difference(expect, ref)
        if found is not None:
            raise FingerprintMoved(
                found,
                verifier=ref.name,
                expected=expect[ref.name],
                fingerprint=ref.fingerprint,
                version=ref.version,
            )
