"""Predicates: claims about points, their canonical form, and their truth in a diagram."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from rewarden_verifiers.geometry.diagrams import Diagram
from rewarden_verifiers.geometry.language import Part, Unread
from rewarden_verifiers.geometry.plane import TOLERANCE, Failed, Point, Real, circumcentre, cross, dot

Names = tuple[str, ...]


class Trivial(Exception):
    """The claim is true, or false, for any points."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim. word: its predicate. names: its points, in written order."""

    word: str
    names: Names

    def __str__(self) -> str:
        return " ".join((self.word, *self.names))


class Predicate(NamedTuple):
    """A predicate. points: the number of its points. holds: decides whether it is true. key: its canonical form,
    without irrelevant order.
    """

    points: int
    holds: Callable[..., bool]
    key: Callable[[Names, Callable[[str, str], Any]], Any]


def fact(part: Part, known: Collection[str]) -> Fact:
    """Converts to a claim about known points. Raises Unread, and Trivial if it repeats a point or compares
    equal sides.
    """
    word = ALIASES.get(part.word, part.word)
    if word == "eqangle" and len(part.arguments) == 8:
        word = "directed_eqangle"
    predicate = PREDICATES.get(word)
    if predicate is None:
        raise Unread(f"there is no predicate {word!r}")
    if len(part.arguments) != predicate.points:
        raise Unread(f"{word} has {predicate.points} points")
    names = []
    for name in part.arguments:
        if not isinstance(name, str) or name not in known:
            raise Unread(f"there is no point {str(name)[:40]!r}")
        names.append(name)
    made = Fact(word, tuple(names))
    _check(made)
    return made


def holds(claim: Fact, diagrams: Sequence[Diagram]) -> bool:
    """Returns whether a claim is true in every diagram. A claim that is undefined in a diagram is false."""
    predicate = PREDICATES[claim.word]
    try:
        return all(predicate.holds(*(diagram[name] for name in claim.names)) for diagram in diagrams)
    except Failed:
        return False


def key(claim: Fact, diagram: Diagram) -> Any:
    """The canonical form of a claim: equal for the same claim with its points in another order, or with other points on
    the same line.
    """

    def through(one: str, other: str) -> frozenset[str]:
        start, direction = diagram[one], diagram[other] - diagram[one]
        return frozenset(
            name
            for name, point in diagram.items()
            if abs(cross(point - start, direction)) <= TOLERANCE * abs(direction) ** 2 * 1000
        )

    return claim.word, PREDICATES[claim.word].key(claim.names, through)


def _check(claim: Fact) -> None:
    names = claim.names
    if claim.word in _ALL_DIFFERENT and len(set(names)) < len(names):
        raise Trivial(f"{claim} repeats a point")
    if claim.word in _PAIRED:
        pairs = _pairs(names)
        if any(one == other for one, other in pairs):
            raise Trivial(f"{claim} has a side of one point")
        sides = [frozenset(pair) for pair in pairs]
        same = (
            sides[0] == sides[1]
            if len(sides) == 2
            else _crossed(sides)[0] == _crossed(sides)[1] or (sides[0] == sides[1] and sides[2] == sides[3])
        )
        if same:
            raise Trivial(f"{claim} compares a side with itself")
    if claim.word in ("eqangle", "simtri", "contri"):
        one, other = names[:3], names[3:]
        if len(set(one)) < 3 or len(set(other)) < 3:
            raise Trivial(f"{claim} repeats a point")
        if one == other or (claim.word == "eqangle" and _angle(one) == _angle(other)):
            raise Trivial(f"{claim} compares an angle or a triangle with itself")


def _pairs(names: Names) -> list[tuple[str, str]]:
    return list(zip(names[::2], names[1::2], strict=True))


def _crossed(items: Sequence[Any]) -> tuple[Any, Any]:
    """The two pairs with equal products in a : b = c : d."""
    a, b, c, d = items
    return _bag(a, d), _bag(b, c)


def _bag(*items: Any) -> tuple[Any, ...]:
    return tuple(sorted(items, key=sorted))


def _angle(names: Names) -> tuple[str, frozenset[str]]:
    return names[1], frozenset((names[0], names[2]))


def _close(one: Real, other: Real) -> bool:
    return bool(abs(one - other) <= TOLERANCE * max(abs(one), abs(other)))


def _side(one: Point, other: Point) -> Point:
    side = other - one
    if not side:
        raise Failed("a side has no length")
    return side


def _flat(one: Point, other: Point) -> bool:
    return bool(abs(cross(one, other)) <= TOLERANCE * abs(one) * abs(other))


def _coll(a: Point, b: Point, c: Point) -> bool:
    return _flat(_side(a, b), _side(a, c))


