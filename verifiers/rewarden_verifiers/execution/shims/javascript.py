"""The shim of JavaScript: the program runs unchanged in Node, loaded by our script."""

from __future__ import annotations

from collections.abc import Iterable

from rewarden_verifiers.execution.shims.heads import SLASHES, TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written, scripted

NAMES = frozenset({"javascript", "js", "node", "nodejs"})
INIT = True
TEXTS = False
_HEADS = Heads(
    ignored=f"{SLASHES}|{TEXT}",
    head=r"(?:export[ \t]+)?(?:default[ \t]+)?(?:(?:async[ \t]+)?function\b[\s*]*NAME|(?:const|let|var)[ \t]+NAME"
    r"[^=\n]*=[ \t]*(?:async\b[ \t]*)?(?:function\b|\(|[A-Za-z_$][\w$]*[ \t]*=>))",
    also=r"(?:export[ \t]+)?(?:default[ \t]+)?(?:const|let|var)[ \t]+NAME",
    name=r"[A-Za-z_$][\w$]*",
    more="$",
)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return None


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return scripted("call", "javascript", "js", solution=code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return scripted("serve", "javascript", "js", solution=code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return scripted("tests", "javascript", "js", tests=tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return scripted("tests", "javascript", "js", "machinery", solution=code, tests=tests)


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return ""
