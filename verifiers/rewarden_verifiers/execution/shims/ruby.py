"""The shim of Ruby: the program runs unchanged, loaded by our script."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_verifiers.execution.shims.heads import HASH, TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written, scripted

NAMES = frozenset({"ruby", "rb"})
INIT = True
TEXTS = False
_HEADS = Heads(
    ignored=rf"^=begin\b.*?^=end\b|{HASH}|{TEXT}",
    head=r"def[ \t]+(?:self\.)?NAME",
    also=r"NAME[ \t]*=[^=]",
    name=r"[A-Za-z_]\w*[?!]?",
    more="?!",
)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return None


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return scripted("call", "ruby", "rb", solution=code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return scripted("serve", "ruby", "rb", solution=code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room. The program file that test code may require is empty there."""
    return scripted("tests", "ruby", "rb", solution="", tests=tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return scripted("tests", "ruby", "rb", solution=code, tests=tests)


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return "\n".join(re.findall(r"^require(?:_relative)?[ \t(][^\n]*", prefix, re.MULTILINE))
