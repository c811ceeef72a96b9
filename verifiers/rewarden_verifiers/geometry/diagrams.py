"""Diagrams: constructions carried out several times with random choices."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from rewarden_verifiers.geometry.constructions import ALIASES, FIGURES, LOCI, POINTS, Rule, real
from rewarden_verifiers.geometry.language import Clause, Part, Unread
from rewarden_verifiers.geometry.plane import Failed, Point, meet, sample

Diagram = Mapping[str, Point]

DIAGRAMS = 4
"""The number of diagrams in which everything must hold."""
_TRIES = 40
_NEAR = 1e-5
_FAR = 1e4


class Redefined(Exception):
    """A construction defines a point that already exists."""


def check(clauses: Sequence[Clause], known: Sequence[str]) -> list[str]:
    """Returns the points that the constructions add. Raises Unread for an unknown word or point, and Redefined."""
    points = dict.fromkeys(known)
    for clause in clauses:
        for part in clause.parts:
            _check_part(part, clause, points)
        for name in clause.names:
            if name in points:
                raise Redefined(f"the point {name!r} is there already")
            points[name] = None
    return list(points)[len(known) :]


def _check_part(part: Part, clause: Clause, points: Mapping[str, None]) -> None:
    word = ALIASES.get(part.word, part.word)
    if word in FIGURES:
        figure = FIGURES[word]
        numbers = all(isinstance(argument, Fraction) for argument in part.arguments)
        if not numbers or len(part.arguments) not in (0, figure.numbers):
            raise Unread(f"{word} has {figure.numbers or 'no'} numbers, or none")
        if len(clause.names) != figure.points or len(clause.parts) > 1:
            raise Unread(f"{word} gives {figure.points} points")
        return
    rule = POINTS.get(word) or LOCI.get(word)
    if rule is None:
        raise Unread(f"there is no construction {word!r}")
    if len(clause.names) != 1 or len(clause.parts) > (1 if word in POINTS else 2):
        raise Unread(f"{word} gives one point, and a point lies on at most two loci")
    if any(other.word in POINTS for other in clause.parts[1:]):
        raise Unread("only loci can be joined by a comma")
    if len(part.arguments) != len(rule.takes):
        raise Unread(f"{word} has {len(rule.takes)} arguments")
    for kind, argument in zip(rule.takes, part.arguments, strict=True):
        if isinstance(argument, Fraction):
            if kind == "p":
                raise Unread(f"{word} has a number where it has a point")
        elif kind == "n":
            raise Unread(f"{word} has a point where it has a number")
        elif argument not in points:
            raise Unread(f"there is no point {argument!r}")


def drawings(clauses: Sequence[Clause]) -> list[Diagram]:
    """Draws a problem's diagrams. Raises Failed if the constructions fail too often."""
    found: list[Diagram] = []
    error = Failed("the constructions fail")
    for attempt in range(_TRIES):
        try:
            found.append(_drawing(clauses, random.Random(attempt)))
        except Failed as failed:
            error = failed
        if len(found) == DIAGRAMS:
            return found
    raise error


def extended(diagram: Diagram, clauses: Sequence[Clause], seed: int) -> Diagram:
    """Adds constructions to a diagram. Raises Failed if they fail for several random choices."""
    error = Failed("the constructions fail")
    for attempt in range(3):
        try:
            return _carried_out(diagram, clauses, random.Random(f"{seed}/{attempt}"), _size(diagram))
        except Failed as failed:
            error = failed
    raise error


def _drawing(clauses: Sequence[Clause], source: random.Random) -> Diagram:
    made = _carried_out({}, clauses, source, None)
    size = _size(made)
    for place, (name, point) in enumerate(made.items()):
        _check_apart(name, point, list(made.values())[:place], size)
    return made


def _size(diagram: Diagram) -> Any:
    """The largest distance from the first point."""
    first, *others = diagram.values()
    return max((abs(point - first) for point in others), default=1)


def _check_apart(name: str, point: Point, others: Sequence[Point], size: Any) -> None:
    # Coinciding points make every claim about them true.
    if any(abs(point - other) <= _NEAR * size for other in others):
        raise Failed(f"{name} lies on another point")
    # Seen from far away, all distances are equal and all lines parallel, within any tolerance.
    if others and abs(point - others[0]) > _FAR * size:
        raise Failed(f"{name} lies too far away")


def _carried_out(start: Diagram, clauses: Sequence[Clause], source: random.Random, size: Any) -> Diagram:
    points = dict(start)
    for clause in clauses:
        for name, point in zip(clause.names, _results(clause, points, source), strict=True):
            if size is not None:
                _check_apart(name, point, list(points.values()), size)
            points[name] = point
    return points


def _results(clause: Clause, points: Diagram, source: random.Random) -> tuple[Point, ...]:
    part = clause.parts[0]
    word = ALIASES.get(part.word, part.word)
    if word in FIGURES:
        return FIGURES[word].make(source, *map(real, part.arguments))  # type: ignore[arg-type] # `check` saw numbers
    if word in POINTS:
        return (_made(POINTS[word], part, points),)
    loci = [_made(LOCI[ALIASES.get(part.word, part.word)], part, points) for part in clause.parts]
    if len(loci) == 1:
        return (sample(loci[0], source),)
    found = meet(*loci)
    # A line through a point of a circle meets the circle at a second point, which is the one meant: the first exists
    # already.
    new = [one for one in found if all(abs(one - other) > 1e-20 * (1 + abs(one)) for other in points.values())]
    if not new:
        raise Failed(f"{clause.names[0]} does not exist: the loci have no new common point")
    return (new[0] if len(new) == 1 else source.choice(new),)


def _made(rule: Rule, part: Part, points: Diagram) -> Any:
    return rule.make(*(real(one) if isinstance(one, Fraction) else points[one] for one in part.arguments))
