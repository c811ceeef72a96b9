"""The shim of R. A one-item vector counts as its item, unless it is compared with a list."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_verifiers.execution.shims.brokered import Interpreter
from rewarden_verifiers.execution.shims.heads import HASH, TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written

NAMES = frozenset({"r", "rscript"})
INIT = True
TEXTS = False

_R = Interpreter(
    folder="r",
    ending="R",
    command="Rscript --vanilla",
    start='quit("no", system("exec {}"))\n',
    names=r"[A-Za-z.][\w.]*",
)
_PREAMBLE = re.compile(r"^(?:library|require)\([^\n]*\)[ \t]*$", re.MULTILINE)
_HEADS = Heads(
    ignored=f"{HASH}|{TEXT}",
    head=r"NAME[ \t]*(?:<<?-|=)[ \t]*function\b",
    name=r"[A-Za-z.][\w.]*",
    more=".",
)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return _R.unfit(entry)


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _R.calling(code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _R.serving(code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return _R.testing(tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return _R.sharing(code, tests)


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return "\n".join(match[0] for match in _PREAMBLE.finditer(prefix))
