"""The agreement of cascades' cheap verdicts with the strong verifier, on the samples that are rechecked.

A threshold that was calibrated once stops fitting as the policy changes. Nothing here changes a verdict.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden_verifiers.group.statistics import wilson

_RECENT = 200
_MOST = 64
"""Attack: names of recipes and judges that callers make up, each of which would be a row of its own for ever."""

_OTHERS = ("other", "other")


@dataclass(slots=True)
class _Row:
    """The rechecks of one pair of verifiers. unscored: the strong one gave no verdict."""

    agreed: int = 0
    disagreed: int = 0
    unscored: int = 0
    expected: float = 0.0
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def status(self) -> dict[str, Any]:
        """Returns the counts, the agreement of the latest rechecks with its 95 % interval, and whether all of that
        interval is below the expected agreement."""
        agreed, count = sum(self.recent), len(self.recent)
        interval = wilson(agreed, count) if count else None
        return {
            "agreed": self.agreed,
            "disagreed": self.disagreed,
            "unscored": self.unscored,
            "expected": self.expected,
            "agreement": agreed / count if count else None,
            "interval": None if interval is None else list(interval),
            "drifted": interval is not None and interval[1] < self.expected,
        }


class Rechecks:
    """Used on the engine's loop."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], _Row] = {}

    def note(self, found: Mapping[str, Any]) -> None:
        """Count one, as the verifier `cascade` states it in its evidence."""
        key = (found["rule"], found["then"])
        if key not in self._rows and len(self._rows) >= _MOST:
            key = _OTHERS
        row = self._rows.setdefault(key, _Row())
        row.expected = found["expected"]
        if found["agrees"] is None:
            row.unscored += 1
            return
        row.recent.append(found["agrees"])
        row.agreed += found["agrees"]
        row.disagreed += not found["agrees"]

    def status(self) -> list[dict[str, Any]]:
        """Returns a row for each pair of verifiers, ready for JSON."""
        return [{"rule": rule, "then": then, **row.status()} for (rule, then), row in self._rows.items()]
