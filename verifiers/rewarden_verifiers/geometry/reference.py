"""The reference of `geometry`: a problem, and the question about its diagram."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden_verifiers.geometry import measures, predicates
from rewarden_verifiers.geometry.diagrams import Diagram, Redefined, check, drawings, extended
from rewarden_verifiers.geometry.language import Clause, Part, TooMuch, Unread, claims, clauses, joined
from rewarden_verifiers.geometry.plane import CONTEXT, Failed, Real
from rewarden_verifiers.geometry.predicates import Fact, Trivial

_CONSTANT = CONTEXT.mpf(10) ** -25


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometryReference:
    """A problem of plane geometry.

    constructions: the given points, in order. ask: what the response must give: the `value` of an expression, `claims`
    that hold, or a `construction` of further points. value: the expression. facts: the expected claims. goals: claims
    that must hold for the points that the response constructs. solution: constructions that meet the goals, as proof
    that it is possible.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    constructions: tuple[str, ...]
    ask: Literal["value", "claims", "construction"]
    value: str | None = None
    facts: tuple[str, ...] | None = None
    goals: tuple[str, ...] | None = None
    solution: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """A parsed reference with its diagrams.

    measure, value: for `value`. expected: for `claims`, the facts by canonical form. goals, wanted: for `construction`,
    the goals and the points to construct.
    """

    ask: str
    diagrams: Sequence[Diagram]
    measure: ast.expr | None = None
    value: Real = None
    expected: frozenset[Any] = frozenset()
    goals: Sequence[Part] = ()
    wanted: frozenset[str] = frozenset()

    @property
    def points(self) -> tuple[str, ...]:
        """The given points."""
        return tuple(self.diagrams[0])


def problem_of(reference: GeometryReference) -> Problem:
    """Parses a reference. Raises InvalidReference naming the field."""
    needed = {"value": "value", "claims": "facts", "construction": "goals"}
    for ask, field in needed.items():
        if (getattr(reference, field) is not None) is not (ask == reference.ask):
            told = f"{reference.ask!r} is asked with {needed[reference.ask]}, and with no other field"
            raise InvalidReference(told, path=f"reference.{field}")
    if reference.solution is not None and reference.ask != "construction":
        raise InvalidReference("only a construction has a solution", path="reference.solution")
    given = _clauses(reference.constructions, (), "reference.constructions")
    try:
        diagrams = drawings(given)
    except Failed as error:
        raise InvalidReference(f"no diagram can be drawn: {error}", path="reference.constructions") from None
    if reference.value is not None:
        return _valued(reference.value, diagrams)
    if reference.facts is not None:
        return _claimed(reference.facts, diagrams)
    assert reference.goals is not None
    return _constructed(reference.goals, reference.solution, diagrams)


def _clauses(texts: Sequence[str], known: Sequence[str], path: str) -> list[Clause]:
    try:
        found = clauses(joined(texts))
        if not check(found, known):
            raise Unread("there are no constructions")
    except (Unread, TooMuch, Redefined) as error:
        raise InvalidReference(str(error), path=path) from None
    return found


def _valued(text: str, diagrams: Sequence[Diagram]) -> Problem:
    path = "reference.value"
    try:
        measure = measures.read(text, tuple(diagrams[0]))
        values = [measures.value(measure, diagram) for diagram in diagrams]
    except (Unread, Failed) as error:
        raise InvalidReference(str(error), path=path) from None
    if any(abs(value - values[0]) > _CONSTANT * (1 + abs(values[0])) for value in values):
        raise InvalidReference("the value is not the same in all diagrams", path=path)
    return Problem("value", diagrams, measure=measure, value=values[0])


def _claimed(texts: Sequence[str], diagrams: Sequence[Diagram]) -> Problem:
    path = "reference.facts"
    known = tuple(diagrams[0])
    try:
        facts = [predicates.fact(part, known) for part in claims(joined(texts))]
    except (Unread, TooMuch, Trivial) as error:
        raise InvalidReference(str(error), path=path) from None
    for fact in facts:
        if not predicates.holds(fact, diagrams):
            raise InvalidReference(f"{fact} does not hold", path=path)
    expected = frozenset(predicates.key(fact, diagrams[0]) for fact in facts)
    if not facts or len(expected) < len(facts):
        raise InvalidReference("there are no facts, or one is listed twice", path=path)
    return Problem("claims", diagrams, expected=expected)


def _constructed(texts: Sequence[str], solution: Sequence[str] | None, diagrams: Sequence[Diagram]) -> Problem:
    path = "reference.goals"
    given = tuple(diagrams[0])
    try:
        goals = claims(joined(texts))
        named = dict.fromkeys(name for goal in goals for name in goal.arguments if isinstance(name, str))
        wanted = [name for name in named if name not in given]
        facts = [predicates.fact(goal, (*given, *wanted)) for goal in goals]
    except (Unread, TooMuch, Trivial) as error:
        raise InvalidReference(str(error), path=path) from None
    for fact in facts:
        if all(name in given for name in fact.names):
            raise InvalidReference(f"{fact} says nothing about a point to construct", path=path)
    if not facts:
        raise InvalidReference("there are no goals", path=path)
    anywhere = [Clause((name,), (Part("free", ()),)) for name in wanted]
    if solution is not None:
        _solve(_clauses(solution, given, "reference.solution"), facts, wanted, diagrams)
    try:
        drawn = [extended(diagram, anywhere, seed) for seed, diagram in enumerate(diagrams)]
    except Failed:
        drawn = []
    # If random points meet the goals, any construction would earn full marks.
    if drawn and all(predicates.holds(fact, drawn) for fact in facts):
        raise InvalidReference("the goals hold for any points", path=path)
    return Problem("construction", diagrams, goals=goals, wanted=frozenset(wanted))


def _solve(
    solution: Sequence[Clause], facts: Sequence[Fact], wanted: Sequence[str], diagrams: Sequence[Diagram]
) -> None:
    path = "reference.solution"
    made = {name for clause in solution for name in clause.names}
    if not made.issuperset(wanted):
        raise InvalidReference("a point of the goals is not constructed", path=path)
    try:
        drawn = [extended(diagram, solution, seed) for seed, diagram in enumerate(diagrams)]
    except Failed as error:
        raise InvalidReference(str(error), path=path) from None
    for fact in facts:
        if not predicates.holds(fact, drawn):
            raise InvalidReference(f"{fact} does not hold", path=path)
