"""The counters behind the metrics, and the Prometheus families built from them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

V = TypeVar("V")

OTHER = "other"

_LONGEST = 120
"""The longest label value, in characters."""


class Distinct(dict[str | None, str]):
    """Bounds the values of a label: the first `most` are kept, later ones become `other`. Reserved values are kept in
    addition.

    A dictionary, because a known value is looked up several times per verdict.
    """

    def __init__(self, most: int) -> None:
        super().__init__({None: ""})
        self._most = most

    def reserve(self, values: Iterable[str]) -> None:
        """Reserves values, whatever else comes first."""
        for value in values:
            self._most += value not in self
            self[value] = value

    def __missing__(self, value: str) -> str:
        if len(value) > _LONGEST:
            return self[value[:_LONGEST]]  # the whole of it may be megabytes, and would be held for ever
        if len(self) > self._most:
            return OTHER
        # Callers choose label values: one that cannot be encoded as UTF-8 would break the whole page.
        kept = self[value] = value.encode("utf-8", "replace").decode()
        return kept


class Tuples(dict[tuple[str, ...], int]):
    """Counts by several labels: the first `most` tuples of values are kept. In later ones, the labels at `others`
    become `other`.

    Attack: several labels, each within its bound, whose combinations are millions of series.
    """

    def __init__(self, most: int, others: Collection[int]) -> None:
        super().__init__()
        self._most = most
        self._others = others

    def add(self, *values: str) -> None:
        """Counts one."""
        if values not in self and len(self) >= self._most:
            values = tuple(OTHER if place in self._others else value for place, value in enumerate(values))
        self[values] = self.get(values, 0) + 1


class Histogram:
    """A histogram's buckets and sum for one series."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Counts one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Returns cumulative counts by upper bound, as Prometheus expects them."""
        found: list[tuple[str, float]] = []
        running = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            found.append(("+Inf" if bound == float("inf") else repr(bound), running))
        return found


Series = Mapping[str, V] | Iterable[tuple[tuple[str, ...], V]]
"""Series by the value of their only label, or pairs of label values and their series."""


def counter(name: str, text: str, labels: tuple[str, ...], counts: Series[float]) -> CounterMetricFamily:
    """Returns a family of counters, by label values."""
    family = CounterMetricFamily(name, text, labels=labels)
    for values, count in _by_values(counts):
        family.add_metric(values, count)
    return family


def gauge(name: str, text: str, labels: tuple[str, ...], now: Series[float]) -> GaugeMetricFamily:
    """Returns a family of gauges, by label values."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in _by_values(now):
        family.add_metric(values, value)
    return family


def histogram(name: str, text: str, labels: tuple[str, ...], series: Series[Histogram]) -> HistogramMetricFamily:
    """Returns a family of histograms, by label values."""
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, one in _by_values(series):
        family.add_metric(values, one.buckets(), one.total)
    return family


def _by_values(series: Series[V]) -> Iterable[tuple[tuple[str, ...], V]]:
    return (((value,), one) for value, one in series.items()) if isinstance(series, Mapping) else series
