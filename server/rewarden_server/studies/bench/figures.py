"""Figures that several sets share: means with intervals, and parts in the set's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rewarden_server.studies.bench.entry import Result
from rewarden_server.studies.calibration.agreement import Figure, bootstrap, share
from rewarden_verifiers.group.statistics import mean

R = TypeVar("R", bound=Result)


def drawn(results: Sequence[R], statistic: Callable[[Sequence[R]], float | None], seed: int) -> Figure:
    """A statistic with its bootstrap interval, drawn within each subset, so that no draw lacks one."""
    if all(one.unit is None for one in results):
        return bootstrap(results, {"it": statistic}, seed, strata=lambda one: one.subset)["it"]
    units: dict[object, list[R]] = {}
    for place, one in enumerate(results):
        units.setdefault(place if one.unit is None else (one.subset, one.unit), []).append(one)
    found = bootstrap(
        list(units.values()),
        {"it": lambda rows: statistic([one for unit in rows for one in unit])},
        seed,
        strata=lambda unit: unit[0].subset,
    )
    return found["it"]


def credited(results: Sequence[R], credit: Callable[[R], float], seed: int) -> Figure:
    """The mean credit: a share with Wilson's interval if every credit is 0 or 1, otherwise with a bootstrap one."""
    credits = [credit(one) for one in results]
    if all(one in (0.0, 1.0) for one in credits):
        return share(int(sum(credits)), len(credits))
    return drawn(results, lambda rows: mean([credit(one) for one in rows]), seed)


def by_subset(results: Iterable[R]) -> dict[str, list[R]]:
    """The results by subset, for the subsets that occur."""
    found: dict[str, list[R]] = {}
    for one in results:
        found.setdefault(one.subset, []).append(one)
    return found


def of_subset(results: Iterable[R], *names: str) -> list[R]:
    """The results of these subsets."""
    return [one for one in results if one.subset in names]


def in_order(results: Iterable[Result], known: Sequence[str] = ()) -> list[str]:
    """The subsets that occur: the known ones in their order, then others by name."""
    found = {one.subset for one in results}
    return [name for name in known if name in found] + sorted(found.difference(known))


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of the defined values; None if there are none."""
    return mean([value for value in values if value is not None])


def harmonic(first: float, second: float) -> float:
    """The harmonic mean, 0 if both are 0."""
    return 2 * first * second / (first + second) if first + second else 0.0
