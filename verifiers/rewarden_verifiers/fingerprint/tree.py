"""A module's source as bytes that change only when its behaviour may.

`ast.dump` is unsuitable, because its output depends on Python's version. Positions, empty fields and contexts (which
follow from a name's position) are omitted, so fields that later versions added, such as the type parameters of 3.12,
appear only where they are used.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from itertools import groupby

_IRRELEVANT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def digest(tree: ast.Module, *, docstrings: bool) -> bytes:
    """Sixteen bytes over a module's normalised syntax tree, equal on every Python from 3.11.

    docstrings: whether texts that stand alone as a statement count. They do nothing unless code reads them.
    """
    made: list[str] = []
    waiting: list[ast.AST | str] = [tree]
    while waiting:  # not by recursion: a chain of a thousand operators is as deep
        item = waiting.pop()
        if isinstance(item, str):
            made.append(item)
        elif isinstance(item, ast.Name):  # every third node
            made.append(f"Name(id=str:{item.id!a};)")
        else:
            parts = _parts(item, docstrings)
            parts.reverse()
            waiting += parts
    return hashlib.blake2b("".join(made).encode(), digest_size=16).digest()


def _parts(node: ast.AST, docstrings: bool) -> list[ast.AST | str]:
    """The text of a node, in which its children still stand as nodes."""
    kind = type(node)
    if isinstance(node, ast.Constant):
        return [f"{kind.__name__}({_constant(node.value)})"]
    made: list[ast.AST | str] = [f"{kind.__name__}("]
    if isinstance(node, ast.JoinedStr):
        made += _joined(node)
    else:
        for field in kind._fields:
            value = getattr(node, field, None)
            if value is None or value == [] or field in _IRRELEVANT:
                continue
            made.append(f"{field}=")
            if isinstance(value, list):
                for item in value:
                    if docstrings or not _stands_alone(item):
                        made += (item if isinstance(item, ast.AST) else _constant(item), ",")
            else:
                made.append(value if isinstance(value, ast.AST) else _constant(value))
            made.append(";")
    made.append(")")
    return made


def _constant(value: object) -> str:
    """A literal, a name, or None if a list has a gap, as the keys of {**more} have. In ASCII: which characters `repr`
    escapes is up to Python's version of Unicode; and it refuses decimal digits of huge numbers."""
    return f"{type(value).__name__}:{hex(value) if type(value) is int else ascii(value)}"


def _joined(node: ast.JoinedStr) -> Iterator[ast.AST | str]:
    """The parts of an f-string. How adjoining texts are parted, and whether there are empty ones, is up to Python."""
    for is_text, group in groupby(node.values, lambda part: isinstance(part, ast.Constant)):
        if not is_text:
            yield from group
        elif text := "".join(str(part.value) for part in group if isinstance(part, ast.Constant)):
            yield f"{_constant(text)},"


def _stands_alone(item: object) -> bool:
    """Returns whether this is a docstring, or another text that is only a statement."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)
