"""Quantiles of durations in bounded memory: counts by buckets that grow by a tenth."""

from __future__ import annotations

import math

_LEAST_S = 1e-6
_MOST_S = 1e6
_PER_UNIT = 1 / math.log(1.1)
_TOP = int(math.log(_MOST_S / _LEAST_S) * _PER_UNIT)


class Durations:
    """Durations in seconds. A quantile is right to 5 %, from a microsecond to eleven days; at most 290 buckets."""

    __slots__ = ("_buckets", "count")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.count = 0

    def add(self, seconds: float) -> None:
        """Count one. Anything under a microsecond is nothing."""
        if _LEAST_S < seconds < _MOST_S:
            place = int(math.log(seconds / _LEAST_S) * _PER_UNIT)
        else:
            place = _TOP if seconds >= _MOST_S else -1
        self._buckets[place] = self._buckets.get(place, 0) + 1
        self.count += 1

    def merge(self, other: Durations) -> None:
        """Count all of another's."""
        for place, count in other._buckets.items():
            self._buckets[place] = self._buckets.get(place, 0) + count
        self.count += other.count

    def quantile(self, share: float) -> float | None:
        """The duration that this share of all does not exceed; None of nothing."""
        left = math.ceil(share * self.count) or 1
        for place in sorted(self._buckets):
            left -= self._buckets[place]
            if left <= 0:
                return 0.0 if place < 0 else _LEAST_S * 1.1 ** (place + 0.5)
        return None
