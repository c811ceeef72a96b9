"""Turns exceptions into outcomes. No other module does this, and no other module makes `error` outcomes."""

from __future__ import annotations

from typing import Any

from rewarden.errors import PluginError, SampleError
from rewarden.types import BadSample, Outcome
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.outcome import no_answer, too_expensive, undecided, wrong

_PASSING = {"internal", "group_deadline"} | {cls.reason for cls in SampleError.__subclasses__() if cls.retryable}


def outcome_of(error: BaseException) -> Outcome:
    """Returns the outcome for an exception.

    `SampleError`s carry their status, fault and reason. Any other exception is a defect of ours, with the fault
    `infra`; exceptions of verifiers became `PluginError` at their boundary. Never a number.
    """
    if isinstance(error, SampleError):
        evidence = {key: value for key, value in error.details.items() if _plain(value)}
        return _failed(error.status, error.reason, error.fault, error.message, evidence, error.flags)
    return _failed("error", "internal", "infra", f"internal error: {type(error).__name__}", {})


def retryable(outcome: Outcome) -> bool:
    """Returns whether a retry of the same sample can end differently."""
    return outcome.status == "error" and outcome.reason in _PASSING


def bad_sample(row: BadSample) -> Outcome:
    """Returns the outcome of a row that is not a sample."""
    evidence = {"path": row.path} if row.path else {}
    return _failed("error", "invalid_sample", "caller", row.message, evidence)


def incomplete_group(group: str, size: int | None, seen: int, *, late: bool) -> Outcome:
    """Returns the outcome of the members of a group that never became complete."""
    wanted = "?" if size is None else size
    if late:
        message = f"group {group!r}: {seen} of {wanted} members arrived before the group's deadline"
        return _failed("error", "group_deadline", "infra", message, {"seen": seen})
    return _failed("error", "group_incomplete", "caller", f"group {group!r}: {seen} of {wanted} members arrived", {})


def viewless(reason: str, spec: VerifierSpec) -> Outcome:
    """Returns the outcome of a response in which the view found nothing to judge: no answer."""
    return no_answer(reason, range=spec.score_range)


def expired(spec: VerifierSpec, phase: str, limit_s: float, what: str) -> Outcome:
    """Returns the outcome of an item that reached a limit of its worker. `phase` tells whose text was being processed;
    `what` is cpu or memory."""
    evidence = {"limit": what, **({"limit_s": limit_s} if what == "cpu" else {})}
    if phase == "prepare":
        return undecided("reference_too_expensive", fault="reference", evidence=evidence, flags=("too_expensive",))
    return too_expensive(evidence=evidence, range=spec.score_range)


def killed(spec: VerifierSpec, phase: str) -> Outcome:
    """Returns the outcome of an item that killed its worker twice when it ran alone. The policy must not profit from
    that."""
    if phase == "prepare":
        return undecided("reference_kills_worker", fault="reference", flags=("killed_worker",))
    return wrong("killed_worker", flags=("killed_worker",), range=spec.score_range)


def idle(spec: VerifierSpec, idle_s: float) -> PluginError:
    """Returns the error for a pure verifier that waits instead of computing, which is the verifier's defect."""
    return PluginError(
        f"verifier {spec.name!r} held a worker for {idle_s:g} s without computing; a pure verifier must not wait"
    )


def _failed(
    status: Any, reason: str, fault: Any, message: str, evidence: dict[str, Any], flags: tuple[str, ...] = ()
) -> Outcome:
    return Outcome(status=status, reason=reason, fault=fault, feedback=message, evidence=evidence, flags=flags)


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, list, dict))
