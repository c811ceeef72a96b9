"""The shim of PHP: the program runs unchanged, loaded by our script."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_verifiers.execution.shims.heads import HASH, SLASHES, TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written, scripted

NAMES = frozenset({"php"})
INIT = True
TEXTS = False

_OPENED = re.compile(r"<\?(?:php\b|=)", re.IGNORECASE)
_HEADS = Heads(
    ignored=f"{SLASHES}|{HASH}|{TEXT}",
    head=r"(?i:(?:[^\n]*<\?php\s+)?function\s+&?\s*NAME\s*\()",
    also=r"(?i:(?:[^\n]*<\?php\s+)?\$NAME\s*=\s*(?:static\s+)?(?:function|fn)\b)",
)


def _script(name: str, *, solution: str | None = None, tests: str | None = None) -> Written:
    if solution is not None and not _OPENED.search(solution):
        solution = f"<?php\n{solution}"
    if tests is not None:
        tests = re.sub(r"\A\s*<\?php\b", "", tests, flags=re.IGNORECASE)
    return scripted(name, "php", "php", solution=solution, tests=tests)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return None


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _script("call", solution=code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _script("serve", solution=code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room. The program file that test code may require is empty there."""
    return _script("tests", solution="", tests=tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return _script("tests", solution=code, tests=tests)


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return ""
