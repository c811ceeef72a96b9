"""The official verdict of the Berkeley function-calling leaderboard for calls in Python's syntax (`preset: bfcl`).

Its checker knows types by name, texts without case and punctuation, one level within lists and objects, and accepts a
value whose type differs from the definition's if the reference lists one of that type. Its decoder evaluates operators
between arguments with `eval`; here numbers are computed, strings are joined, and nothing is evaluated.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidReference
from rewarden_verifiers.structure.json.strict import Malformed
from rewarden_verifiers.tools.tool_calls.calls import Call, Untyped
from rewarden_verifiers.tools.tool_calls.python import MAX_CODE, bare

_TYPES: Mapping[str, type] = {
    "string": str,
    "any": str,
    "integer": int,
    "float": float,
    "number": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "object": dict,
}
"""The leaderboard's words for types, and JSON Schema's for two of them."""

_OVERLOOKED = re.compile(r"[ ,./\-_*^]")
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MAX_BITS = 4096


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: its type, that of its items where it is a list, and its word for the type."""

    kind: type
    items: type | None
    word: str


@dataclass(frozen=True, slots=True, eq=False)
class RightCall:
    """A call that is right: of each argument the values that are, "" among them where it may be left out."""

    name: str
    values: Mapping[str, list[Any]]
    parameters: Mapping[str, Parameter]
    required: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A reference: calls that are right together, in any order; none where nothing is to be called."""

    calls: tuple[RightCall, ...]


def entry(reference: Any, tools: Sequence[Mapping[str, Any]] | None) -> Entry:
    """A reference in the leaderboard's form, `{"calls": [{"f": {"x": [1, ""]}}], "tools": […]}` or the list alone.
    Raises InvalidReference.
    """
    if isinstance(reference, Mapping) and "calls" in reference and set(reference) <= {"calls", "tools"}:
        tools = reference.get("tools", tools)
        reference = reference["calls"]
    if not isinstance(reference, list):
        raise InvalidReference("preset bfcl needs a list of calls in the leaderboard's form", path="reference")
    if not isinstance(tools, (list, tuple)):
        if reference:
            raise InvalidReference("preset bfcl needs the definitions of the tools", path="reference.tools")
        tools = ()
    functions: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            raise InvalidReference("a tool must be an object with a name", path="reference.tools")
        functions.setdefault(inner["name"], inner)
    return Entry(tuple(_right_call(item, functions) for item in reference))


def _right_call(item: Any, functions: Mapping[str, Mapping[str, Any]]) -> RightCall:
    if not isinstance(item, Mapping) or len(item) != 1:
        raise InvalidReference("a call must be an object of one name, with its arguments", path="reference")
    name, values = next(iter(item.items()))
    if not isinstance(values, Mapping) or not all(isinstance(one, list) for one in values.values()):
        raise InvalidReference(
            f"the arguments of {name!r} must be lists of the values that are right", path="reference"
        )
    if name not in functions:
        raise InvalidReference(f"the reference calls {name!r}, which is none of the tools", path="reference")
    schema = functions[name].get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    parameters = {key: _parameter(name, key, properties[key]) for key in values if key in properties}
    return RightCall(name, values, parameters, required)


def _parameter(name: str, key: str, schema: Any) -> Parameter:
    try:
        word = schema["type"]
        items = _TYPES[schema["items"]["type"]] if word in ("array", "tuple") else None
        return Parameter(_TYPES[word], items, word)
    except (KeyError, TypeError):
        raise InvalidReference(
            f"the parameter {key!r} of {name!r} has none of the leaderboard's types for Python", path="reference.tools"
        ) from None


def decoded(text: str) -> list[Call] | None:
    """The calls of a whole text in Python's syntax as the leaderboard's decoder reads them; None if it fails.

    Names are texts, as it has them, positional arguments are dropped, of a repeated argument the last counts, and any
    sign before a number is a minus.
    """
    body = text.strip("`\n ")
    body = f"{'' if body.startswith('[') else '['}{body}{'' if body.endswith(']') else ']'}".strip().strip("'")
    if len(body) > MAX_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(body, mode="eval").body
        items = [tree] if isinstance(tree, ast.Call) else getattr(tree, "elts", [None])
        return [_call(item) for item in items]
    except (ArithmeticError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
        return None


def _call(node: ast.expr | None) -> Call:
    """Raises ValueError for what is not a call."""
    if not isinstance(node, ast.Call):
        raise ValueError("there is something besides calls")
    parts: list[str] = []
    named = node.func
    while isinstance(named, ast.Attribute):
        parts.append(named.attr)
        named = named.value
    if isinstance(named, ast.Name):
        parts.append(named.id)
    arguments: dict[Any, Any] = {keyword.arg: _value(keyword.value) for keyword in node.keywords}
    return Call(".".join(reversed(parts)), arguments)


def _value(node: ast.expr | None) -> Any:
    """The value of an argument. Raises ValueError, TypeError or ArithmeticError where the decoder fails."""
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value=number)) if isinstance(number, (int, float, complex)):
            return -number
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Dict(keys=keys, values=values):
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True)}
        case ast.Name(id=name):
            return name
        case ast.Call(keywords=[]):
            return ast.unparse(node)
        case ast.Call():
            call = _call(node)
            return {call.name: call.arguments}
        case ast.Subscript():
            return f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]"
        case ast.BinOp():
            return _worked_out(node)
        case _:
            raise ValueError("an argument is nothing that the decoder takes")


def _worked_out(node: ast.expr) -> Any:
    """A sum, product, … of numbers, or texts that are joined. Attack: the leaderboard's own decoder would run whatever
    stands there; and `'a' * 10**12` fills the memory."""
    match node:
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            one, other = _worked_out(left), _worked_out(right)
            if (isinstance(one, str) or isinstance(other, str)) and type(sign) is not ast.Add:
                raise ValueError("texts can only be joined")
            made = _OPERATORS[type(sign)](one, other)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            made = -_worked_out(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            made = +_worked_out(operand)
        case ast.Constant(value=made) if isinstance(made, (int, float, str)):
            pass
        case _:
            raise ValueError("neither arithmetic of numbers nor texts that are joined")
    if isinstance(made, int) and made.bit_length() > _MAX_BITS:
        raise ValueError("a number of thousands of digits")
    return made


def agrees(right: Entry, calls: Sequence[Call], dots: bool) -> bool:
    """Returns whether each right call has a call of its own, taken in the order of the reference, the first that fits,
    and none is left.
    """
    if len(right.calls) != len(calls):
        return False
    left = list(calls)
    for one in right.calls:
        place = next((place for place, call in enumerate(left) if _fits(one, call, dots)), None)
        if place is None:
            return False
        del left[place]
    return True


def _fits(right: RightCall, call: Call, dots: bool) -> bool:
    names = (right.name.replace(".", "_"), call.name.replace(".", "_")) if dots else (right.name, call.name)
    given = call.arguments
    if names[0] != names[1] or any(key not in given for key in right.required):
        return False
    for key, value in given.items():
        parameter = right.parameters.get(key)
        if parameter is None or not _holds(value, parameter, right.values[key]):
            return False
    return all(key in given or "" in values for key, values in right.values.items())


def _holds(value: Any, parameter: Parameter, listed: list[Any]) -> bool:
    """Returns whether a value is one of those listed, in the checker's eyes."""
    kind = parameter.kind
    if isinstance(value, Untyped):
        value = _typed(value, kind)
    if parameter.word == "tuple" and type(value) is tuple:
        value = list(value)
    if kind is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return False
    told, of_kind = _kind(listed), type(value) is kind
    if of_kind:
        if parameter.items is not None and not any(_all_of(value, one, parameter.items) for one in listed):
            return False
        other = told not in (None, kind)
    else:
        other = True  # a value of another type, which the reference lists: compared as it is
        if told is None or type(value) is not told:
            return False
    if other:
        return _among(value, listed)
    if kind is dict:
        return any(_same_object(value, one) for one in listed if one != "")
    if kind is list and parameter.items is dict:
        return any(_same_objects(value, one) for one in listed)
    if kind is str:
        return _plain(value) in [_plain(one) for one in listed if type(one) is str]
    if kind is list:
        # A blank, which says that the argument may be left out, has no items, and so an empty list is right too.
        items = [_plain(one) for one in value]
        return any(items == [_plain(item) for item in one] for one in listed if isinstance(one, (list, str)))
    return _among(value, listed)


