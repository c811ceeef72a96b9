"""The shim of Perl. A scalar crosses as a number if the program created it as one, and as a text otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_verifiers.execution.shims.brokered import Interpreter
from rewarden_verifiers.execution.shims.heads import HASH, TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written

NAMES = frozenset({"perl", "pl"})
INIT = True
TEXTS = False

_PERL = Interpreter(folder="perl", ending="pl", command="perl", start="exec qw({});\n", framework="deep")
_PREAMBLE = re.compile(r"^[ \t]*use[ \t][^\n]*;[ \t]*$", re.MULTILINE)
_HEADS = Heads(ignored=f"{HASH}|{TEXT}", head=r"sub\s+NAME")


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return _PERL.unfit(entry)


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _PERL.calling(code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _PERL.serving(code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return _PERL.testing(tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return _PERL.sharing(code, tests)


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return "\n".join(match[0] for match in _PREAMBLE.finditer(prefix))
