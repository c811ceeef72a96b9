"""Checks that verifiers are the ones a caller expects (`Batch.expect`), by fingerprint or by `NAME@VERSION`, and that a
batch without samples names one that can judge."""

from __future__ import annotations

from collections.abc import Mapping

from rewarden.errors import FingerprintMoved, InvalidRequest, SampleError
from rewarden.types import Batch, Sample, VerifierRef
from rewarden_server.engine.plan import Planner


def difference(expect: Mapping[str, str], ref: VerifierRef) -> str | None:
    """Describes how a verifier differs from the one expected; None if it does not."""
    wanted = expect.get(ref.name)
    if wanted is None or wanted in (ref.fingerprint, f"{ref.name}@{ref.version}"):
        return None
    if "@" in wanted:
        return f"verifier {ref.name!r} is {ref.name}@{ref.version}, not the expected {wanted}"
    return f"verifier {ref.name!r} has fingerprint {ref.fingerprint}, not the expected {wanted}"


def check(batch: Batch, planner: Planner) -> None:
    """Raises FingerprintMoved if a verifier that the batch uses is not the one expected."""
    if not batch.expect:
        return
    uses = [batch.use, *(sample.use for sample in batch.samples if isinstance(sample, Sample))]
    for use in {id(use): use for use in uses if use is not None}.values():
        try:
            ref = planner.bind(use).ref
        except SampleError:
            continue  # a use that cannot be bound is its samples' error, not the batch's
        found = difference(batch.expect, ref)
        if found is not None:
            raise FingerprintMoved(
                found,
                verifier=ref.name,
                expected=batch.expect[ref.name],
                fingerprint=ref.fingerprint,
                version=ref.version,
            )


def check_use(batch: Batch, planner: Planner) -> None:
    """Raises InvalidRequest if a batch without samples names a use that cannot judge; `details["reason"]` is the reason
    that its samples would get. If the batch has samples, each gets the error in its own verdict, so that a mistake in
    one costs no other.

    Adapters send such a batch before training.
    """
    if batch.samples or batch.use is None:
        return
    try:
        planner.bind(batch.use)
    except SampleError as error:
        raise InvalidRequest(error.message, **{**error.details, "reason": error.reason}) from None