def _typed(value: Untyped, kind: type) -> Any:
    if kind is not str:
        try:
            return bare(value)
        except Malformed:
            pass
    return str(value)


def _kind(listed: Sequence[Any]) -> type | None:
    return next((type(one) for one in listed if one != ""), None)


def _all_of(value: list[Any], one: Any, kind: type) -> bool:
    """Returns whether the items of a list have the type that is asked for, or that of the first listed item."""
    return not isinstance(one, list) or all(type(item) in (kind, _kind(one) or kind) for item in value)


def _plain(value: Any) -> Any:
    """A text without case, blanks and some punctuation, double quotes for single ones; anything else as it is."""
    return _OVERLOOKED.sub("", value).lower().replace("'", '"') if type(value) is str else value


def _among(value: Any, listed: Sequence[Any]) -> bool:
    return any(value is one or value == one for one in listed)


def _same_object(value: Any, one: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(one, Mapping):
        return False
    for key, item in value.items():
        several = one.get(key)
        if not isinstance(several, (list, str)) or not _among(_plain(item), [_plain(other) for other in several]):
            return False
    return all(key in value or "" in several for key, several in one.items() if isinstance(several, (list, str)))


def _same_objects(value: list[Any], one: Any) -> bool:
    return (
        isinstance(one, (list, str))
        and len(value) == len(one)
        and all(wanted != "" and _same_object(item, wanted) for item, wanted in zip(value, one, strict=True))
    )
