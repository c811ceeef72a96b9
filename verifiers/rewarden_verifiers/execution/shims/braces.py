"""The braces of a program in a language like C, and the declaration of a function between them.

Programs are hostile text. The time is linear in it, provided that the pattern of ignored text cannot fail once it has
begun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BRACE = re.compile(r"[{}]")
_OPENING, _CLOSING = "<([{", ">)]}"


@dataclass(frozen=True, slots=True)
class Declared:
    """A function's declaration: the code before it, its own text up to its name, the parameters in angle brackets after
    the name, the list of its parameters, and all text after that. Comments and literals of the last two are blanks."""

    before: str
    head: str
    generic: str
    listed: str
    tail: str


def bare(code: str, ignored: re.Pattern[str]) -> str:
    """Returns code of the same length with blanks for comments and literals."""
    return ignored.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


def closed(code: str, ignored: re.Pattern[str]) -> str:
    """Returns code in which every brace that opens also closes: with the missing ones at its end, and without those
    after its end."""
    depth = 0
    text = bare(code, ignored)
    for brace in _BRACE.finditer(text):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            return code if text[brace.start() :].strip("} \t\r\n") else code[: brace.start()]
    return f"{code}\n{'}' * depth}\n" if depth else code


def outermost(code: str, ignored: re.Pattern[str]) -> str:
    """Returns the text outside all braces."""
    depth, outside = 0, []
    for part in re.split(r"([{}])", bare(code, ignored)):
        depth += (part == "{") - (part == "}")
        if depth <= 0:
            outside.append(part)
    return " ".join(outside)


def declared(code: str, name: str, ignored: re.Pattern[str], before: str, after: str = "") -> Declared | None:
    """Returns the last declaration of a function in code, or None. before, after: the patterns of the text between it
    and its name, and of the text after its parameters."""
    text = bare(code, ignored)
    closing = ends(text)
    pattern = rf"(?:^|(?<=[{{}};]))[ \t]*({before})\b{re.escape(name)}[ \t]*(<[^(){{}};\n]*>)?[ \t]*\("
    following = re.compile(after)
    found = None
    for start in re.finditer(pattern, text, re.MULTILINE):
        end = closing.get(start.end() - 1)
        if end is not None and following.match(text, end):
            found = start
    if found is None:
        return None
    end = closing[found.end() - 1]
    listed = text[found.end() : end - 1]
    return Declared(code[: found.start()], found[1], found[2] or "", listed, text[end:])


def ends(text: str) -> dict[int, int]:
    """Returns the place after the parenthesis that closes each one."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for sign in re.finditer(r"[()]", text):
        if sign[0] == "(":
            opened.append(sign.start())
        elif opened:
            closing[opened.pop()] = sign.end()
    return closing


def split(listed: str) -> Iterator[str]:
    """Yields the parts between the outermost commas."""
    depth = start = 0
    text = listed.replace("->", "  ")
    for place, sign in enumerate(text):
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if sign == "," and depth == 0:
            yield listed[start:place].strip()
            start = place + 1
    if listed[start:].strip():
        yield listed[start:].strip()
