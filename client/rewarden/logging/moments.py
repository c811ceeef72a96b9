"""Mean and standard deviation of a stream of numbers."""

from __future__ import annotations

import math


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
