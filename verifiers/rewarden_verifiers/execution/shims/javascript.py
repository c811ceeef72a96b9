"""The shim of JavaScript: the program runs unchanged in Node, loaded by a script of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_verifiers.execution.shims.written import Entry, Written, scripted

NAMES = frozenset({"javascript", "js", "node", "nodejs"})


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return None


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call of those targets."""
    return scripted("call", "javascript", "js", solution=code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers the tests' room."""
    return scripted("serve", "javascript", "js", solution=code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return scripted("tests", "javascript", "js", tests=tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return scripted("tests", "javascript", "js", solution=code, tests=tests)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    word = re.escape(name)
    declared = rf"(?:async[ \t]+)?function\b[ \t*]*{word}\b|(?:const|let|var)[ \t]+{word}\b"
    return re.search(rf"^(?:export[ \t]+)?(?:default[ \t]+)?(?:{declared})", code, re.MULTILINE) is not None


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program needs that replaces the prompt's function."""
    return ""