def _para(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Two different parallel lines."""
    return _flat(_side(a, b), _side(c, d)) and not (_coll_or_equal(a, b, c) and _coll_or_equal(a, b, d))


def _coll_or_equal(a: Point, b: Point, c: Point) -> bool:
    return c in (a, b) or _coll(a, b, c)


def _perp(a: Point, b: Point, c: Point, d: Point) -> bool:
    one, other = _side(a, b), _side(c, d)
    return bool(abs(dot(one, other)) <= TOLERANCE * abs(one) * abs(other))


def _cong(a: Point, b: Point, c: Point, d: Point) -> bool:
    return _close(abs(_side(a, b)), abs(_side(c, d)))


def _cyclic(a: Point, b: Point, c: Point, d: Point) -> bool:
    centre = circumcentre(a, b, c)
    return _close(abs(centre - a), abs(centre - d))


def _circle(o: Point, a: Point, b: Point, c: Point) -> bool:
    return _cong(o, a, o, b) and _cong(o, a, o, c)


def _midp(m: Point, a: Point, b: Point) -> bool:
    return bool(abs(2 * m - a - b) <= TOLERANCE * abs(_side(a, b)))


def _between(b: Point, a: Point, c: Point) -> bool:
    return _coll(a, b, c) and bool(dot(a - b, c - b) < 0)


def _eqangle(a: Point, b: Point, c: Point, d: Point, e: Point, f: Point) -> bool:
    """The angles at b and e, from 0 to 180 degrees, are equal by sine and cosine."""
    one, other = _turned(_side(b, a), _side(b, c)), _turned(_side(e, d), _side(e, f))
    return bool(abs(one.real - other.real) + abs(abs(one.imag) - abs(other.imag)) <= TOLERANCE * 10)


def _directed(*points: Point) -> bool:
    """The rotation from line ab to line cd equals that from ef to gh, whatever the lines' directions."""
    a, b, c, d, e, f, g, h = points
    one, other = _turned(_side(a, b), _side(c, d)), _turned(_side(e, f), _side(g, h))
    return _flat(one, other)


def _turned(one: Point, other: Point) -> Point:
    quotient = other / one
    return quotient / abs(quotient)


def _eqratio(*points: Point) -> bool:
    a, b, c, d, e, f, g, h = points
    return _close(abs(_side(a, b)) * abs(_side(g, h)), abs(_side(c, d)) * abs(_side(e, f)))


def _sides(a: Point, b: Point, c: Point) -> tuple[Real, Real, Real]:
    circumcentre(a, b, c)  # raises if the triangle is flat
    return abs(b - c), abs(c - a), abs(a - b)


def _simtri(*points: Point) -> bool:
    one, other = _sides(*points[:3]), _sides(*points[3:])
    return all(_close(one[i] * other[j], one[j] * other[i]) for i, j in combinations(range(3), 2))


def _contri(*points: Point) -> bool:
    return all(map(_close, _sides(*points[:3]), _sides(*points[3:])))


def _by_lines(names: Names, through: Callable[[str, str], Any]) -> Any:
    return _bag(*(through(one, other) for one, other in _pairs(names)))


def _by_directions(names: Names, through: Callable[[str, str], Any]) -> Any:
    return _both(*_crossed([through(one, other) for one, other in _pairs(names)]))


def _by_lengths(names: Names, _: Any) -> Any:
    return _both(*_crossed([frozenset(pair) for pair in _pairs(names)]))


def _both(one: tuple[Any, ...], other: tuple[Any, ...]) -> Any:
    return tuple(sorted((one, other), key=lambda pair: [sorted(item) for item in pair]))


def _by_triangles(names: Names, _: Any) -> Any:
    one, other = names[:3], names[3:]
    ways = (zip(one, other, strict=True), zip(other, one, strict=True))
    return min(tuple(sorted(way)) for way in ways)


PREDICATES: Mapping[str, Predicate] = {
    "coll": Predicate(3, _coll, lambda names, _: frozenset(names)),
    "para": Predicate(4, _para, _by_lines),
    "perp": Predicate(4, _perp, _by_lines),
    "cong": Predicate(4, _cong, lambda names, _: frozenset(map(frozenset, _pairs(names)))),
    "cyclic": Predicate(4, _cyclic, lambda names, _: frozenset(names)),
    "circle": Predicate(4, _circle, lambda names, _: (names[0], frozenset(names[1:]))),
    "midp": Predicate(3, _midp, lambda names, _: (names[0], frozenset(names[1:]))),
    "between": Predicate(3, _between, lambda names, _: (names[0], frozenset(names[1:]))),
    "eqangle": Predicate(6, _eqangle, lambda names, _: frozenset((_angle(names[:3]), _angle(names[3:])))),
    "directed_eqangle": Predicate(8, _directed, _by_directions),
    "eqratio": Predicate(8, _eqratio, _by_lengths),
    "simtri": Predicate(6, _simtri, _by_triangles),
    "contri": Predicate(6, _contri, _by_triangles),
}

ALIASES: Mapping[str, str] = {
    "collinear": "coll",
    "parallel": "para",
    "perpendicular": "perp",
    "congruent": "cong",
    "concyclic": "cyclic",
    "midpoint": "midp",
}

_ALL_DIFFERENT = ("coll", "cyclic", "circle", "midp", "between")
_PAIRED = ("para", "perp", "cong", "directed_eqangle", "eqratio")
