"""PDDL's nested lists as text: read into lists of lower-case names, and written again."""

from __future__ import annotations

import re

Expression = str | list["Expression"]

MAX_TEXT = 2_000_000
"""Characters of a domain or a problem."""
MAX_DEPTH = 60
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_TOKEN = re.compile(r"[()]|[^\s();]+|;[^\n]*")


def parse(text: str) -> Expression:
    """The one expression of a text; comments from `;` to the line's end are skipped. Raises ValueError."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"more than {MAX_TEXT} characters of PDDL")
    opened: list[list[Expression]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            if len(opened) > MAX_DEPTH:
                raise ValueError(f"brackets are nested deeper than {MAX_DEPTH}")
            opened.append([])
        elif token == ")":
            if len(opened) == 1:
                raise ValueError("a bracket closes that was never opened")
            inner = opened.pop()
            opened[-1].append(inner)
        elif not token.startswith(";"):
            opened[-1].append(lowered(token))
    if len(opened) > 1:
        raise ValueError("a bracket is never closed")
    if len(opened[0]) != 1:
        raise ValueError("there must be one expression in brackets")
    return opened[0][0]


def lowered(text: str) -> str:
    """The text with A to Z in lower case. `str.lower` would turn the sign of the unit kelvin into the letter k."""
    return text.translate(_LOWER)


def written(expression: Expression) -> str:
    """The expression as PDDL, cut where it is long."""
    if isinstance(expression, str):
        return expression
    text = f"({' '.join(map(written, expression[:20]))})"
    return text if len(text) <= 120 else f"{text[:119]}…"


def head(expression: Expression) -> str:
    """The first name of a list, or an empty text if there is none."""
    first = expression[0] if isinstance(expression, list) and expression else ""
    return first if isinstance(first, str) else ""


def names(expressions: list[Expression]) -> list[str]:
    """The expressions, which must all be names. Raises ValueError."""
    found = [one for one in expressions if isinstance(one, str)]
    if len(found) < len(expressions):
        raise ValueError(f"{written(expressions)} must be a list of names")
    return found


def lists(expressions: list[Expression]) -> list[list[Expression]]:
    """The expressions, which must all be lists. Raises ValueError."""
    found = [one for one in expressions if isinstance(one, list)]
    if len(found) < len(expressions):
        raise ValueError(f"{written(expressions)} must be a list of lists")
    return found
