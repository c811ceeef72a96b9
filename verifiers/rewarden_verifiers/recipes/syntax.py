"""The subset of CEL that recipes use, as a tree with positions.

Recipes need the structure before anything runs: which component each branch needs (so that gates run before judges),
where a misspelt name is, and which operands are integers. CEL's Python libraries only evaluate, and do not expose the
structure. This parser reads the grammar of https://github.com/google/cel-spec without the parts that a score never
needs: maps, messages, bytes, unsigned numbers. It refuses everything else when the recipe is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

Kind = Literal[
    "literal", "name", "select", "index", "list", "call", "macro", "has", "not", "negate", "chain", "and", "or", "if"
]

MAX_CHARACTERS = 4000
MAX_DEPTH = 24
"""Nesting beyond which an expression is refused. Attack: a text of brackets, on which a parser recurses to its end."""

MACROS = ("all", "exists", "exists_one", "map", "filter")


class ExpressionError(ValueError):
    """An expression that cannot be used. `offset` is the position in its text, in characters from 0."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A part of an expression: the characters `start` to `end` of its text.

    text: a literal's type, a name, a field, or the name of a function or macro. ops: a chain's operators, one between
        each two children. value: a literal's value. Calls of methods have their target as first child.
    """

    kind: Kind
    start: int
    end: int
    text: str = ""
    children: tuple[Node, ...] = ()
    ops: tuple[str, ...] = ()
    value: Any = None


_TOKEN = re.compile(
    r"""
    (?P<space>(?:\s+|//[^\n]*)+)
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<int>0[xX][0-9a-fA-F]+|\d+)
  | (?P<string>[rR]?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>&&|\|\||<=|>=|==|!=|[-+*/%!<>?:.,()\[\]])
    """,
    re.VERBOSE | re.ASCII,
)

_LEVELS = (("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
"""Binary operators, loosest first. `||` and `&&` are looser still, and have their own nodes."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse(text: str) -> Node:
    """Returns the tree of an expression. Raises ExpressionError with the position."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"the expression is longer than {MAX_CHARACTERS} characters")
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression()
        if self._now.kind != "end":
            self._unexpected()
        return node

    @property
    def _now(self) -> _Token:
        return self._tokens[self._at]

    def _unexpected(self) -> NoReturn:
        what = "the end" if self._now.kind == "end" else repr(self._now.text)
        raise ExpressionError(f"{what} was not expected here", self._now.start)

    def _take(self, *ops: str) -> _Token | None:
        """Returns the next token if it is one of these operators."""
        token = self._now
        if (token.kind == "op" or token.text == "in") and token.text in ops:
            self._at += 1
            return token
        return None

    def _need(self, op: str) -> _Token:
        token = self._take(op)
        if token is None:
            self._unexpected()
        return token

    def _name(self) -> _Token:
        token = self._now
        if token.kind != "name":
            self._unexpected()
        self._at += 1
        return token

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"the expression is nested more than {MAX_DEPTH} deep", self._now.start)

    def _expression(self) -> Node:
        self._deeper()
        node = self._or()
        if self._take("?"):
            yes = self._or()
            self._need(":")
            no = self._expression()
            node = Node("if", node.start, no.end, children=(node, yes, no))
        self._depth -= 1
        return node

    def _or(self) -> Node:
        parts = [self._and()]
        while self._take("||"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Node("or", parts[0].start, parts[-1].end, children=tuple(parts))

    def _and(self) -> Node:
        parts = [self._chain(0)]
        while self._take("&&"):
            parts.append(self._chain(0))
        return parts[0] if len(parts) == 1 else Node("and", parts[0].start, parts[-1].end, children=tuple(parts))

    def _chain(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        parts, ops = [self._chain(level + 1)], []
        while (token := self._take(*_LEVELS[level])) is not None:
            ops.append(token.text)
            parts.append(self._chain(level + 1))
        if not ops:
            return parts[0]
        return Node("chain", parts[0].start, parts[-1].end, children=tuple(parts), ops=tuple(ops))

    def _unary(self) -> Node:
        token = self._take("!", "-")
        if token is None:
            return self._member()
        self._deeper()
        inner = self._unary()
        self._depth -= 1
        return Node("not" if token.text == "!" else "negate", token.start, inner.end, children=(inner,))

    def _member(self) -> Node:
        node = self._primary()
        depth = self._depth
        while (token := self._take(".", "[")) is not None:
            self._deeper()
            if token.text == "[":
                index = self._expression()
                node = Node("index", node.start, self._need("]").end, children=(node, index))
                continue
            field = self._name()
            if self._take("("):
                node = self._call(field, (node,), node.start)
            else:
                node = Node("select", node.start, field.end, field.text, (node,))
        self._depth = depth
        return node

    def _primary(self) -> Node:
        token = self._now
        if token.kind in _LITERALS:
            self._at += 1
            kind, read = _LITERALS[token.kind]
            return Node("literal", token.start, token.end, kind, value=read(token))
        if token.kind == "name":
            self._at += 1
            if token.text in ("true", "false"):
                return Node("literal", token.start, token.end, "bool", value=token.text == "true")
            if token.text == "null":
                return Node("literal", token.start, token.end, "null")
            if token.text == "in":
                raise ExpressionError("'in' was not expected here", token.start)
            if self._take("("):
                return self._call(token, (), token.start)
            return Node("name", token.start, token.end, token.text)
        if self._take("("):
            inner = self._expression()
            end = self._need(")").end
            # The brackets belong to the part, so that messages quote all of it.
            return Node(inner.kind, token.start, end, inner.text, inner.children, inner.ops, inner.value)
        if self._take("["):
            items, end = self._arguments("]")
            return Node("list", token.start, end, children=items)
        self._unexpected()

    def _call(self, name: _Token, target: tuple[Node, ...], start: int) -> Node:
        arguments, end = self._arguments(")")
        if name.text == "has" and not target:
            if len(arguments) != 1 or arguments[0].kind != "select":
                raise ExpressionError("has() takes one field, such as has(sample.finish_reason)", name.start)
            return Node("has", start, end, "has", arguments)
        if name.text in MACROS and target:
            if len(arguments) not in (2, 3) or arguments[0].kind != "name":
                raise ExpressionError(f"{name.text}() takes a name and an expression over it", name.start)
            return Node("macro", start, end, name.text, (*target, *arguments))
        return Node("call", start, end, name.text, (*target, *arguments), ops=("method",) if target else ())

    def _arguments(self, closing: str) -> tuple[tuple[Node, ...], int]:
        found: list[Node] = []
        while (token := self._take(closing)) is None:
            if found:
                self._need(",")
            found.append(self._expression())
        return tuple(found), token.end


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"{text[at]!r} has no meaning in a recipe's expressions", at)
        kind = match.lastgroup or ""
        follows = match.end() < len(text) and (text[match.end()].isalnum() or text[match.end()] == "_")
        if kind in ("int", "float") and follows:
            raise ExpressionError(f"{match.group()}{text[match.end()]}… is not a number", at)
        if kind != "space":
            found.append(_Token(kind, match.group(), at, match.end()))
        at = match.end()
    found.append(_Token("end", "", at, at))
    return found


_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.ASCII)
_ESCAPES = dict(zip("abfnrtv\\\"'`?", "\a\b\f\n\r\t\v\\\"'`?", strict=True))
_MOST_WHOLE = 2**63 - 1


def _unquote(token: _Token) -> str:
    raw = token.text[0] in "rR"
    body = token.text[2:-1] if raw else token.text[1:-1]

    def meant(match: re.Match[str]) -> str:
        *hexadecimal, octal, sign = match.groups()
        digits = next(filter(None, hexadecimal), None)
        code = int(digits, 16) if digits else int(octal, 8) if octal else None
        if code is None and sign in _ESCAPES:
            return _ESCAPES[sign]
        if code is None or code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ExpressionError(f"{match.group()!r} is not a character", token.start)
        return chr(code)

    return body if raw else _ESCAPE.sub(meant, body)


def _whole(token: _Token) -> int:
    value = int(token.text, 16 if token.text[:2] in ("0x", "0X") else 10)
    if value > _MOST_WHOLE:
        raise ExpressionError(f"{token.text[:40]} is beyond 64 bits", token.start)
    return value


_LITERALS: Mapping[str, tuple[str, Callable[[_Token], Any]]] = {
    "int": ("int", _whole),
    "float": ("double", lambda token: float(token.text)),
    "string": ("string", _unquote),
}
"""The literal's type and its reader, by the token's kind."""
