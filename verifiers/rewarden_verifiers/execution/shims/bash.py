"""The shim of Bash: functions take texts and return the text that they print."""

from __future__ import annotations

from collections.abc import Iterable

from rewarden_verifiers.execution.shims.brokered import Interpreter
from rewarden_verifiers.execution.shims.heads import HASH, TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written, after_brace

NAMES = frozenset({"bash", "sh", "shell"})
INIT = False
TEXTS = True

_BASH = Interpreter(folder="bash", ending="sh", command="bash", start="exec {}\n")
_HEADS = Heads(
    ignored=f"{HASH}|{TEXT}",
    head=r"function[ \t]+NAME|NAME[ \t]*\([ \t]*\)",
    name=r"[A-Za-z_][\w-]*",
    more=".-",
)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return _BASH.unfit(entry)


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _BASH.calling(code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _BASH.serving(code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return _BASH.testing(after_brace(tests))


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return _BASH.sharing(code, after_brace(tests))


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return ""
