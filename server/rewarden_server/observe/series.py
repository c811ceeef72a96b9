"""The series in which metrics are counted, and the families that Prometheus reads, made of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

V = TypeVar("V")

OTHER = "other"

_LONGEST = 120
"""Characters of a label's value."""


class Distinct(dict[str | None, str]):
    """Bounds the values that a label takes: the first `most` stay, whatever comes later is `other`. Reserved ones stay
    beside them.

    A dictionary, since a known value is looked up several times a verdict.
    """

    def __init__(self, most: int) -> None:
        super().__init__({None: ""})
        self._most = most

    def reserve(self, values: Iterable[str]) -> None:
        """Keep values, whatever else comes first."""
        for value in values:
            self._most += value not in self
            self[value] = value

    def __missing__(self, value: str) -> str:
        if len(value) > _LONGEST:
            return self[value[:_LONGEST]]  # the whole of it may be megabytes, and would be held for ever
        if len(self) > self._most:
            return OTHER
        # Label values come from callers: what cannot be printed as UTF-8 would break the whole page.
        kept = self[value] = value.encode("utf-8", "replace").decode()
        return kept


class Tuples(dict[tuple[str, ...], int]):
    """Counts by the values of several labels: the first `most` tuples stay. Of later ones, the labels at `others` are
    `other`.

    Attack: values of several labels, each within its bound, whose product is millions of series.
    """

    def __init__(self, most: int, others: Collection[int]) -> None:
        super().__init__()
        self._most = most
        self._others = others

    def add(self, *values: str) -> None:
        """Count one."""
        if values not in self and len(self) >= self._most:
            values = tuple(OTHER if place in self._others else value for place, value in enumerate(values))
        self[values] = self.get(values, 0) + 1


class Histogram:
    """Counts by bucket, and their sum, of one series."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound, as Prometheus wants them."""
        found: list[tuple[str, float]] = []
        running = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            found.append(("+Inf" if bound == float("inf") else repr(bound), running))
        return found


Series = Mapping[str, V] | Iterable[tuple[tuple[str, ...], V]]
"""Series by the value of their only label, or pairs of the values of several labels and their series."""


def counter(name: str, text: str, labels: tuple[str, ...], counts: Series[float]) -> CounterMetricFamily:
    """A family of counts, by the values of its labels."""
    family = CounterMetricFamily(name, text, labels=labels)
    for values, count in _by_values(counts):
        family.add_metric(values, count)
    return family


def gauge(name: str, text: str, labels: tuple[str, ...], now: Series[float]) -> GaugeMetricFamily:
    """A family of what is now, by the values of its labels."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in _by_values(now):
        family.add_metric(values, value)
    return family


def histogram(name: str, text: str, labels: tuple[str, ...], series: Series[Histogram]) -> HistogramMetricFamily:
    """A family of histograms, by the values of its labels."""
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, one in _by_values(series):
        family.add_metric(values, one.buckets(), one.total)
    return family


def _by_values(series: Series[V]) -> Iterable[tuple[tuple[str, ...], V]]:
    return (((value,), one) for value, one in series.items()) if isinstance(series, Mapping) else series
