"""Compiles an expression's tree to Python functions, by the rules of CEL (https://github.com/google/cel-spec).

Values are JSON values as Python types: None, bool, float, str, list and dict; integers come only from literals and
`size()`. Types never convert: `1 == 1.0` holds, `true == 1.0` does not. In `&&`, `||`, `all` and `exists`, a side that
decides the result prevails over a failure of the other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from rewarden_verifiers.recipes.check import OPEN_FIELDS
from rewarden_verifiers.recipes.functions import FUNCTIONS, METHODS, Failure, is_number, short
from rewarden_verifiers.recipes.syntax import Node

_MOST, _LEAST = 2**63 - 1, -(2**63)

Names = Mapping[str, Any]
"""Values by name: the roots of an expression's scope, and the variables of its macros."""

MOST_STEPS = 1_000_000
"""The work that one evaluation may take, under a second: nodes of a macro's body for each of its items, items compared
or joined, 64 characters at a time. Attack: `l.all(x, x in l)` in an inline recipe, over a list that the caller made
long.
"""

_PATTERN = 10_000
"""The cost, in steps, of compiling a pattern that the evaluation has not used before."""


class Absent(Exception):
    """A value that the expression reads is not known. Not a Failure, which `||` can hide."""


class Exhausted(Exception):
    """The evaluation has used up its budget of work. Not a Failure, because `||` can hide those."""


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


_Compiled = Callable[[Names, Work], Any]
"""Returns the value of a node. Raises Failure, Absent and Exhausted."""

_Binary = Callable[[Any, Any, Work], Any]


class Program:
    """A tree as a function of the values that it reads. Immutable and thread-safe."""

    __slots__ = ("_run",)

    def __init__(self, node: Node) -> None:
        self._run = _compiled(node)

    def value(self, names: Names) -> Any:
        """Returns the value of the tree. Raises Failure, and Absent if a value is needed that `names` lacks."""
        try:
            return self._run(names, Work())
        except Exhausted:
            raise Failure(f"it takes more than {MOST_STEPS:,} steps") from None
        except RecursionError:
            raise Failure("a value is nested too deep") from None


def _compiled(node: Node, variable: str | None = None) -> _Compiled:
    """Compiles a node. variable: the variable of the macro around it."""
    return _COMPILE[node.kind](node, variable)


# --- reading -----------------------------------------------------------------------------------------------------


def _literal(node: Node, variable: str | None) -> _Compiled:
    value = node.value
    return lambda names, work: value


def _name(node: Node, variable: str | None) -> _Compiled:
    text = node.text

    def name(names: Names, work: Work) -> Any:
        try:
            return names[text]
        except KeyError:
            raise Absent(text) from None

    return name


def _select(node: Node, variable: str | None) -> _Compiled:
    return _keyed(node.children[0], node.text, variable)


def _keyed(of: Node, key: str, variable: str | None) -> _Compiled:
    """Compiles the read of one key."""
    if of.kind == "name" and of.text != variable:
        return _field(of.text, key)
    whole = _compiled(of, variable)
    missing = Absent if _is_open(of, variable) else Failure

    def keyed(names: Names, work: Work) -> Any:
        found = whole(names, work)
        try:
            return found[key]
        except (KeyError, TypeError):
            _fields(found)
            raise missing(f"there is no key {key!r}") from None

    return keyed


def _field(root: str, field: str) -> _Compiled:
    def read(names: Names, work: Work) -> Any:
        try:
            return names[root][field]
        except KeyError:
            raise Absent(f"there is no {root}.{field}") from None

    return read


def _is_open(node: Node, variable: str | None) -> bool:
    """Returns whether a node reads a mapping whose keys are separate inputs."""
    return (
        node.kind == "select"
        and node.text in OPEN_FIELDS
        and node.children[0].kind == "name"
        and node.children[0].text == "sample" != variable
    )


def _has(node: Node, variable: str | None) -> _Compiled:
    (inner,) = node.children
    of, field = _compiled(inner.children[0], variable), inner.text
    return lambda names, work: field in _fields(of(names, work))


