"""A module's source as bytes that change only when its behaviour can.

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

    docstrings: whether strings that are statements of their own count. They have no effect unless code reads them.
    """
    made: list[str] = []
    waiting: list[ast.AST | str] = [tree]
    while waiting:  # no recursion: a chain of a thousand operators is a thousand levels deep
        item = waiting.pop()
        if isinstance(item, str):
            made.append(item)
        elif isinstance(item, ast.Name):  # a shortcut for every third node
            made.append(f"Name(id=str:{item.id!a};)")
        else:
            parts = _parts(item, docstrings)
            parts.reverse()
            waiting += parts
    return hashlib.blake2b("".join(made).encode(), digest_size=16).digest()


def _parts(node: ast.AST, docstrings: bool) -> list[ast.AST | str]:
    """The text of a node, with its children left as nodes."""
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
    """A literal, a name, or None for a gap in a list, as in the keys of {**more}. In ASCII and hex: which characters
    `repr` escapes depends on Python's version of Unicode, and it refuses the decimal digits of huge numbers.
    """
    return f"{type(value).__name__}:{hex(value) if type(value) is int else ascii(value)}"


def _joined(node: ast.JoinedStr) -> Iterator[ast.AST | str]:
    """The parts of an f-string. How adjacent texts are split, and whether there are empty ones, depends on Python's
    version.
    """
    for is_text, group in groupby(node.values, lambda part: isinstance(part, ast.Constant)):
        if not is_text:
            yield from group
        elif text := "".join(str(part.value) for part in group if isinstance(part, ast.Constant)):
            yield f"{_constant(text)},"


def _stands_alone(item: object) -> bool:
    """Returns whether this is a docstring, or another string that is a statement of its own."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)
