"""When to try again, and how long to wait before."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rewarden.errors import Overloaded, RequestError, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Bounded tries with a jittered, doubling wait.

    Verification has no side effects, so that sending again is always safe; it is done where it may help: the server
    was overloaded, could not be reached, or went away. `attempts` counts the tries in a row that brought nothing; a
    stream that brought verdicts before it broke begins to count anew. A server's `Retry-After` is honoured unless it is
    longer than `patience_s`: then its error is raised at once. Times are in seconds.
    """

    attempts: int = 6
    first_s: float = 0.2
    most_s: float = 10.0
    patience_s: float = 120.0

    def wait_s(self, failures: int, error: RequestError) -> float | None:
        """How long to wait after so many failures in a row, the last one `error`; None: raise it."""
        if failures >= self.attempts or not isinstance(error, (Overloaded, Unavailable)):
            return None
        # Spread over the whole span, so that a thousand trainers that failed together do not come back together.
        wait = random.uniform(0.0, min(self.most_s, self.first_s * 2.0 ** (failures - 1)))
        asked = error.details.get("retry_after_s")
        if isinstance(asked, (int, float)) and asked > 0:
            return None if asked > self.patience_s else asked + wait
        return wait


NO_RETRY = Retry(attempts=1)
"""Try once."""
