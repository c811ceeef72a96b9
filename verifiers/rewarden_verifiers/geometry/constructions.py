"""The constructions: figures of new points, single points, and loci that contain a point."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from rewarden_verifiers.geometry.plane import (
    CONTEXT,
    TOLERANCE,
    Circle,
    Failed,
    Line,
    Point,
    Real,
    circumcentre,
    cross,
    drawn,
    foot,
    line,
    meet,
    turn,
)

_I = CONTEXT.mpc(0, 1)


class Figure(NamedTuple):
    """New points in a random position. points: their number. numbers: how many lengths may be given; giving none is
    also allowed.
    """

    points: int
    numbers: int
    make: Callable[..., tuple[Point, ...]]


class Rule(NamedTuple):
    """A point or a locus. takes: `p` for each point, `n` for each number, `r` for a point or a radius."""

    takes: str
    make: Callable[..., Any]


def real(number: Fraction) -> Real:
    """Converts a number to full precision."""
    return CONTEXT.mpf(number.numerator) / number.denominator


def _placed(source: random.Random, *points: Point) -> tuple[Point, ...]:
    """Moves and rotates the points at random, so that no claim holds merely because of their position."""
    by, at = turn(drawn(source, 0, 360)), CONTEXT.mpc(drawn(source, -3, 3), drawn(source, -3, 3))
    return tuple(at + by * point for point in points)


def _length(number: Real) -> Real:
    if number <= 0:
        raise Failed("a length must be above 0")
    return number


def _chosen(number: Real, source: random.Random, low: float, high: float) -> Real:
    return drawn(source, low, high) if number is None else _length(number)


def _free(source: random.Random) -> tuple[Point, ...]:
    return (CONTEXT.mpc(drawn(source, -4, 4), drawn(source, -4, 4)),)


def _segment(source: random.Random, length: Real = None) -> tuple[Point, ...]:
    return _placed(source, CONTEXT.mpc(0), CONTEXT.mpc(_chosen(length, source, 2, 5)))


def _triangle(source: random.Random, a: Real = None, b: Real = None, c: Real = None) -> tuple[Point, ...]:
    """A triangle, given the sides opposite to the points; by default with three different sides and no angle close to 0
    or 90 degrees.
    """
    if a is None:
        length, left, right = drawn(source, 3, 5), drawn(source, 38, 58), drawn(source, 62, 80)
        apex = meet(Line(CONTEXT.mpc(0), turn(left)), Line(CONTEXT.mpc(length), turn(180 - right)))[0]
        return _placed(source, CONTEXT.mpc(0), CONTEXT.mpc(length), apex)
    a, b, c = _length(a), _length(b), _length(c)
    across = (b * b + c * c - a * a) / (2 * c)
    square = b * b - across * across
    if square <= TOLERANCE * b * b:
        raise Failed("no triangle has these sides")
    return _placed(source, CONTEXT.mpc(0), CONTEXT.mpc(c), CONTEXT.mpc(across, CONTEXT.sqrt(square)))


def _right_triangle(source: random.Random, b: Real = None, c: Real = None) -> tuple[Point, ...]:
    """The right angle is at the first point. The lengths are those of the legs to the second and the third."""
    first = _chosen(b, source, 2, 3)
    second = _chosen(c, source, 3.5, 5)
    return _placed(source, CONTEXT.mpc(0), CONTEXT.mpc(first), CONTEXT.mpc(0, second))


def _isosceles(source: random.Random, leg: Real = None, base: Real = None) -> tuple[Point, ...]:
    """The legs meet at the first point."""
    leg = _chosen(leg, source, 3, 4)
    base = _chosen(base, source, 2, 2.8)
    return _triangle(source, base, leg, leg)


def _equilateral(source: random.Random, side: Real = None) -> tuple[Point, ...]:
    side = _chosen(side, source, 2, 4)
    return _triangle(source, side, side, side)


def _rectangle(source: random.Random, width: Real = None, height: Real = None) -> tuple[Point, ...]:
    width, height = _chosen(width, source, 3.5, 5), _chosen(height, source, 2, 3)
    return _placed(source, *(CONTEXT.mpc(x, y) for x, y in ((0, 0), (width, 0), (width, height), (0, height))))


def _square(source: random.Random, side: Real = None) -> tuple[Point, ...]:
    side = _chosen(side, source, 2, 4)
    return _rectangle(source, side, side)


def _parallelogram(source: random.Random) -> tuple[Point, ...]:
    a, b, c = _triangle(source)
    return a, b, c, a + c - b


def _trapezoid(source: random.Random) -> tuple[Point, ...]:
    """The side between the first two points is parallel to that between the others."""
    a, b, c, d = _parallelogram(source)
    return a, b, c, c + (d - c) * drawn(source, 0.4, 0.7)


def _quadrilateral(source: random.Random) -> tuple[Point, ...]:
    """A convex one."""
    a, b, c = _triangle(source)
    middle = (a + c) / 2
    return a, b, c, middle + (middle - b) * drawn(source, 0.6, 0.9) + (c - a) * drawn(source, 0.05, 0.25)


FIGURES: Mapping[str, Figure] = {
    "free": Figure(1, 0, _free),
    "segment": Figure(2, 1, _segment),
    "triangle": Figure(3, 3, _triangle),
    "right_triangle": Figure(3, 2, _right_triangle),
    "isosceles": Figure(3, 2, _isosceles),
    "equilateral": Figure(3, 1, _equilateral),
    "square": Figure(4, 1, _square),
    "rectangle": Figure(4, 2, _rectangle),
    "parallelogram": Figure(4, 0, _parallelogram),
    "trapezoid": Figure(4, 0, _trapezoid),
    "quadrilateral": Figure(4, 0, _quadrilateral),
}


def _weighted(points: tuple[Point, ...], weights: tuple[Real, ...]) -> Point:
    total = sum(weights)
    if abs(total) <= TOLERANCE * max(map(abs, weights)):
        raise Failed("there is no such centre")
    return sum(weight * point for weight, point in zip(weights, points, strict=True)) / total


def _incentre(a: Point, b: Point, c: Point) -> Point:
    circumcentre(a, b, c)  # raises for collinear points
    return _weighted((a, b, c), (abs(b - c), abs(c - a), abs(a - b)))


def _excentre(a: Point, b: Point, c: Point) -> Point:
    circumcentre(a, b, c)
    return _weighted((a, b, c), (-abs(b - c), abs(c - a), abs(a - b)))


def _along(a: Point, b: Point, length: Real) -> Point:
    along = line(a, b)
    return a + along.direction * (length / abs(along.direction))


def _reflected(point: Point, a: Point, b: Point) -> Point:
    return 2 * foot(point, line(a, b)) - point


def _crossing(a: Point, b: Point, c: Point, d: Point) -> Point:
    found = meet(line(a, b), line(c, d))
    if not found:
        raise Failed("the lines are parallel")
    return found[0]


POINTS: Mapping[str, Rule] = {
    "point": Rule("nn", lambda x, y: CONTEXT.mpc(x, y)),
    "midpoint": Rule("pp", lambda a, b: (a + b) / 2),
    "foot": Rule("ppp", lambda p, a, b: foot(p, line(a, b))),
    "intersection": Rule("pppp", _crossing),
    "circumcenter": Rule("ppp", circumcentre),
    "incenter": Rule("ppp", _incentre),
    "excenter": Rule("ppp", _excentre),
    "centroid": Rule("ppp", lambda a, b, c: (a + b + c) / 3),
    "orthocenter": Rule("ppp", lambda a, b, c: a + b + c - 2 * circumcentre(a, b, c)),
    "reflect": Rule("ppp", _reflected),
    "mirror": Rule("pp", lambda p, o: 2 * o - p),
    "translate": Rule("ppp", lambda p, a, b: p + b - a),
    "rotate": Rule("ppn", lambda p, o, degrees: o + (p - o) * turn(degrees)),
    "along": Rule("ppn", _along),
    "divide": Rule("ppn", lambda a, b, share: a + (b - a) * share),
}


def _circle(centre: Point, through: Point | Real) -> Circle:
    radius = abs(through - centre) if isinstance(through, CONTEXT.mpc) else _length(through)
    if not radius:
        raise Failed("a circle needs a radius")
    return Circle(centre, radius)


def _circumcircle(a: Point, b: Point, c: Point) -> Circle:
    centre = circumcentre(a, b, c)
    return Circle(centre, abs(a - centre))


def _bisector(a: Point, b: Point, c: Point) -> Line:
    first, second = line(b, a).direction, line(b, c).direction
    direction = first / abs(first) + second / abs(second)
    if abs(cross(first, second)) <= TOLERANCE * abs(first) * abs(second):
        raise Failed("the angle is flat")
    return Line(b, direction, CONTEXT.mpf(0))


LOCI: Mapping[str, Rule] = {
    "on_line": Rule("pp", line),
    "on_segment": Rule("pp", lambda a, b: line(a, b, CONTEXT.mpf(0), CONTEXT.mpf(1))),
    "on_ray": Rule("pp", lambda a, b: line(a, b, CONTEXT.mpf(0))),
    "on_circle": Rule("pr", _circle),
    "on_circum": Rule("ppp", _circumcircle),
    "on_diameter": Rule("pp", lambda a, b: _circle((a + b) / 2, a)),
    "on_parallel": Rule("ppp", lambda p, a, b: Line(p, line(a, b).direction)),
    "on_perpendicular": Rule("ppp", lambda p, a, b: Line(p, line(a, b).direction * _I)),
    "on_perpendicular_bisector": Rule("pp", lambda a, b: Line((a + b) / 2, line(a, b).direction * _I)),
    "on_angle_bisector": Rule("ppp", _bisector),
}


ALIASES: Mapping[str, str] = {
    "circumcentre": "circumcenter",
    "incentre": "incenter",
    "excentre": "excenter",
    "orthocentre": "orthocenter",
    "trapezium": "trapezoid",
    "on_pline": "on_parallel",
    "on_tline": "on_perpendicular",
    "on_bline": "on_perpendicular_bisector",
    "on_dia": "on_diameter",
    "angle_bisector": "on_angle_bisector",
}
