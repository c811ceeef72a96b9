"""Problems: compute the value of a solution or the rule that it breaks, and the value of a trivial solution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

from rewarden.errors import InvalidReference
from rewarden_verifiers.graphs import written
from rewarden_verifiers.graphs.checks import Infeasible
from rewarden_verifiers.graphs.written import Unread
from rewarden_verifiers.optimisation.reference import Bounds, Constraint, OptimizationReference, Work

T = TypeVar("T")

MOST_ITEMS = 1_000
MOST_TERMS = 100_000
"""The maximum number of coefficients in all constraints of a program."""
_MOST = 1e12
"""The largest number in a reference, so that sums are finite."""
CLOSE = 1e-9
"""The relative tolerance for comparing sums."""

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "tsp": ("names", "points", "distances"),
    "knapsack": ("names", "weights", "values", "capacity"),
    "bin_packing": ("names", "weights", "capacity"),
    "scheduling": ("jobs", "machines"),
    "program": ("variables", "terms", "constraints", "maximize"),
}
_EVERY = tuple(dict.fromkeys(name for names in _FIELDS.values() for name in names))


class Problem(Protocol):
    """A problem. largest: whether values are maximised. trivial: the value of an effortless solution, if there
    is one.
    """

    @property
    def largest(self) -> bool:
        """See the class."""

    @property
    def trivial(self) -> float | None:
        """See the class."""

    def value(self, text: str) -> float:
        """The value of the solution in a text. Raises Unread and Infeasible."""


@dataclass(frozen=True, eq=False)
class Tour:
    """A tour that visits every city once and returns. rows: the distances from each city; by default, those between the
    points.
    """

    places: Mapping[str, int]
    points: Sequence[tuple[float, float]]
    rows: Sequence[Sequence[float]] | None
    largest: bool = False

    @property
    def trivial(self) -> float:
        """The length of the tour in the given order."""
        return self._length([*self.places])

    def value(self, text: str) -> float:
        """The length. Raises Unread and Infeasible."""
        found = written.nodes(text, self.places)
        if len(found) > 1 and found[0] == found[-1]:
            found.pop()
        if sorted(found) != sorted(self.places):
            raise Infeasible("every city must be visited once")
        return self._length(found)

    def _length(self, order: Sequence[str]) -> float:
        steps = pairwise([self.places[name] for name in (*order, order[0])])
        if self.rows is not None:
            return math.fsum(self.rows[one][other] for one, other in steps)
        return math.fsum(math.dist(self.points[one], self.points[other]) for one, other in steps)


@dataclass(frozen=True, eq=False)
class Knapsack:
    """Items within a capacity."""

    weights: Mapping[str, float]
    values: Mapping[str, float]
    capacity: float
    largest: bool = True
    trivial: float = 0.0

    def value(self, text: str) -> float:
        """The value of the items. Raises Unread and Infeasible."""
        found = [] if text in ("[]", "{}") else written.nodes(text, self.weights)
        if len(set(found)) < len(found):
            raise Infeasible("an item is taken twice")
        for name in found:
            if name not in self.weights:
                raise Infeasible(f"{name[:40]!r} is not an item")
        if not _at_most(math.fsum(self.weights[name] for name in found), self.capacity):
            raise Infeasible("the items are heavier than the capacity")
        return math.fsum(self.values[name] for name in found)


@dataclass(frozen=True, eq=False)
class Bins:
    """A bin for every item."""

    weights: Mapping[str, float]
    capacity: float
    largest: bool = False

    @property
    def trivial(self) -> float:
        """The value of one bin per item."""
        return float(len(self.weights))

    def value(self, text: str) -> float:
        """The number of bins. Raises Unread and Infeasible."""
        bins = [one for one in written.groups(text) if one]
        if sorted(name for one in bins for name in one) != sorted(self.weights):
            raise Infeasible("every item must be in one bin")
        for place, one in enumerate(bins):
            if not _at_most(math.fsum(self.weights[name] for name in one), self.capacity):
                raise Infeasible(f"bin {place + 1} holds more than its capacity")
        return float(len(bins))


@dataclass(frozen=True, eq=False)
class Schedule:
    """A start for each job."""

    jobs: Mapping[str, Work]
    machines: int | None
    tardiness: bool
    largest: bool = False

    @property
    def trivial(self) -> float | None:
        """The value of running one job after the other; None if the objective is lateness."""
        return None if self.tardiness else self.horizon

    @property
    def horizon(self) -> float:
        """The end of the last job if they run one after the other."""
        return max(job.release for job in self.jobs.values()) + math.fsum(job.duration for job in self.jobs.values())

    def value(self, text: str) -> float:
        """The end of the last job, or the total price of late jobs. Raises Unread and Infeasible."""
        starts = _numbers(text, self.jobs, "job")
        ends = {name: start + self.jobs[name].duration for name, start in starts.items()}
        # Relative to the jobs' own times. Attack: a job that starts in a million years, so that rounding hides any
        # overlap.
        slack = CLOSE * self.horizon
        for name, job in self.jobs.items():
            if starts[name] < job.release - slack:
                raise Infeasible(f"{name[:40]!r} starts before its release")
            for other in map(str, job.after):
                if starts[name] < ends[other] - slack:
                    raise Infeasible(f"{name[:40]!r} starts before the end of {other[:40]!r}")
        self._fit(starts, ends, slack)
        if not self.tardiness:
            return max(ends.values())
        late = ((job, ends[name] - job.due) for name, job in self.jobs.items() if job.due is not None)
        return math.fsum(job.weight * delay for job, delay in late if delay > slack)

    def _fit(self, starts: Mapping[str, float], ends: Mapping[str, float], slack: float) -> None:
        """Raises Infeasible if more jobs run at once than there are machines."""
        for machine in dict.fromkeys(job.machine for job in self.jobs.values()):
            names = [name for name, job in self.jobs.items() if job.machine == machine]
            most = 1 if machine is not None else self.machines
            if most is None:
                continue
            # Up to rounding, a job ends before the next one starts. A job without duration blocks nothing.
            events = [(starts[name] + slack, 1) for name in names] + [(ends[name], -1) for name in names]
            running = 0
            for _, change in sorted(events):
                running += change
                if running > most:
                    told = "at once" if machine is None else f"at once on {machine[:40]!r}"
                    raise Infeasible(f"more jobs than machines run {told}")


@dataclass(frozen=True, eq=False)
class Program:
    """A linear program, with some variables optionally restricted to whole numbers."""

    variables: Mapping[str, Bounds]
    terms: Mapping[str, float]
    constraints: Sequence[Constraint]
    largest: bool
    tolerance: float
    trivial: None = None

    def value(self, text: str) -> float:
        """The value of the objective. Raises Unread and Infeasible."""
        found = _numbers(text, self.variables, "variable")
        for name, bounds in self.variables.items():
            number = found[name]
            slack = self.tolerance * max(1.0, abs(number))
            if bounds.integer and number != round(number):
                raise Infeasible(f"{name[:40]!r} must be a whole number")
            if (bounds.low is not None and number < bounds.low - slack) or (
                bounds.high is not None and number > bounds.high + slack
            ):
                raise Infeasible(f"{name[:40]!r} is out of its bounds")
        for place, constraint in enumerate(self.constraints):
            parts = [factor * found[name] for name, factor in constraint.terms.items()]
            # Attack: huge values with opposite signs, so that rounding hides any violation.
            slack = self.tolerance * max(1.0, abs(constraint.bound))
            over = math.fsum(parts) - constraint.bound
            if (constraint.sense != ">=" and over > slack) or (constraint.sense != "<=" and over < -slack):
                raise Infeasible(f"constraint {place + 1} is violated")
        return math.fsum(factor * found[name] for name, factor in self.terms.items())


def problem_of(reference: OptimizationReference, tolerance: float) -> Problem:
    """Returns the problem of a reference. Raises InvalidReference naming the field."""
    kind = reference.problem
    for name in _EVERY:
        if getattr(reference, name) is not None and name not in _FIELDS[kind]:
            raise InvalidReference(f"{name} does not belong to {kind}", path=f"reference.{name}")
    if kind == "tsp":
        return _tour(reference)
    if kind == "scheduling":
        return _schedule(reference)
    if kind == "program":
        return _program(reference, tolerance)
    weights = _named(reference, "weights")
    capacity = _needed(reference.capacity, "capacity", kind)
    if not 0 <= capacity <= _MOST:
        raise InvalidReference("capacity must be finite and at least 0", path="reference.capacity")
    if kind == "knapsack":
        return Knapsack(weights, _named(reference, "values"), capacity)
    if max(weights.values()) > capacity:
        raise InvalidReference("an item is larger than a bin", path="reference.weights")
    return Bins(weights, capacity)


def _tour(reference: OptimizationReference) -> Tour:
    points, distances = reference.points, reference.distances
    if (points is None) == (distances is None):
        raise InvalidReference("tsp needs either points or distances", path="reference.points")
    path = "reference.points" if points is not None else "reference.distances"
    size = len(points if points is not None else distances or ())
    names = _names(reference, size, path)
    if not all(math.isfinite(number) and abs(number) <= _MOST for point in points or () for number in point):
        raise InvalidReference("points must be finite", path=path)
    for row in distances or ():
        if len(row) != size or not all(0 <= one <= _MOST for one in row):
            raise InvalidReference("distances is a square of finite numbers of at least 0", path=path)
    return Tour({name: place for place, name in enumerate(names)}, points or (), distances)


def _schedule(reference: OptimizationReference) -> Schedule:
    jobs = {name.strip(): job for name, job in _needed(reference.jobs, "jobs", "scheduling").items()}
    if not 1 <= len(jobs) <= MOST_ITEMS:
        raise InvalidReference(f"there must be 1 to {MOST_ITEMS} jobs", path="reference.jobs")
    for name, job in jobs.items():
        numbers = (job.duration, job.release, job.weight, job.due or 0.0)
        if not all(abs(one) <= _MOST for one in numbers) or min(job.duration, job.release, job.weight) < 0:
            raise InvalidReference("times and weights must be finite and at least 0", path=f"reference.jobs.{name}")
        if not {*map(str, job.after)} <= jobs.keys() - {name}:
            raise InvalidReference("after names other jobs", path=f"reference.jobs.{name}.after")
    if reference.machines is not None and reference.machines < 1:
        raise InvalidReference("machines must be at least 1", path="reference.machines")
    return Schedule(jobs, reference.machines, reference.objective == "tardiness")


def _program(reference: OptimizationReference, tolerance: float) -> Program:
    variables = _needed(reference.variables, "variables", "program")
    terms = _needed(reference.terms, "terms", "program")
    constraints = reference.constraints or ()
    if not 1 <= len(variables) <= MOST_ITEMS or sum(len(one.terms) for one in constraints) > MOST_TERMS:
        raise InvalidReference(f"a program has 1 to {MOST_ITEMS} variables, and {MOST_TERMS} factors", path="reference")
    for path, factors in [("terms", terms)] + [(f"constraints[{n}]", one.terms) for n, one in enumerate(constraints)]:
        if not factors.keys() <= variables.keys() or not all(abs(one) <= _MOST for one in factors.values()):
            raise InvalidReference("factors are finite, and of variables of the program", path=f"reference.{path}")
    if not all(abs(one.bound) <= _MOST for one in constraints):
        raise InvalidReference("bounds must be finite", path="reference.constraints")
    return Program(variables, terms, constraints, bool(reference.maximize), tolerance)


def _named(reference: OptimizationReference, field: str) -> dict[str, float]:
    numbers: Sequence[float] = _needed(getattr(reference, field), field, reference.problem)
    names = _names(reference, len(reference.weights or ()), "reference.weights")
    if len(numbers) != len(names) or not all(0 <= one <= _MOST for one in numbers):
        raise InvalidReference(f"{field} must be finite and at least 0, one for each item", path=f"reference.{field}")
    return dict(zip(names, numbers, strict=True))


def _names(reference: OptimizationReference, size: int, path: str) -> list[str]:
    if not 1 <= size <= MOST_ITEMS:
        raise InvalidReference(f"there must be 1 to {MOST_ITEMS} cities or items", path=path)
    if reference.names is None:
        return [str(reference.first + place) for place in range(size)]
    names = [str(name).strip() for name in reference.names]
    if len(names) != size or len(set(names)) < size or "" in names:
        raise InvalidReference(f"there must be {size} names, all different", path="reference.names")
    return names


def _needed(value: T | None, field: str, kind: str) -> T:
    if value is None:
        raise InvalidReference(f"{kind} needs {field}", path=f"reference.{field}")
    return value


def _numbers(text: str, names: Mapping[str, object], what: str) -> dict[str, float]:
    """Parses a number for each name. Raises Unread and Infeasible."""
    found = written.assignment(text, numbers=True)
    if found.keys() != {*names}:
        raise Infeasible(f"every {what} needs one number, and nothing else has one")
    numbers = {name: written.number(value) for name, value in found.items()}
    if max(map(abs, numbers.values())) > 1e15:
        raise Unread("a number is too large")
    return numbers


def _at_most(total: float, limit: float) -> bool:
    return total <= limit * (1 + CLOSE)
