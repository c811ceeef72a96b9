"""The rules for trying again, and for the wait before."""

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
    """Retries with a jittered, doubling wait in between, for as long as patience lasts.

    Verification has no side effects, so that sending again is always safe; requests are sent again where that may help:
    the server was overloaded, could not be reached, was draining, or went away in mid-answer. The caller's own errors
    are raised at once. Times are in seconds.

    patience_s: after the first failure of a row it is tried again for so long. The default outlives a server that is
    restarted: it drains, ends, and starts. A server's `Retry-After` is honoured unless it is longer than what is left:
    then its error is raised at once. attempts: tries in a row, at most; None: as many as patience allows. first_s,
    most_s: the bound of the first wait and of the longest. A row ends with whatever the server brings: a stream that
    brought verdicts before it broke begins to count anew.

    verdicts: ask again also about samples whose verdict is an `error` that says that it may pass (`retryable`: a
    sandbox host or a judge that was lost), for as long as patience lasts; then the verdict is told as it is. A group of
    a batch is asked about as a whole; in a stream, which has told some of a group already, only samples without a group
    are. Where a request chooses its `fields`, `retryable` and `reason` must be among them.
    """

    attempts: int | None = None
    first_s: float = 0.2
    most_s: float = 5.0
    patience_s: float = 120.0
    verdicts: bool = False

    def asks_again(self, verdict: Verdict) -> bool:
        """Returns whether the sample of such a verdict is asked about again. What the caller's own deadline cut off is
        not.
        """
        return self.verdicts and verdict.status == "error" and verdict.retryable and verdict.reason not in _OWN

    def wait_s(self, failures: int, error: RequestError, spent_s: float = 0.0) -> float | None:
        """Returns the seconds to wait after so many failures in a row, which took `spent_s` together and ended in
        `error`; None means that `error` is to be raised.
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
"""Try once."""


class Tries:
    """The tries of one call: what has failed since the server last brought something."""

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self.brought()

    def brought(self) -> None:
        """The server brought something: the next failure is the first of a row."""
        self._failures = 0
        self._spent_s = 0.0
        self._began = time.monotonic()

    def wait_s(self, error: RequestError) -> float | None:
        """The try that is under way failed: how long to wait before the next one; None: raise the error."""
        now = time.monotonic()
        self._failures += 1
        if self._failures > 1:
            # A server that worked on it for an hour and then went away was there: that costs no patience.
            self._spent_s += min(now - self._began, _LONGEST_TRY_S)
        wait = self._retry.wait_s(self._failures, error, self._spent_s)
        if wait is not None:
            left = self._retry.patience_s - self._spent_s
            warn("%s; trying again in %.1f s, for %.0f s more", error.message, wait, left)
            self._spent_s += wait
            self._began = now + wait
        return wait

    async def failed(self, error: RequestError) -> None:
        """The try that is under way failed: wait before the next one, or raise the error."""
        wait = self.wait_s(error)
        if wait is None:
            raise error
        await asyncio.sleep(wait)


def may_pass(verdict: Verdict) -> Unavailable:
    """Returns the error for `Tries` that stands for a verdict with a transient error."""
    return Unavailable(f"a sample has no score yet ({verdict.reason})")


_said_s = -math.inf


def warn(text: str, *more: Any) -> None:
    """Say it, at most once a second: a thousand samples that wait for one server have one thing to say."""
    global _said_s
    now = time.monotonic()
    if now - _said_s >= 1.0:
        _said_s = now
        _log.warning(text, *more)
