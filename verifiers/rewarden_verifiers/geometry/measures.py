"""Values of a diagram: lengths, angles, areas and ratios, as expressions over points."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

from rewarden_verifiers.geometry.constructions import real
from rewarden_verifiers.geometry.diagrams import Diagram
from rewarden_verifiers.geometry.language import Unread
from rewarden_verifiers.geometry.plane import CONTEXT, Failed, Point, Real, circumcentre, cross, dot

MOST_CHARACTERS = 500


def _angle(a: Point, b: Point, c: Point) -> Real:
    one, other = a - b, c - b
    if not one or not other:
        raise Failed("an angle has a side without length")
    return CONTEXT.degrees(CONTEXT.atan2(abs(cross(one, other)), dot(one, other)))


def _area(*points: Point) -> Real:
    return abs(sum(cross(one, other) for one, other in zip(points, (*points[1:], points[0]), strict=True))) / 2


def _perimeter(*points: Point) -> Real:
    return sum(abs(one - other) for one, other in zip(points, (*points[1:], points[0]), strict=True))


def _radius(a: Point, b: Point, c: Point) -> Real:
    return abs(circumcentre(a, b, c) - a)


def _inradius(a: Point, b: Point, c: Point) -> Real:
    return 2 * _area(a, b, c) / _perimeter(a, b, c)


MEASURES: Mapping[str, tuple[tuple[int, int], Callable[..., Real]]] = {
    "length": ((2, 2), lambda a, b: abs(b - a)),
    "angle": ((3, 3), _angle),
    "area": ((3, 20), _area),
    "perimeter": ((3, 20), _perimeter),
    "radius": ((3, 3), _radius),
    "inradius": ((3, 3), _inradius),
}
"""Each measure's minimum and maximum number of points, and its function. Angles are in degrees."""

_OPERATIONS: Mapping[type, Callable[[Real, Real], Real]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: lambda one, other: one / other,
}
_FUNCTIONS: Mapping[str, Callable[[Real], Real]] = {
    "sqrt": CONTEXT.sqrt,
    "sin": lambda degrees: CONTEXT.sin(CONTEXT.radians(degrees)),
    "cos": lambda degrees: CONTEXT.cos(CONTEXT.radians(degrees)),
    "tan": lambda degrees: CONTEXT.tan(CONTEXT.radians(degrees)),
}


def read(text: str, known: Collection[str]) -> ast.expr:
    """Parses an expression such as `length(a, b) / length(c, d)`. Raises Unread."""
    if len(text) > MOST_CHARACTERS:
        raise Unread("the expression is too long")
    try:
        node = ast.parse(text.strip().lower().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unread(f"{text[:80]!r} is not an expression") from None
    _check(node, known)
    return node


def value(node: ast.expr, diagram: Diagram) -> Real:
    """Evaluates an expression in a diagram. Raises Failed if it has no value."""
    try:
        found = _value(node, diagram)
    except (ArithmeticError, ValueError) as error:
        raise Failed(f"the value does not exist: {error}") from None
    if isinstance(found, CONTEXT.mpc) or not CONTEXT.isfinite(found):
        raise Failed("the value is not a real number")
    return found


def _check(node: ast.expr, known: Collection[str]) -> None:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand, known)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as exponent)) if 0 <= exponent <= 8:
            _check(left, known)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            _check(left, known)
            _check(right, known)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in MEASURES:
            least, most = MEASURES[name][0]
            if not least <= len(arguments) <= most:
                raise Unread(f"{name} has {least} to {most} points")
            for argument in arguments:
                if not isinstance(argument, ast.Name) or argument.id not in known:
                    raise Unread(f"there is no point {ast.unparse(argument)[:40]!r}")
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            _check(inner, known)
        case _:
            raise Unread(f"{ast.unparse(node)[:80]!r} is not a measure, a number or an operation")


def _value(node: ast.expr, diagram: Diagram) -> Any:
    match node:
        case ast.Constant(value=number):
            return real(Fraction(repr(number)))
        case ast.UnaryOp(operand=operand):
            return -_value(operand, diagram)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=exponent)):
            return _value(left, diagram) ** exponent
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_value(left, diagram), _value(right, diagram))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in MEASURES:
            return MEASURES[name][1](*(diagram[ast.unparse(argument)] for argument in arguments))
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            return _FUNCTIONS[name](_value(inner, diagram))
    raise AssertionError(ast.dump(node))
