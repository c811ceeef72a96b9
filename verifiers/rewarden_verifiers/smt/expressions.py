"""S-expressions of SMT-LIB 2, parsed without recursion and written out again: Z3 never reads a response's own text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

Expression: TypeAlias = "str | list[Expression]"
"""An atom as written, or a list."""

MAX_TEXT = 400_000
"""The maximum length of a script."""

MAX_DEPTH = 2_000
"""The maximum nesting depth. Attack: an expression that overflows the stack of a recursive reader."""

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+|;[^\r\n]*)
    |(?P<bracket>[()])
    |(?P<string>"(?:[^"]|"")*")
    |(?P<quoted>\|[^|\\]*\|)
    |(?P<atom>[A-Za-z0-9~!@$%^&*_+=<>.?/:#-]+)""",
    re.VERBOSE,
)

SIMPLE = re.compile(r"[A-Za-z~!@$%^&*_+=<>.?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]*")
"""A symbol that needs no bars around it."""

Written = tuple[str, ...]
"""An expression as tokens. Two are equal if they are written alike, apart from blanks and comments."""


class Unreadable(ValueError):
    """The text is not a sequence of S-expressions; the message says why."""


class TooLarge(Unreadable):
    """The text is too long, or nested too deeply."""


def read(text: str) -> list[Expression]:
    """Parses the expressions in a text. Unnecessary bars around a symbol are removed, because both forms spell the same
    name.

    Raises Unreadable, TooLarge.
    """
    if len(text) > MAX_TEXT:
        raise TooLarge(f"it has more than {MAX_TEXT} characters")
    top: list[Expression] = []
    open_lists = [top]
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise Unreadable(f"unexpected {text[place : place + 20]!a} in line {text.count(chr(10), 0, place) + 1}")
        place = match.end()
        kind, token = match.lastgroup, match[0]
        if kind == "blank":
            continue
        if token == "(":
            made: list[Expression] = []
            open_lists[-1].append(made)
            open_lists.append(made)
            if len(open_lists) > MAX_DEPTH:
                raise TooLarge(f"it is nested more than {MAX_DEPTH} deep")
        elif token == ")":
            if len(open_lists) == 1:
                raise Unreadable(f"unexpected `)` in line {text.count(chr(10), 0, place) + 1}")
            open_lists.pop()
        elif kind == "quoted":
            name = token[1:-1]
            if not name.isprintable() or not name.isascii():
                raise Unreadable(f"the symbol {token[:40]!a} has characters that no symbol may have")
            open_lists[-1].append(name if SIMPLE.fullmatch(name) else token)
        else:
            if kind == "string" and not (token.isprintable() and token.isascii()):
                raise Unreadable("a string has characters other than printable ASCII; write them as \\u{…}")
            open_lists[-1].append(token)
    if len(open_lists) > 1:
        raise Unreadable(f"{len(open_lists) - 1} brackets are not closed")
    return top


def tokens(expression: Expression) -> Iterator[str]:
    """The tokens of an expression in order, brackets included."""
    waiting: list[Expression | None] = [expression]
    while waiting:
        one = waiting.pop()
        if one is None:
            yield ")"
        elif isinstance(one, str):
            yield one
        else:
            yield "("
            waiting.append(None)
            waiting.extend(reversed(one))


def written(expression: Expression) -> Written:
    """The tokens of an expression."""
    return tuple(tokens(expression))


def text_of(expression: Expression) -> str:
    """An expression as text."""
    return " ".join(tokens(expression))