def _fields(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Failure(f"{short(value)} has no fields")
    return value


def _index(node: Node, variable: str | None) -> _Compiled:
    if isinstance(key := node.children[1].value, str):
        return _keyed(node.children[0], key, variable)
    of, index = (_compiled(child, variable) for child in node.children)
    return lambda names, work: _item(of(names, work), index(names, work))


def _item(of: Any, index: Any) -> Any:
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


def _list(node: Node, variable: str | None) -> _Compiled:
    items = [_compiled(child, variable) for child in node.children]
    return lambda names, work: [item(names, work) for item in items]


# --- true and false ----------------------------------------------------------------------------------------------


def truth(value: Any) -> bool:
    """Returns the value if it is true or false. Raises Failure."""
    if not isinstance(value, bool):
        raise Failure(f"{short(value)} is neither true nor false")
    return value


def _and_or(node: Node, variable: str | None) -> _Compiled:
    parts = [_compiled(child, variable) for child in node.children]
    by = node.kind == "or"
    return lambda names, work: _decided(((part, names) for part in parts), work, by)


def _decided(parts: Iterator[tuple[_Compiled, Names]], work: Work, by: bool) -> bool:
    """Returns `by` if one part is `by`, else not `by`. Raises the first part's Failure if no part decides."""
    failure: Failure | None = None
    for part, names in parts:
        try:
            if truth(part(names, work)) is by:
                return by
        except Failure as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not by


def _not(node: Node, variable: str | None) -> _Compiled:
    of = _compiled(node.children[0], variable)
    return lambda names, work: not truth(of(names, work))


def _if(node: Node, variable: str | None) -> _Compiled:
    condition, yes, no = (_compiled(child, variable) for child in node.children)
    return lambda names, work: (yes if truth(condition(names, work)) else no)(names, work)


def _equal(one: Any, other: Any, work: Work) -> bool:
    """Returns whether two values are equal. Values of different types never are."""
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


def _negate(node: Node, variable: str | None) -> _Compiled:
    of = _compiled(node.children[0], variable)

    def negate(names: Names, work: Work) -> int | float:
        value = of(names, work)
        if not is_number(value):
            raise Failure(f"{short(value)} is not a number")
        return _whole(-value) if type(value) is int else -value

    return negate


def _arithmetic(op: str, one: Any, other: Any, work: Work) -> Any:
    if type(one) is float and type(other) is float and op != "%":
        return _quotient(one, other) if op == "/" else _OF_NUMBERS[op](one, other)
    if type(one) is int and type(other) is int:
        if op in _OF_NUMBERS:
            return _whole(_OF_NUMBERS[op](one, other))
        if other == 0:
            raise Failure("division by zero")
        # Truncates towards zero; the remainder has the sign of the dividend.
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


_OF_DOUBLES: Mapping[str, Callable[[Any, Any], Any]] = {
    **_OF_NUMBERS,
    "/": _quotient,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
"""Two doubles need no look at their types: most operands are such."""


def _operation(op: str) -> _Binary:
    of_doubles, of_any = _OF_DOUBLES.get(op), _BINARY[op]
    if of_doubles is None:
        return of_any

    def operation(one: Any, other: Any, work: Work) -> Any:
        if type(one) is float and type(other) is float:
            return of_doubles(one, other)
        return of_any(one, other, work)

    return operation


def _chain(node: Node, variable: str | None) -> _Compiled:
    first, *others = (_compiled(child, variable) for child in node.children)
    rest = list(zip(map(_operation, node.ops), others, strict=True))

    def chain(names: Names, work: Work) -> Any:
        value = first(names, work)
        for operation, other in rest:
            value = operation(value, other(names, work), work)
        return value

    return chain


# --- functions and macros ----------------------------------------------------------------------------------------


_TYPES: Mapping[str, type] = {"double": float, "string": str}


def _call(node: Node, variable: str | None) -> _Compiled:
    parts = [_compiled(child, variable) for child in node.children]
    function = (METHODS if "method" in node.ops else FUNCTIONS)[node.text]
    kind, called = _TYPES.get(function.argument, object), function.call

    def call(names: Names, work: Work) -> Any:
        arguments = [part(names, work) for part in parts]
        for argument in arguments:
            if not isinstance(argument, kind):
                raise Failure(f"{node.text}() takes a {function.argument}, not {', '.join(map(short, arguments))}")
            if isinstance(argument, str):
                work.spend(_size_of(argument))
        if node.text == "matches" and arguments[1] not in work.patterns:
            work.spend(_PATTERN)
            work.patterns.add(arguments[1])
        try:
            return called(*arguments)
        except (ValueError, ArithmeticError) as error:
            raise Failure(f"{node.text}(): {error}") from None

    return call


def _macro(node: Node, variable: str | None) -> _Compiled:
    over, named, *bodies = node.children
    whole, item_name, kind = _compiled(over, variable), named.text, node.text
    steps = sum(map(_nodes, bodies))
    body, *result = (_compiled(each, item_name) for each in bodies)

    def scopes(names: Names, work: Work) -> Iterator[Names]:
        """The names for each item in turn: one mapping, which the next item changes."""
        found = whole(names, work)
        if not isinstance(found, (list, dict)):
            raise Failure(f"{kind}() goes over a list, not over {short(found)}")
        scope = dict(names)
        for item in found:
            work.spend(steps)
            scope[item_name] = item
            yield scope

    def quantified(names: Names, work: Work) -> bool:
        return _decided(((body, scope) for scope in scopes(names, work)), work, kind == "exists")

    def exists_one(names: Names, work: Work) -> bool:
        return sum(truth(body(scope, work)) for scope in scopes(names, work)) == 1

    def filtered(names: Names, work: Work) -> list[Any]:
        return [scope[item_name] for scope in scopes(names, work) if truth(body(scope, work))]

    def mapped(names: Names, work: Work) -> list[Any]:
        if not result:
            return [body(scope, work) for scope in scopes(names, work)]
        return [result[0](scope, work) for scope in scopes(names, work) if truth(body(scope, work))]

    of_kinds: Mapping[str, _Compiled] = {"exists_one": exists_one, "filter": filtered, "map": mapped}
    return of_kinds.get(kind, quantified)


def _nodes(node: Node) -> int:
    return 1 + sum(map(_nodes, node.children))


_COMPILE: Mapping[str, Callable[[Node, str | None], _Compiled]] = {
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
