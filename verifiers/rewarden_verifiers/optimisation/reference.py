"""The reference of `optimization`: a problem as data, a baseline, and the best known value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Name = str | int
Kind = Literal["tsp", "knapsack", "bin_packing", "scheduling", "program"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A job of `scheduling`.

    duration: its length. machine: the one machine that can do it; without it, any of `machines`. after: jobs that must
    have ended. release: its earliest start. due: the end from which on it is late. weight: the price of being late.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    duration: float
    machine: str | None = None
    after: tuple[Name, ...] = ()
    release: float = 0.0
    due: float | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The values that a variable of a `program` can have."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    low: float | None = 0.0
    high: float | None = None
    integer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A constraint of a `program`: the sum of the terms, each a variable's factor, against a bound."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    terms: dict[str, float]
    sense: Literal["<=", ">=", "=="]
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizationReference:
    """A problem as data.

    best: the best known value. baseline: the value that earns 0. names: of the cities or items, in their order; without
    them they are numbered from `first`. points, distances: of the cities of `tsp`. weights, values, capacity: of
    `knapsack`, and without values of `bin_packing`. jobs, machines, objective: of `scheduling`. variables, terms,
    constraints, maximize: of `program`; terms are the objective.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    problem: Kind
    best: float
    baseline: float | None = None
    names: tuple[Name, ...] | None = None
    first: int = 0
    points: tuple[tuple[float, float], ...] | None = None
    distances: tuple[tuple[float, ...], ...] | None = None
    weights: tuple[float, ...] | None = None
    values: tuple[float, ...] | None = None
    capacity: float | None = None
    jobs: dict[str, Work] | None = None
    machines: int | None = None
    objective: Literal["makespan", "tardiness"] = "makespan"
    variables: dict[str, Bounds] | None = None
    terms: dict[str, float] | None = None
    constraints: tuple[Constraint, ...] | None = None
    maximize: bool | None = None
