"""Bounds on what a key may have done: token buckets for rates, a count for the day, a count of what is under way.

All of it is kept in this process: a restart begins anew, and two servers count each for itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rewarden.errors import Overloaded, TooLarge
from rewarden_server.access.rules import KeyRule

_DAY_S = 86_400

AGAIN_S = 1.0
"""Seconds after which a caller with too much in progress may ask again; when its requests end cannot be predicted."""


class Bucket:
    """A token bucket that holds a minute's worth, full at first. Below zero it owes what was reserved."""

    __slots__ = ("_at", "_clock", "_left", "_rate", "holds")

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self.holds = max(1.0, per_minute)
        self._rate = per_minute / 60.0
        self._clock = clock
        self._left = self.holds
        self._at = clock()

    def lacks_s(self, tokens: float) -> float:
        """Returns the seconds until so many tokens are there, or 0.0 where they are."""
        now = self._clock()
        self._left = min(self.holds, self._left + (now - self._at) * self._rate)
        self._at = now
        # A millionth of slack: who comes back to the second must not be sent away by a rounded float.
        return 0.0 if tokens <= self._left + 1e-6 else (tokens - self._left) / self._rate

    def take(self, tokens: float) -> None:
        """Take tokens, whether they are there or not."""
        self._left -= tokens


class Meter:
    """The use of one key. Used on the loop only. `clock` is monotonic, `wall` the time since the epoch, in seconds."""

    def __init__(
        self,
        name: str,
        rule: KeyRule,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._name = name
        self.rule = rule
        self._wall = wall
        self._requests = Bucket(rule.requests_per_minute, clock) if rule.requests_per_minute is not None else None
        self._samples = Bucket(rule.samples_per_minute, clock) if rule.samples_per_minute is not None else None
        self._day = 0
        self._today = 0
        self._under_way = 0

    def begin(self) -> None:
        """A request comes; `end` must follow. Raises Overloaded, and counts nothing, where it may not come now."""
        most = self.rule.concurrency
        if most is not None and self._under_way >= most:
            raise self._over("concurrency", f"{most} concurrent requests", AGAIN_S)
        if self._requests is not None:
            wait_s = self._requests.lacks_s(1)
            if wait_s:
                raise self._over(
                    "requests_per_minute", f"{self.rule.requests_per_minute:g} requests per minute", wait_s
                )
            self._requests.take(1)
        self._under_way += 1

    def end(self) -> None:
        """A request that `begin` let in has ended."""
        self._under_way -= 1

    def spend(self, samples: int) -> None:
        """Counts a request's samples: all of them, or none.

        Raises Overloaded, which says when to come back, and TooLarge for a request that would never fit.
        """
        most = self.rule.samples_per_day
        if most is not None:
            self._check_fits("samples_per_day", samples, most, "send per day")
            if self._used_today() + samples > most:
                raise self._day_over(most)
        if self._samples is not None:
            self._check_fits("samples_per_minute", samples, self._samples.holds, "send at once")
            wait_s = self._samples.lacks_s(samples)
            if wait_s:
                raise self._over("samples_per_minute", f"{self.rule.samples_per_minute:g} samples per minute", wait_s)
        self.note(samples)

    def note(self, samples: int) -> None:
        """Count samples that are judged already; who is over a bound by it waits the longer at its next request. Less
        than none: give back what was counted and not judged."""
        if self.rule.samples_per_day is not None:
            self._today = max(0, self._used_today() + samples)  # a new day may have begun since they were counted
        if self._samples is not None:
            self._samples.lacks_s(0)
            self._samples.take(samples)

    async def wait(self) -> None:
        """Count one sample of a stream, once the rate has room for it. Raises Overloaded when the day's are used up."""
        self.check_left()
        if self._samples is None:
            self.note(1)
            return
        wait_s = self._samples.lacks_s(1)
        self.note(1)  # reserved before the wait, so that streams of one key come in turn
        if wait_s:
            try:
                await asyncio.sleep(wait_s)
            except asyncio.CancelledError:
                self.note(-1)
                raise

    def check_left(self) -> None:
        """Raises Overloaded where the day's samples are used up."""
        most = self.rule.samples_per_day
        if most is not None and self._used_today() >= most:
            raise self._day_over(most)

    def _used_today(self) -> int:
        day = int(self._wall() // _DAY_S)
        if day != self._day:
            self._day, self._today = day, 0
        return self._today

    def _check_fits(self, limit: str, samples: int, most: float, what: str) -> None:
        if samples > most:
            raise TooLarge(
                f"the request has {samples} samples; the key {self._name!r} may {what} at most {most:g} "
                f"(keys.rules, {limit}): send smaller requests, or a stream",
                limit=limit,
                most=most,
            )

    def _day_over(self, most: int) -> Overloaded:
        return self._over("samples_per_day", f"{most} samples per day (UTC)", _DAY_S - self._wall() % _DAY_S)

    def _over(self, limit: str, what: str, wait_s: float) -> Overloaded:
        return Overloaded(
            f"the key {self._name!r} may have {what} (keys.rules, {limit}); retry in {wait_s:.3g} s",
            limit=limit,
            retry_after_s=wait_s,
        )
