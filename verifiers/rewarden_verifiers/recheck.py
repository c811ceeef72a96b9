"""A recheck: another verifier judges a returned verdict's sample again, to see whether the two agree."""

from __future__ import annotations

from dataclasses import dataclass

from rewarden.types import Outcome, Use


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """The verifier to ask, and the verdict to compare it with.

    use: the other verifier. rule, then: the names of the first verifier and of the other one, under which the
    comparison is counted. passed: whether the first one passed the sample. threshold: the other one's lowest score that
    passes; None: its own `passed`, or full marks if it has none. expected: the expected agreement.
    """

    use: Use
    rule: str
    then: str
    passed: bool
    threshold: float | None
    expected: float

    def agrees(self, outcome: Outcome) -> bool | None:
        """Returns whether the other verifier's outcome agrees; None if it gives no verdict."""
        if outcome.score is None:
            return None
        passed = outcome.passed
        if passed is None:
            # Rounding can leave a sum of floats just below the threshold.
            passed = outcome.score >= (outcome.range[1] if self.threshold is None else self.threshold - 1e-9)
        return passed == self.passed
