"""The policy of retries: which errors are retried, and after how long."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from dataclasses import dataclass
from typing import Any

from rewarden.errors import Overloaded, RequestError, Unavailable
from rewarden.types import Verdict

_log = logging.getLogger("rewarden")

_LONGEST_TRY_S = 10.0
_OWN = ("deadline", "group_deadline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Retries requests with exponential backoff and jitter, for up to `patience_s`.

    Verification has no side effects, so a retry is always safe. Requests are retried if the server was overloaded,
    could not be reached, was draining, or disconnected during a response. Errors of the caller are raised at once.
    Times are in seconds.

    patience_s: how long to retry after the first of consecutive failures. The default outlasts the restart of a server.
    A `Retry-After` is honoured, unless it exceeds the remaining time: then the error is raised at once. attempts: the
    maximum of consecutive attempts; None: no limit but patience. first_s, most_s: upper bounds of the first wait and of
    any wait. Any result from the server resets the counts, such as the verdicts of a stream before it broke.

    verdicts: also retry samples whose verdict is a transient `error` (`retryable`, such as a lost sandbox host or
    judge), for up to `patience_s`; after that the verdict is returned as it is. In a batch, a group is retried as a
    whole. In a stream, only samples without a group are retried. If the request selects `fields`, they must include
    `retryable` and `reason`.
    """

    attempts: int | None = None
    first_s: float = 0.2
    most_s: float = 5.0
    patience_s: float = 120.0
    verdicts: bool = False

    def asks_again(self, verdict: Verdict) -> bool:
        """Returns whether the sample of this verdict is retried. It is not if the caller's own deadline cut it off."""
        return self.verdicts and verdict.status == "error" and verdict.retryable and verdict.reason not in _OWN

    def wait_s(self, failures: int, error: RequestError, spent_s: float = 0.0) -> float | None:
        """Returns the seconds to wait after so many consecutive failures, which took `spent_s` in total and ended in
        `error`, or None if `error` is to be raised.
        """
        if not isinstance(error, (Overloaded, Unavailable)):
            return None
        left = self.patience_s - spent_s
        if left <= 0 or (self.attempts is not None and failures >= self.attempts):
            return None
        # Spread over the whole span, so that a thousand trainers that failed together do not come back together.
        wait = random.uniform(0.0, min(self.most_s, self.first_s * 2.0 ** min(failures - 1, 30)))
        asked = error.details.get("retry_after_s")
        if isinstance(asked, (int, float)) and asked > 0:
            return None if asked > left else asked + wait
        return min(wait, left)


NO_RETRY = Retry(attempts=1)
"""No retries."""


class Tries:
    """The attempts of one call: the failures since the last result from the server."""

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self.brought()

    def brought(self) -> None:
        """Notes a result from the server: the next failure counts as the first."""
        self._failures = 0
        self._spent_s = 0.0
        self._began = time.monotonic()

    def wait_s(self, error: RequestError) -> float | None:
        """Notes a failed attempt. Returns the seconds to wait before the next one, or None to raise the error."""
        now = time.monotonic()
        self._failures += 1
        if self._failures > 1:
            # A server that worked for an hour before it disconnected was reachable: that time does not count.
            self._spent_s += min(now - self._began, _LONGEST_TRY_S)
        wait = self._retry.wait_s(self._failures, error, self._spent_s)
        if wait is not None:
            left = self._retry.patience_s - self._spent_s
            warn("%s; retrying in %.1f s, for up to %.0f s more", error.message, wait, left)
            self._spent_s += wait
            self._began = now + wait
        return wait

    async def failed(self, error: RequestError) -> None:
        """Notes a failed attempt, and waits before the next one or raises the error."""
        wait = self.wait_s(error)
        if wait is None:
            raise error
        await asyncio.sleep(wait)


def may_pass(verdict: Verdict) -> Unavailable:
    """Returns the error for `Tries` that stands for a verdict with a transient error."""
    return Unavailable(f"a sample has no score yet ({verdict.reason})")


_said_s = -math.inf


def warn(text: str, *more: Any) -> None:
    """Logs a warning, at most once a second: a thousand samples that wait for one server share one warning."""
    global _said_s
    now = time.monotonic()
    if now - _said_s >= 1.0:
        _said_s = now
        _log.warning(text, *more)
