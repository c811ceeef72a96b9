"""Sets of real numbers as sorted, disjoint pieces: intervals, inequalities, unions, differences, points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from rewarden_verifiers.answer.math.limits import Budget
from rewarden_verifiers.answer.math.numeric import Undefined
from rewarden_verifiers.answer.math.scalars import evaluator
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Builder,
    Call,
    Conditioned,
    Constant,
    Group,
    Listing,
    Membership,
    NamedSet,
    Negation,
    Node,
    PlusMinus,
    Relation,
    SetOperation,
    Symbol,
    free_symbols,
)
from rewarden_verifiers.answer.math.words import EITHER

_DIGITS = 40
_COMPLEX = frozenset({"z", "w"})
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


class NoRegion(Exception):
    """The node is not a set of real numbers with computable ends."""


@dataclass(slots=True)
class End:
    """One end of a piece: its value for ordering and its node for comparison; infinite ends have no node."""

    value: Any
    node: Node | None
    closed: bool


@dataclass(slots=True)
class Piece:
    """From `low` to `high`; a point where both are the same closed value."""

    low: End
    high: End


Region = list[Piece]


def is_interval(node: Node) -> bool:
    """Returns whether brackets contain two items, and so can be an interval."""
    return isinstance(node, Group) and len(node.items) == 2


def is_region(node: Node) -> bool:
    """Returns whether a node can only mean a set of reals: an inequality, a union, half-open brackets, or a
    condition.
    """
    match node:
        case Relation(operators=operators):
            return any(operator in "<=>=!=" and operator != "=" for operator in operators) and "~" not in operators
        case SetOperation() | Builder() | NamedSet():
            return True
        case Membership(container=container):
            return is_region(container) or is_interval(container)
        case Group(opening=opening, closing=closing, items=items):
            return len(items) == 2 and (opening, closing) in {
                ("(", "]"),
                ("[", ")"),
                ("]", "["),
                ("]", "]"),
                ("[", "["),
            }
        case Listing(items=items):
            return any(is_region(item) for item in items)
        case _:
            return False


def region(node: Node, budget: Budget, variable: str | None = None, *, together: bool = False) -> Region:
    """The set of reals that a node describes. Raises NoRegion. `together`: the conditions of a list hold at once, even
    if nothing remains.
    """
    match node:
        case Group(opening=opening, items=(low, high), closing=closing):
            return _interval(_end(low, opening == "[", budget), _end(high, closing == "]", budget))
        case Braces(items=items):
            points: Region = []
            for item in items:
                if isinstance(item, (Listing, PlusMinus)) or is_region(item):
                    raise NoRegion
                points.append(_point(_end(item, True, budget)))
            return _merge(points)
        case NamedSet(name=name):
            return _named(name)
        case Membership(element=element, container=container):
            return region(container, budget, _name(element))
        case Builder(element=element, condition=condition):
            if isinstance(element, Membership):
                return _intersect(region(element, budget), region(condition, budget))
            return region(condition, budget, _name(element))
        case SetOperation(kind=kind, operands=operands):
            parts = [region(operand, budget, variable) for operand in operands]
            result = parts[0]
            for part in parts[1:]:
                if kind == "cup":
                    result = _merge(result + part)
                else:
                    result = _intersect(result, part if kind == "cap" else _complement(part))
            return result
        case Conditioned(body=body):
            return region(body, budget, variable)
        case Listing(items=items, joiner=joiner):
            if any(isinstance(item, Conditioned) for item in items):
                raise NoRegion  # each part has a condition of its own
            parts = [region(item, budget, variable) for item in items]
            if together:
                return reduce(_intersect, parts)
            result = parts[0]
            conditions = joiner not in EITHER and all(isinstance(item, Relation) for item in items)
            for part in parts[1:]:
                # "x > 1, x < 3" holds at once; "x < 1, x > 2" would leave nothing, so it lists two parts
                common = _intersect(result, part)
                if joiner not in EITHER and not conditions and any(piece.low is not piece.high for piece in common):
                    raise NoRegion  # a domain and a range, not two parts of one set
                result = common if conditions and common else _merge(result + part)
            return result
        case Relation(operands=operands, operators=operators):
            return _relation(operands, operators, budget, variable)
        case _:
            raise NoRegion


def variable_of(node: Node) -> str | None:
    """The variable that a set description constrains, if there is exactly one."""
    match node:
        case Relation(operands=operands):
            names = {symbol.name for symbol in map(_symbol, operands) if symbol is not None}
            return names.pop() if len(names) == 1 else None
        case Membership(element=Symbol(name=name)):
            return name
        case Listing(items=items) | SetOperation(operands=items):
            found = {name for name in map(variable_of, items) if name}
            return found.pop() if len(found) == 1 else None
        case _:
            return None


def _symbol(node: Node) -> Symbol | None:
    """The variable that a node is, or the variable c of `|c|`. For z and w, the latter is a disc, not a set of
    reals.
    """
    match node:
        case Symbol():
            return node
        case Call(name="abs", arguments=(Symbol(name=name) as inside,)) if name not in _COMPLEX:
            return inside
        case _:
            return None


def _name(element: Node) -> str | None:
    if isinstance(element, Symbol):
        return element.name
    raise NoRegion


def _relation(operands: tuple[Node, ...], operators: tuple[str, ...], budget: Budget, variable: str | None) -> Region:
    """A chain in one variable that is alone on its side, possibly as an absolute value: `-2 < c < 2`, `|c| < 2`."""
    result: Region = [_everything()]
    constrained = 0
    for left, operator, right in zip(operands, operators, operands[1:], strict=False):
        if operator not in _FLIPPED:
            raise NoRegion
        if _symbol(right) is not None and not free_symbols(left):
            left, operator, right = right, _FLIPPED[operator], left
        symbol = _symbol(left)
        if symbol is None or free_symbols(right) or (variable or symbol.name) != symbol.name:
            raise NoRegion
        variable = symbol.name
        constrained += 1
        bounded = _half if left is symbol else _size
        result = _intersect(result, bounded(operator, right, budget))
    if not constrained:
        raise NoRegion
    return result


def _half(operator: str, bound: Node, budget: Budget) -> Region:
    end = _end(bound, operator in ("<=", ">=", "="), budget)
    if operator == "=":
        return [_point(end)]
    if operator == "!=":
        return _complement([_point(replace(end, closed=True))])
    if operator in ("<", "<="):
        return _interval(_everything().low, end)
    return _interval(end, _everything().high)


def _size(operator: str, bound: Node, budget: Budget) -> Region:
    """The numbers whose absolute value satisfies the comparison."""
    if operator in (">", ">="):
        return _complement(_size("<=" if operator == ">" else "<", bound, budget))
    if operator in ("<", "<="):
        below, above = _half(operator, bound, budget), _half(_FLIPPED[operator], Negation(bound), budget)
        return _intersect(below, above)
    if _end(bound, True, budget).value < 0:
        return [] if operator == "=" else [_everything()]
    points = _merge(_half("=", bound, budget) + _half("=", Negation(bound), budget))
    return points if operator == "=" else _complement(points)


def _end(node: Node, closed: bool, budget: Budget) -> End:
    context = evaluator(_DIGITS).context
    if isinstance(node, Constant) and node.name == "oo":
        return End(context.inf, None, False)
    if isinstance(node, Negation) and isinstance(node.body, Constant) and node.body.name == "oo":
        return End(-context.inf, None, False)
    try:
        value = evaluator(_DIGITS).value(node, {}, budget)
    except Undefined:
        raise NoRegion from None
    if context.im(value) != 0:
        raise NoRegion
    return End(context.re(value), node, closed)


def _everything() -> Piece:
    context = evaluator(_DIGITS).context
    return Piece(End(-context.inf, None, False), End(context.inf, None, False))


def _named(name: str) -> Region:
    context = evaluator(_DIGITS).context
    zero = context.mpf(0)
    match name:
        case "R":
            return [_everything()]
        case "R+" | "R_+" | "R^+":
            return [Piece(End(zero, None, False), End(context.inf, None, False))]
        case _:
            raise NoRegion


def _point(end: End) -> Piece:
    return Piece(end, end)


def _interval(low: End, high: End) -> Region:
    if low.value > high.value or (low.value == high.value and not (low.closed and high.closed)):
        return []
    return [Piece(low, high)]


def _merge(pieces: Region) -> Region:
    """Sorted, with touching pieces joined."""
    result: Region = []
    for piece in sorted(pieces, key=lambda item: (item.low.value, not item.low.closed)):
        last = result[-1] if result else None
        if last is not None and (
            piece.low.value < last.high.value
            or (piece.low.value == last.high.value and (piece.low.closed or last.high.closed))
        ):
            if piece.high.value > last.high.value or (piece.high.value == last.high.value and piece.high.closed):
                last.high = piece.high
        else:
            result.append(Piece(piece.low, piece.high))
    return result


def _intersect(ours: Region, theirs: Region) -> Region:
    result: Region = []
    for one in ours:
        for two in theirs:
            low = max(one.low, two.low, key=lambda end: (end.value, not end.closed))
            high = min(one.high, two.high, key=lambda end: (end.value, end.closed))
            result.extend(_interval(low, high))
    return _merge(result)


def _complement(pieces: Region) -> Region:
    result: Region = []
    low = _everything().low
    for piece in _merge(pieces):
        result.extend(_interval(low, replace(piece.low, closed=not piece.low.closed)))
        low = replace(piece.high, closed=not piece.high.closed)
    infinite = _everything().high
    if low.value < infinite.value:
        result.extend(_interval(low, infinite))
    return result
