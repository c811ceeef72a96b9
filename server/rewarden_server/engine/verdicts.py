"""Ties an outcome to its sample.

A request can have ten thousand verdicts, and a frozen dataclass with 26 fields is slow to make: each field is set
through `object.__setattr__`. Instead, a draft with the same slots is filled by plain assignments and then *becomes* a
`Verdict`, which CPython allows for classes of equal layout. This takes a third of the time and results in the same
object.
"""

from __future__ import annotations

from typing import Any

from rewarden.types import BadSample, Outcome, Sample, Verdict, VerifierRef
from rewarden_server.engine import failures
from rewarden_server.engine.work import Result

_UNRUN = Result()


class _Draft(Outcome):
    __slots__ = Verdict.__slots__

    # Outcome is frozen, and a draft does not have its final type yet. Both are necessary for plain assignments, and
    # they share one slot.
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__


def make_verdict(
    index: int,
    sample: Sample | BadSample,
    outcome: Outcome,
    ref: VerifierRef | None = None,
    result: Result = _UNRUN,
) -> Verdict:
    """Returns the verdict on the sample at `index`; `ref` is None if no verifier was reached."""
    made: Any = object.__new__(_Draft)
    flags = outcome.flags
    if isinstance(sample, BadSample):
        made.group = made.data_source = made.metadata = None
    else:
        made.group = sample.group
        made.data_source = sample.data_source
        made.metadata = sample.metadata
        if sample.finish_reason == "length":
            flags = (*flags, "truncated")
    made.status = outcome.status
    made.score = outcome.score
    made.range = outcome.range
    made.passed = outcome.passed
    made.raw = outcome.raw
    made.reason = outcome.reason
    made.fault = outcome.fault
    made.components = outcome.components
    made.steps = outcome.steps
    made.feedback = outcome.feedback
    made.extracted = outcome.extracted
    made.evidence = outcome.evidence
    made.flags = flags
    made.effective = outcome.effective
    made.exclude = outcome.exclude
    made.exclude_reason = outcome.exclude_reason
    made.index = index
    made.id = sample.id
    made.verifier = ref
    made.retryable = outcome.status == "error" and failures.retryable(outcome)
    made.cached = result.cached
    made.queue_s = result.queue_s
    made.run_s = result.run_s
    made.__class__ = Verdict
    verdict: Verdict = made
    return verdict
