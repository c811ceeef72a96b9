"""Calls in Python's syntax, `[search(query="x", k=3), stop()]`: parsed, never evaluated; arguments are literals."""

from __future__ import annotations

import ast
import math
import re
import warnings
from keyword import kwlist
from typing import Any

from rewarden_verifiers.structure.json.strict import (
    MAX_DEPTH,
    MAX_DIGITS,
    Malformed,
    SyntaxFault,
    check_surrogates,
    parse,
)
from rewarden_verifiers.tools.tool_calls.calls import MAX_NAME, Call

MAX_CODE = 100_000
"""Characters of a text that is read as Python."""

_BEGINNING = re.compile(r"\[?\s{0,100}[A-Za-z_][\w.]{0,255}\(")
_WORDS = {"true": True, "false": False, "null": None}
_BARE_WORDS = {**_WORDS, "none": None}
# Python refuses its own words as the names of arguments (`from="Oslo"`), which tools know nothing of.
_RESERVED = re.compile(rf"(?<=[(,])(\s{{0,100}})({'|'.join(kwlist)})(?=\s{{0,8}}=(?!=))")
_FREED = "reserved_word__"
_LARGEST = 10**MAX_DIGITS


def looks_like_python(text: str) -> bool:
    """Returns whether a text, blanks at its ends removed, is meant as calls in Python's syntax."""
    return text.endswith((")", "]")) and _BEGINNING.match(text) is not None


def begins_as_python(text: str, position: int) -> bool:
    """Returns whether a call in Python's syntax, or a list of such, seems to begin there."""
    return _BEGINNING.match(text, position) is not None


def python_calls(text: str) -> list[Call]:
    """The calls of a text. Raises Malformed for anything else: names, operators, comprehensions, nested calls."""
    if len(text) > MAX_CODE:
        raise Malformed("too_long", f"more than {MAX_CODE} characters")
    calls: list[Call] = []
    for statement in _tree(text).body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
        for item in items:
            if not isinstance(item, ast.Call):
                raise Malformed("malformed_call", "there is something besides calls")
            calls.append(_call(item))
    return calls


def bare(text: str) -> Any:
    """The value that a bare text may be: JSON, or an object or a list as Python writes them, as some chat templates do
    and servers read; True, False and None too. Raises Malformed."""
    stripped = text.strip()
    word = stripped.lower()
    if word in _BARE_WORDS:
        return _BARE_WORDS[word]
    try:
        return parse(text)
    except SyntaxFault:
        if stripped[:1] not in ("{", "[") or len(stripped) > MAX_CODE:
            raise
    (statement, *others) = _tree(stripped).body
    if others or not isinstance(statement, ast.Expr) or not isinstance(statement.value, (ast.Dict, ast.List)):
        raise Malformed("malformed", "there is something besides an object or a list")
    return _literal(statement.value, 1)


def _tree(text: str) -> ast.Module:
    """A text as Python, words that Python reserves allowed as the names of arguments. Raises Malformed."""
    try:
        return _parsed(text)
    except SyntaxError as error:
        freed = text if _FREED in text else _RESERVED.sub(rf"\1{_FREED}\2", text)
        if freed == text:
            raise Malformed("malformed", f"no Python: {error.msg}") from None
    try:
        tree = _parsed(freed)
    except SyntaxError as error:
        raise Malformed("malformed", f"no Python: {error.msg}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg is not None:
            node.arg = node.arg.removeprefix(_FREED)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # where a text holds such an argument
            node.value = node.value.replace(_FREED, "")
    return tree


def _parsed(text: str) -> ast.Module:
    """A text as Python. Raises SyntaxError, and Malformed for what the parser cannot take at all."""
    try:
        if "\\" in text:  # a warning about an escape must neither be printed nor, where a caller asks so, raised
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text)
        return ast.parse(text)
    except (ValueError, RecursionError, MemoryError):
        # Null bytes and lone surrogates; operators and attributes nested without end.
        raise Malformed("malformed", "no Python that can be read") from None


def _call(node: ast.Call) -> Call:
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Malformed("malformed_call", "** in a call")
        if keyword.arg in arguments:
            raise Malformed("duplicate_key", f"the argument {keyword.arg[:80]!r} occurs twice in a call")
        arguments[keyword.arg] = _literal(keyword.value, 1)
    return Call(_name(node.func), arguments, tuple(_literal(item, 1) for item in node.args))


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise Malformed("malformed_call", "what is called has no plain name")
    parts.append(node.id)
    name = ".".join(reversed(parts))
    if len(name) > MAX_NAME:
        raise Malformed("malformed_call", f"a tool's name must not be longer than {MAX_NAME} characters")
    return name


def _literal(node: ast.expr, depth: int) -> Any:
    """The value of a literal that JSON can hold. Raises Malformed for all else."""
    if depth > MAX_DEPTH:
        raise Malformed("too_deep", f"nested deeper than {MAX_DEPTH}")
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Dict):
        made: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = _literal(key, depth + 1) if key is not None else None
            if not isinstance(name, str):
                raise Malformed("malformed_call", "the keys of a dictionary must be strings")
            if name in made:
                raise Malformed("duplicate_key", f"the key {name[:80]!r} occurs twice in a dictionary")
            made[name] = _literal(value, depth + 1)
        return made
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            number = _constant(number)
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.Name) and node.id in _WORDS:  # as models write that know JSON better
        return _WORDS[node.id]
    raise Malformed("malformed_call", "an argument is not a literal")


def _constant(value: object) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        check_surrogates(value)
        return value
    if isinstance(value, int):
        if value >= _LARGEST:
            raise Malformed("huge_number", f"an integer of more than {MAX_DIGITS} digits")
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise Malformed("malformed_call", "an argument is not a value of JSON")
