"""Statistics of a stream of numbers, in bounded memory."""

from __future__ import annotations

import math
from collections import Counter

_LEAST_S = 1e-6
_MOST_S = 1e6
_PER_UNIT = 1 / math.log(1.1)
_TOP = int(math.log(_MOST_S / _LEAST_S) * _PER_UNIT)


class Moments:
    """Count, mean, spread, least and greatest, by Welford's method (Technometrics 4, 1962), which loses no digits to
    cancellation; merged by Chan, Golub and LeVeque's (1979).
    """

    __slots__ = ("_squares", "count", "high", "low", "mean")

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.low = math.inf
        self.high = -math.inf
        self._squares = 0.0

    def add(self, value: float) -> None:
        """Take one number in."""
        self.count += 1
        away = value - self.mean
        self.mean += away / self.count
        self._squares += away * (value - self.mean)
        if value < self.low:
            self.low = value
        if value > self.high:
            self.high = value

    def merge(self, other: Moments) -> None:
        """Take in all of another's."""
        count = self.count + other.count
        if not other.count:
            return
        away = other.mean - self.mean
        self.mean += away * other.count / count
        self._squares += other._squares + away * away * self.count * other.count / count
        self.count = count
        self.low = min(self.low, other.low)
        self.high = max(self.high, other.high)

    @property
    def std(self) -> float:
        """The standard deviation, nothing taken off the degrees of freedom; 0 of nothing."""
        return math.sqrt(max(self._squares, 0.0) / self.count) if self.count else 0.0


class Durations:
    """Quantiles of durations in seconds, by counts in buckets that grow by a tenth: right to 5 %, from a microsecond to
    eleven days; at most 290 buckets.
    """

    __slots__ = ("_buckets", "count")

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.count = 0

    def add(self, seconds: float) -> None:
        """Count one. Anything under a microsecond is nothing."""
        if _LEAST_S < seconds < _MOST_S:
            place = int(math.log(seconds / _LEAST_S) * _PER_UNIT)
        else:
            place = _TOP if seconds >= _MOST_S else -1
        self._buckets[place] += 1
        self.count += 1

    def merge(self, other: Durations) -> None:
        """Count all of another's."""
        self._buckets.update(other._buckets)
        self.count += other.count

    def quantile(self, share: float) -> float | None:
        """The duration that this share of all does not exceed; None of nothing."""
        left = math.ceil(share * self.count) or 1
        for place in sorted(self._buckets):
            left -= self._buckets[place]
            if left <= 0:
                return 0.0 if place < 0 else _LEAST_S * 1.1 ** (place + 0.5)
        return None
