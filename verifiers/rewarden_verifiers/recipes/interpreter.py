"""Evaluates an expression's tree by the rules of CEL (https://github.com/google/cel-spec).

Values are JSON values as Python types: None, bool, float, str, list and dict; integers come only from literals and
`size()`. Types never convert: `1 == 1.0` holds, `true == 1.0` does not. In `&&`, `||`, `all` and `exists`, a side that
decides the result prevails over a failure of the other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from rewarden_verifiers.recipes.functions import FUNCTIONS, METHODS, Failure, is_number, short
from rewarden_verifiers.recipes.syntax import Node

_MOST, _LEAST = 2**63 - 1, -(2**63)

Names = Mapping[str, Any]
"""Values by name: the roots of an expression's scope, and the variables of its macros."""


MOST_STEPS = 1_000_000
"""The work that one evaluation may take, under a second: nodes evaluated, items compared or joined, 64 characters at a
time. Attack: `l.all(x, x in l)` in an inline recipe, over a list that the caller made long.
"""

_PATTERN = 10_000
"""The steps of a pattern that the evaluation has not used before: it is compiled."""


class Exhausted(Exception):
    """The evaluation has used up its work. Not a Failure, which `||` can hide."""


class Work:
    """The steps that an evaluation has left, and the patterns that it has compiled."""

    __slots__ = ("left", "patterns")

    def __init__(self) -> None:
        self.left = MOST_STEPS
        self.patterns: set[str] = set()

    def spend(self, steps: int) -> None:
        """Uses up steps. Raises Exhausted."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted


def value_of(node: Node, names: Names) -> Any:
    """Returns the value of a tree. Raises Failure."""
    try:
        return _value(node, names, Work())
    except Exhausted:
        raise Failure(f"it takes more than {MOST_STEPS:,} steps") from None
    except RecursionError:
        raise Failure("a value is nested too deep") from None


def _value(node: Node, names: Names, work: Work) -> Any:
    work.left -= 1  # as `spend`, which takes as long as many nodes
    if work.left < 0:
        raise Exhausted
    return _READ[node.kind](node, names, work)


# --- reading -----------------------------------------------------------------------------------------------------


def _literal(node: Node, names: Names, work: Work) -> Any:
    return node.value


def _name(node: Node, names: Names, work: Work) -> Any:
    if node.text not in names:
        raise Failure(f"there is no {node.text!r}")
    return names[node.text]


def _select(node: Node, names: Names, work: Work) -> Any:
    of = _value(node.children[0], names, work)
    if isinstance(of, dict) and node.text in of:
        return of[node.text]
    _fields(of)
    raise Failure(f"there is no key {node.text!r}")


def _has(node: Node, names: Names, work: Work) -> bool:
    (field,) = node.children
    return field.text in _fields(_value(field.children[0], names, work))


def _fields(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Failure(f"{short(value)} has no fields")
    return value


def _index(node: Node, names: Names, work: Work) -> Any:
    of, index = (_value(child, names, work) for child in node.children)
    if isinstance(of, dict):
        if not isinstance(index, str) or index not in of:
            raise Failure(f"there is no key {short(index)}")
        return of[index]
    if not isinstance(of, list):
        raise Failure(f"{short(of)} has no items")
    if type(index) is not int:
        raise Failure(f"an index is a whole number, not {short(index)}")
    if not 0 <= index < len(of):
        raise Failure(f"there is no item {index} among {len(of)}")
    return of[index]


def _list(node: Node, names: Names, work: Work) -> list[Any]:
    return [_value(child, names, work) for child in node.children]


# --- true and false ----------------------------------------------------------------------------------------------


def truth(value: Any) -> bool:
    """Returns the value if it is true or false. Raises Failure."""
    if not isinstance(value, bool):
        raise Failure(f"{short(value)} is neither true nor false")
    return value


def _decided(parts: Iterable[Callable[[], Any]], by: bool) -> bool:
    """Returns True if one part is `by`, else not `by`. Raises the first part's Failure if no part decides."""
    failure: Failure | None = None
    for part in parts:
        try:
            if truth(part()) is by:
                return by
        except Failure as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not by


def _and_or(node: Node, names: Names, work: Work) -> bool:
    return _decided((partial(_value, child, names, work) for child in node.children), node.kind == "or")


def _not(node: Node, names: Names, work: Work) -> bool:
    return not truth(_value(node.children[0], names, work))


def _if(node: Node, names: Names, work: Work) -> Any:
    condition, yes, no = node.children
    return _value(yes if truth(_value(condition, names, work)) else no, names, work)


def _equal(one: Any, other: Any, work: Work) -> bool:
    """Returns True if two values are equal. Values of different types are not."""
    if is_number(one) and is_number(other):
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, (str, list, dict)):
        if len(one) != len(other):
            return False
        work.spend(_size_of(one))
    if isinstance(one, list):
        return all(_equal(item, another, work) for item, another in zip(one, other, strict=True))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(item, other[key], work) for key, item in one.items())
    return bool(one == other)


def _in(one: Any, other: Any, work: Work) -> bool:
    if isinstance(other, list):
        work.spend(len(other))
        return any(_equal(one, item, work) for item in other)
    if isinstance(other, dict):
        if not isinstance(one, (str, int)):  # true and false are integers in Python
            raise Failure(f"{short(one)} cannot be a key")
        return isinstance(one, str) and one in other
    raise Failure(f"'in' looks in a list, not in {short(other)}")


