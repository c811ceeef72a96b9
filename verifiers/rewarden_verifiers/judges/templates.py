"""Templates: the parts of Jinja2 that a prompt can use, and the limits on them.

Prompts of a request run in this process, so they can use only what a prompt needs: fields, conditions, loops over list
fields, and a few filters. There are no calls, arithmetic or assignments. The work of loops and filters is counted, and
the output is limited. Prompts can place untrusted texts, but not read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.filters import do_title
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rewarden.errors import InvalidParams

_ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Const,
    nodes.If,
    nodes.CondExpr,
    nodes.For,
    nodes.Filter,
    nodes.Test,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
)
_OPERATORS = ("eq", "ne", "lt", "lteq", "gt", "gteq")
_DEEPEST = 2
_LONGEST = 20_000
_MOST = 2_000_000
_WORK = 300_000
"""The budget of a template: nodes executed in loops, plus characters processed by filters."""


class Placed:
    """An untrusted text in a template. It can only be placed and measured, so that no filter or loop can take it out of
    its fence. mark: the placeholder for the text. length: the length of the text itself.
    """

    __slots__ = ("_length", "_mark")

    def __init__(self, mark: str, length: int) -> None:
        self._mark = mark
        self._length = length

    def __str__(self) -> str:
        return self._mark

    __repr__ = __str__

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        return True


class Places:
    """The texts that a chat's templates can place. key: a string that occurs in no text."""

    def __init__(self, key: str) -> None:
        # Only control characters and digits, which changing the case leaves as they are.
        self._sign = f"\x02{int(key, 16)}:"
        self._shown: list[str] = []

    def add(self, shown: str, length: int) -> Placed:
        """Adds a text."""
        self._shown.append(shown)
        return Placed(f"{self._sign}{len(self._shown) - 1}\x03", length)

    def fill(self, text: str, where: str) -> str:
        """Replaces the placeholders in a text. Raises InvalidParams if the result would be too long."""
        pattern = re.compile(rf"{re.escape(self._sign)}(\d+)\x03")
        total = len(text) + sum(len(self._shown[int(found.group(1))]) for found in pattern.finditer(text))
        if total > _MOST:
            raise _too_long(where)
        return pattern.sub(lambda found: self._shown[int(found.group(1))], text)


def text_of(template: str, variables: Mapping[str, Any], where: str) -> str:
    """Renders a template. Raises InvalidParams, at `where`, for an invalid template and for too much output."""
    pieces: list[str] = []
    length = 0
    try:
        for piece in _compiled(template, where).generate({**variables, _BUDGET: [_WORK]}):
            length += len(piece)
            if length > _MOST:
                raise _too_long(where)
            pieces.append(piece)
    except jinja2.UndefinedError as error:
        known = ", ".join(sorted(variables))
        raise InvalidParams(f"{where}: {error.message}; there are: {known}", path=where) from None
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise InvalidParams(f"{where}: {str(error)[:200]}", path=where) from None
    return "".join(pieces).strip()


_BUDGET = " work"
"""A name that no template can contain."""


def _spend(context: Context, amount: int) -> None:
    budget = context.resolve(_BUDGET)
    budget[0] -= amount
    if budget[0] < 0:
        raise ValueError("its loops and filters do too much")


@jinja2.pass_context
def _loop(context: Context, value: Any, parts: int) -> Any:
    """Charges a loop to the budget and returns its list. parts: the number of nodes in the loop's body."""
    if not isinstance(value, (list, tuple)):
        str(value)  # raises for an undefined field
        raise TypeError("a loop goes over a list")
    _spend(context, len(value) * parts)
    return value


@jinja2.pass_context
def _compared(context: Context, value: Any) -> Any:
    """Returns a value that can be compared quickly; raises for any other."""
    if isinstance(value, str):
        _spend(context, len(value))
    elif not (value is None or isinstance(value, (int, float, jinja2.Undefined))):
        raise TypeError("a prompt compares numbers and its own texts")
    return value


