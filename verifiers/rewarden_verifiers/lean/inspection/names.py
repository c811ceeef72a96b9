"""Names as text, and the names that a compiler makes up."""

from __future__ import annotations

import re

from rewarden_verifiers.lean.inspection.terms import Module, Name

_PLAIN = re.compile(r"[^\W\d][\w'!?]*\Z")
_ESCAPES = str.maketrans({"\\": "\\\\", "»": "\\»", "\n": "\\n", "\r": "\\r"})
_UNESCAPED = {"n": "\n", "r": "\r"}
_NOT_SAID = ("_private", "_root_")
_INSIDE = re.compile(r"[^«»\\\r\n]+\Z")  # characters that can be between « and »
_NUMBERED = re.compile(r"(match|proof|simp)_[0-9]+\Z")


def text(name: Name) -> str:
    """Returns the name as Lean prints it, such that no two names look the same: a component that is not a plain word is
    put between « and », with \\, » and line ends escaped."""
    if not name:
        return "[anonymous]"
    return ".".join(
        str(part) if isinstance(part, int) else part if _PLAIN.match(part) else f"«{part.translate(_ESCAPES)}»"
        for part in name
    )


def parse(text: str) -> Name:
    """Returns the name that is printed like this. Raises ValueError for text that is not a printed name."""
    if text == "[anonymous]":
        return ()
    parts: list[str | int] = []
    at = 0
    while True:
        if text[at : at + 1] == "«":
            part, at = _quoted(text, at + 1)
            parts.append(part)
        else:
            word = text[at:].split(".", 1)[0]
            if not word or "«" in word or "»" in word:
                raise ValueError(f"{text!r} is not a name")
            at += len(word)
            parts.append(int(word) if word.isascii() and word.isdigit() else word)
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            raise ValueError(f"{text!r} is not a name")
        at += 1


def _quoted(text: str, at: int) -> tuple[str, int]:
    letters = []
    while at < len(text) and text[at] != "»":
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
            letters.append(_UNESCAPED.get(text[at], text[at]))
        else:
            letters.append(text[at])
        at += 1
    if at == len(text):
        raise ValueError(f"{text!r} is not a name")
    return "".join(letters), at + 1


def bare(name: Name) -> Name:
    """Returns a private name without the module in which it is private: `_private.Main.0.f` becomes `_private.f`."""
    if name[:1] == ("_private",) and 0 in name:
        return ("_private", *name[name.index(0) + 1 :])
    return name


def sayable(name: Name) -> bool:
    """Returns whether a source can refer to a constant by this name: Lean has no syntax for numbers in names, nor for
    constants that are private to another module."""
    return bool(name) and not any(
        isinstance(part, int) or part.isdigit() or part in _NOT_SAID or not _INSIDE.match(part) for part in name
    )


def made_up(name: Name) -> bool:
    """Returns whether the elaborator chose this name (`f.match_1`, `f._proof_2`): its numbers depend on the preceding
    text, so that only the content distinguishes such constants."""
    parts = bare(name)
    rest = parts[1:] if parts[:1] == ("_private",) else parts
    return any(isinstance(part, str) and (part.startswith("_") or _NUMBERED.match(part)) for part in rest)


def owned(module: Module) -> dict[Name, Name]:
    """Returns the module's constants by their `bare` names; by the whole name if two would be the same."""
    by_bare: dict[Name, list[Name]] = {}
    for name in module.constants:
        by_bare.setdefault(bare(name), []).append(name)
    return {key if len(names) == 1 else name: name for key, names in by_bare.items() for name in names}