def _less(one: Any, other: Any, work: Work) -> bool:
    if not (is_number(one) and is_number(other)) and not (type(one) is type(other) and isinstance(one, (str, bool))):
        raise Failure(f"{short(one)} and {short(other)} have no order")
    if isinstance(one, str):
        work.spend(_size_of(one))
    return bool(one < other)


def _at_most(one: Any, other: Any, work: Work) -> bool:
    return _less(one, other, work) or _equal(one, other, work)


def _size_of(value: str | list[Any] | dict[str, Any]) -> int:
    return len(value) // 64 if isinstance(value, str) else len(value)


# --- numbers -----------------------------------------------------------------------------------------------------


def _negate(node: Node, names: Names, work: Work) -> int | float:
    value = _value(node.children[0], names, work)
    if not is_number(value):
        raise Failure(f"{short(value)} is not a number")
    return _whole(-value) if type(value) is int else -value


def _arithmetic(op: str, one: Any, other: Any, work: Work) -> Any:
    if type(one) is float and type(other) is float and op != "%":
        return _quotient(one, other) if op == "/" else _OF_NUMBERS[op](one, other)
    if type(one) is int and type(other) is int:
        if op in _OF_NUMBERS:
            return _whole(_OF_NUMBERS[op](one, other))
        if other == 0:
            raise Failure("division by zero")
        # Truncated towards zero; the remainder has the sign of the dividend.
        part = abs(one) // abs(other) if op == "/" else abs(one) % abs(other)
        return _whole(-part if (one < 0) != (op == "/" and other < 0) else part)
    raise Failure(f"{short(one)} {op} {short(other)} has no value: both must be doubles, or both whole numbers")


def _sum(one: Any, other: Any, work: Work) -> Any:
    if type(one) is type(other) and isinstance(one, (str, list)):
        work.spend(_size_of(one) + _size_of(other))
        return one + other
    return _arithmetic("+", one, other, work)


_OF_NUMBERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def _quotient(one: float, other: float) -> float:
    """Divides by IEEE 754. Python raises for a divisor of zero."""
    if other:
        return one / other
    return math.nan if not one or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1.0, other)


def _whole(value: int) -> int:
    if not _LEAST <= value <= _MOST:
        raise Failure("a whole number beyond 64 bits")
    return value


_BINARY: Mapping[str, Callable[[Any, Any, Work], Any]] = {
    "==": _equal,
    "!=": lambda one, other, work: not _equal(one, other, work),
    "<": _less,
    ">": lambda one, other, work: _less(other, one, work),
    "<=": _at_most,
    ">=": lambda one, other, work: _at_most(other, one, work),
    "in": _in,
    "+": _sum,
    **{op: partial(_arithmetic, op) for op in "-*/%"},
}


def _chain(node: Node, names: Names, work: Work) -> Any:
    children = iter(node.children)
    value = _value(next(children), names, work)
    for op, child in zip(node.ops, children, strict=True):
        value = _BINARY[op](value, _value(child, names, work), work)
    return value


# --- functions and macros ----------------------------------------------------------------------------------------


_TYPES: Mapping[str, type] = {"double": float, "string": str}


def _call(node: Node, names: Names, work: Work) -> Any:
    arguments = [_value(child, names, work) for child in node.children]
    function = (METHODS if "method" in node.ops else FUNCTIONS)[node.text]
    kind = _TYPES.get(function.argument, object)
    for argument in arguments:
        if not isinstance(argument, kind):
            raise Failure(f"{node.text}() takes a {function.argument}, not {', '.join(map(short, arguments))}")
        if isinstance(argument, str):
            work.spend(_size_of(argument))
    if node.text == "matches" and arguments[1] not in work.patterns:
        work.spend(_PATTERN)
        work.patterns.add(arguments[1])
    try:
        return function.call(*arguments)
    except (ValueError, ArithmeticError) as error:
        raise Failure(f"{node.text}(): {error}") from None


def _macro(node: Node, names: Names, work: Work) -> Any:
    over, variable, *bodies = node.children
    found = _value(over, names, work)
    if not isinstance(found, (list, dict)):
        raise Failure(f"{node.text}() goes over a list, not over {short(found)}")

    def of(body: Node, item: Any) -> Any:
        return _value(body, {**names, variable.text: item}, work)

    (body, *result) = bodies
    if node.text in ("all", "exists"):
        return _decided((partial(of, body, item) for item in found), node.text == "exists")
    if node.text == "map" and not result:
        return [of(body, item) for item in found]
    chosen = [item for item in found if truth(of(body, item))]
    if node.text == "exists_one":
        return len(chosen) == 1
    return [of(result[0], item) for item in chosen] if result else chosen


_READ: Mapping[str, Callable[[Node, Names, Work], Any]] = {
    "literal": _literal,
    "name": _name,
    "select": _select,
    "has": _has,
    "index": _index,
    "list": _list,
    "and": _and_or,
    "or": _and_or,
    "not": _not,
    "if": _if,
    "negate": _negate,
    "chain": _chain,
    "call": _call,
    "macro": _macro,
}