@jinja2.pass_context
def _join(context: Context, value: Any, d: str = "") -> str:
    if not isinstance(value, (list, tuple)) or not isinstance(d, str):
        str(value)
        raise TypeError("join is for a list, with a text between")
    texts = [str(one) for one in value]
    _spend(context, sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def _changing(change: Callable[[str], str]) -> Any:
    @jinja2.pass_context
    def changed(context: Context, value: Any) -> str:
        text = str(value)
        _spend(context, len(text))
        return change(text)

    return changed


def _first(value: Sequence[Any]) -> Any:
    return _end(value, 0)


def _last(value: Sequence[Any]) -> Any:
    return _end(value, -1)


def _end(value: Any, place: int) -> Any:
    if not isinstance(value, (list, tuple)) or not value:
        str(value)
        raise TypeError("first and last are for a list that is not empty")
    return value[place]


def _default(value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    lacks = isinstance(value, jinja2.Undefined) or (boolean and not value)
    return default_value if lacks else value


def _shown(value: Any) -> Any:
    """Returns a value that a prompt can print; a field's own methods are not text."""
    if value is None or isinstance(value, (str, int, float, Placed, list, tuple, Mapping, jinja2.Undefined)):
        return value
    raise TypeError("a prompt shows fields, and this is none")


_FILTERS: Mapping[str, Any] = {
    "trim": _changing(str.strip),
    "upper": _changing(str.upper),
    "lower": _changing(str.lower),
    "title": _changing(do_title),
    "capitalize": _changing(str.capitalize),
    "length": len,
    "join": _join,
    "first": _first,
    "last": _last,
    "default": _default,
}
FILTERS = frozenset(_FILTERS)

_ENVIRONMENT = ImmutableSandboxedEnvironment(
    autoescape=False,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    optimized=False,
    finalize=_shown,
)
_ENVIRONMENT.filters = {**_FILTERS, "_loop": _loop, "_compared": _compared}
_TESTS = frozenset({"defined", "undefined", "none", "string", "number", "mapping", "sequence", "true", "false"})


@lru_cache(maxsize=512)
def _compiled(template: str, where: str) -> jinja2.Template:
    if len(template) > _LONGEST:
        raise InvalidParams(f"{where}: more than {_LONGEST} characters", path=where)
    try:
        tree = _ENVIRONMENT.parse(template)
        _check(tree, where, 0)
        tree.set_environment(_ENVIRONMENT)
        return _ENVIRONMENT.from_string(tree)
    except jinja2.TemplateSyntaxError as error:
        raise InvalidParams(f"{where}: line {error.lineno}: {error.message}", path=where) from None
    except (RecursionError, MemoryError, SyntaxError):
        raise InvalidParams(f"{where}: nested too deep", path=where) from None
    except (jinja2.TemplateError, ValueError, OverflowError, TypeError) as error:
        raise InvalidParams(f"{where}: {str(error)[:200]}", path=where) from None


def _check(node: nodes.Node, where: str, depth: int) -> int:
    """Returns the number of nodes in a tree. Raises InvalidParams for a node that prompts must not use."""
    count = 1
    for child in node.iter_child_nodes():
        if not isinstance(child, _ALLOWED):
            raise InvalidParams(f"{where}: a prompt may not have {type(child).__name__.lower()}", path=where)
        if isinstance(child, nodes.Filter) and child.name not in FILTERS:
            raise InvalidParams(
                f"{where}: no filter {child.name!r}; there are: {', '.join(sorted(FILTERS))}", path=where
            )
        if isinstance(child, nodes.Test) and child.name not in _TESTS:
            raise InvalidParams(f"{where}: no test {child.name!r}; there are: {', '.join(sorted(_TESTS))}", path=where)
        if isinstance(child, nodes.Operand) and child.op not in _OPERATORS:
            raise InvalidParams(f"{where}: no comparison by {child.op}", path=where)
        inner = depth
        if isinstance(child, nodes.For):
            if not isinstance(child.iter, (nodes.Name, nodes.Getattr)) or child.recursive:
                raise InvalidParams(f"{where}: a loop goes over a field", path=where)
            inner += 1
            if inner > _DEEPEST:
                raise InvalidParams(f"{where}: loops nested more than {_DEEPEST} deep", path=where)
        parts = _check(child, where, inner)
        if isinstance(child, (nodes.Compare, nodes.Operand)):
            child.expr = nodes.Filter(child.expr, "_compared", [], [], None, None, lineno=child.lineno)
        if isinstance(child, nodes.For):
            limit = nodes.Const(parts, lineno=child.lineno)
            child.iter = nodes.Filter(child.iter, "_loop", [limit], [], None, None, lineno=child.lineno)
        count += parts
    return count


def _too_long(where: str) -> InvalidParams:
    message = f"{where}: the prompt and what it shows have more than {_MOST} characters"
    return InvalidParams(message, path=where if where.startswith("params.") else "params.prompt")
