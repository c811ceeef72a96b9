"""Points of the plane as complex numbers of 60 digits, lines, circles, and their intersections."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath

Real = Any  # mpmath's mpf; it ships no types
Point = Any  # mpmath's mpc

CONTEXT = mpmath.MPContext()
"""A separate context, so that no global precision changes."""
CONTEXT.dps = 60
TOLERANCE = CONTEXT.mpf(10) ** -30
"""The largest relative error at which values count as equal."""
_TANGENT = CONTEXT.mpf(10) ** -40
_BITS = 192


class Failed(Exception):
    """The construction has no result in this diagram; the message says why."""


@dataclass(frozen=True)
class Line:
    """A line, or the part of it for which base + t * direction has low < t < high."""

    base: Point
    direction: Point
    low: Real = None
    high: Real = None


@dataclass(frozen=True)
class Circle:
    """A circle."""

    centre: Point
    radius: Real


Locus = Line | Circle


def cross(one: Point, other: Point) -> Real:
    """Twice the signed area that two vectors span."""
    return one.real * other.imag - one.imag * other.real


def dot(one: Point, other: Point) -> Real:
    """The scalar product of two vectors."""
    return one.real * other.real + one.imag * other.imag


def drawn(source: random.Random, low: float, high: float) -> Real:
    """A random number with random digits throughout, so that nothing holds because of rounding."""
    return low + (CONTEXT.mpf(high) - low) * source.getrandbits(_BITS) / 2**_BITS


def turn(degrees: Real) -> Point:
    """The unit vector at an angle."""
    return CONTEXT.expjpi(degrees / CONTEXT.mpf(180))


def line(one: Point, other: Point, low: Real = None, high: Real = None) -> Line:
    """The line through two points. Raises Failed if they are equal."""
    if one == other:
        raise Failed("a line needs two different points")
    return Line(one, other - one, low, high)


def foot(point: Point, along: Line) -> Point:
    """The point of a line that is closest to a point."""
    direction = along.direction
    return along.base + direction * (dot(point - along.base, direction) / dot(direction, direction))


def circumcentre(one: Point, two: Point, three: Point) -> Point:
    """The centre of the circle through three points. Raises Failed if they lie on a line."""
    first, second = two - one, three - one
    twice = 2 * cross(first, second)
    if abs(twice) <= TOLERANCE * abs(first) * abs(second):
        raise Failed("three points on a line have no circle")
    return one + (second * abs(first) ** 2 - first * abs(second) ** 2) * CONTEXT.mpc(0, 1) / -twice


def meet(one: Locus, other: Locus) -> list[Point]:
    """The common points of two loci; empty if they do not meet or are equal."""
    if isinstance(one, Circle):
        one, other = other, one
    if isinstance(one, Circle):
        assert isinstance(other, Circle)
        return _circles(one, other)
    if isinstance(other, Circle):
        return _within(_line_circle(one, other), one)
    return _within(_within(_lines(one, other), one), other)


def sample(locus: Locus, source: random.Random) -> Point:
    """A random point of a locus."""
    if isinstance(locus, Circle):
        return locus.centre + locus.radius * turn(drawn(source, 0, 360))
    low = -1 if locus.low is None else 0
    place = drawn(source, 0.1, 0.9) if locus.high is not None else drawn(source, low + 0.1, 2)
    return locus.base + locus.direction * place


def _within(points: Sequence[Point], along: Line) -> list[Point]:
    kept = []
    for point in points:
        place = dot(point - along.base, along.direction) / abs(along.direction) ** 2
        if (along.low is None or place > along.low) and (along.high is None or place < along.high):
            kept.append(point)
    return kept


def _lines(one: Line, other: Line) -> list[Point]:
    between = cross(one.direction, other.direction)
    if abs(between) <= TOLERANCE * abs(one.direction) * abs(other.direction):
        return []
    return [one.base + one.direction * (cross(other.base - one.base, other.direction) / between)]


def _line_circle(along: Line, circle: Circle) -> list[Point]:
    nearest = foot(circle.centre, along)
    square = circle.radius**2 - abs(nearest - circle.centre) ** 2
    # Rounding alone would separate a tangent from its circle, or give it two points.
    if abs(square) <= _TANGENT * circle.radius**2:
        return [nearest]
    if square < 0:
        return []
    half = along.direction * (CONTEXT.sqrt(square) / abs(along.direction))
    return [nearest + half, nearest - half]


def _circles(one: Circle, other: Circle) -> list[Point]:
    between = other.centre - one.centre
    distance = abs(between)
    if distance <= TOLERANCE * (one.radius + other.radius):
        return []
    place = (distance**2 + one.radius**2 - other.radius**2) / (2 * distance**2)
    return _line_circle(Line(one.centre + between * place, between * CONTEXT.mpc(0, 1)), one)
