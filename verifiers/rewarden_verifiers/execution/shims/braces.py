"""Finds the braces of a program in a C-like language, and a function's declaration between them.

Programs are hostile text. The time is linear, provided that the pattern of ignored text cannot fail once it has begun
to match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BRACE = re.compile(r"[{}]")
_OPENING, _CLOSING = "<([{", ">)]}"


@dataclass(frozen=True, slots=True)
class Declared:
    """A function's declaration: the code before it, its text up to the name, the parameters in angle brackets after the
    name, its parameter list, and all text after that. Comments and literals in the last two are blanked out.
    """

    before: str
    head: str
    generic: str
    listed: str
    tail: str


def bare(code: str, ignored: re.Pattern[str]) -> str:
    """Returns code of the same length with comments and literals blanked out."""
    return ignored.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


def closed(code: str, ignored: re.Pattern[str]) -> str:
    """Returns code with balanced braces: missing closing braces are added at the end, and superfluous ones are removed
    there.
    """
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
    """Returns the last declaration of a function in code, or None. before, after: the patterns of the text before its
    name and after its parameters.
    """
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
    """Maps each opening parenthesis to the position after the one that closes it."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for sign in re.finditer(r"[()]", text):
        if sign[0] == "(":
            opened.append(sign.start())
        elif opened:
            closing[opened.pop()] = sign.end()
    return closing


def split(listed: str) -> Iterator[str]:
    """Splits a text at the outermost commas."""
    depth = start = 0
    text = listed.replace("->", "  ")
    for place, sign in enumerate(text):
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if sign == "," and depth == 0:
            yield listed[start:place].strip()
            start = place + 1
    if listed[start:].strip():
        yield listed[start:].strip()
