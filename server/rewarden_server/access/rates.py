"""Limits on the usage of a key: token buckets for rates, a daily count, and a count of concurrent requests.

The counts are kept in this process: a restart resets them, and each server counts separately.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rewarden.errors import Overloaded, TooLarge
from rewarden_server.access.rules import KeyRule

_DAY_S = 86_400

AGAIN_S = 1.0
"""Seconds after which a caller with too many concurrent requests may retry; when its requests will end cannot be
predicted."""


class Bucket:
    """A token bucket with a capacity of one minute's worth, full at first. It can go below zero, by reserved tokens."""

    __slots__ = ("_at", "_clock", "_left", "_rate", "holds")

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self.holds = max(1.0, per_minute)
        self._rate = per_minute / 60.0
        self._clock = clock
        self._left = self.holds
        self._at = clock()

    def lacks_s(self, tokens: float) -> float:
        """Returns the seconds until this many tokens are available, or 0.0 if they are."""
        now = self._clock()
        self._left = min(self.holds, self._left + (now - self._at) * self._rate)
        self._at = now
        # A tolerance of a millionth: a caller that retries after exactly the stated time must not be refused because of
        # rounding.
        return 0.0 if tokens <= self._left + 1e-6 else (tokens - self._left) / self._rate

    def take(self, tokens: float) -> None:
        """Takes tokens, whether or not they are available."""
        self._left -= tokens


class Meter:
    """The usage of one key. Used only on the loop. `clock` is monotonic; `wall` is the time since the epoch, in
    seconds."""

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
        """Begins a request; `end` must follow. If the request is not allowed now, raises Overloaded and counts
        nothing."""
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
        """Ends a request that `begin` allowed."""
        self._under_way -= 1

    def spend(self, samples: int) -> None:
        """Counts a request's samples: all of them, or none. Raises Overloaded with the time to wait, and TooLarge for a
        request that can never fit."""
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
        """Counts samples that were judged already. If they exceed a limit, the key waits longer at its next request. A
        negative number gives back samples that were counted and not judged."""
        if self.rule.samples_per_day is not None:
            self._today = max(0, self._used_today() + samples)  # a new day may have begun since they were counted
        if self._samples is not None:
            self._samples.lacks_s(0)
            self._samples.take(samples)

    async def wait(self) -> None:
        """Counts one sample of a stream, once the rate permits it. Raises Overloaded if the daily limit is reached."""
        self.check_left()
        if self._samples is None:
            self.note(1)
            return
        wait_s = self._samples.lacks_s(1)
        self.note(1)  # reserved before the wait, so that the streams of one key take turns
        if wait_s:
            try:
                await asyncio.sleep(wait_s)
            except asyncio.CancelledError:
                self.note(-1)
                raise

    def check_left(self) -> None:
        """Raises Overloaded if the daily limit is reached."""
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
