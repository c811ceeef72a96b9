"""The shim of Lua. A table with the keys 1 to n crosses as a list, as does an empty one; any other table is a
dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewarden_verifiers.execution.shims.brokered import Interpreter
from rewarden_verifiers.execution.shims.heads import TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written

NAMES = frozenset({"lua"})
INIT = True
TEXTS = False

_LUA = Interpreter(
    folder="lua",
    ending="lua",
    command="lua5.4",
    start='os.exit(select(3, os.execute("exec {}")))\n',
    framework="luaunit",
)
_HEADS = Heads(
    ignored=rf"--\[\[.*?\]\]|--[^\n]*|{TEXT}",
    head=r"(?:local[ \t]+)?(?:function[ \t]+NAME[ \t]*\(|NAME[ \t]*=[ \t]*function\b)",
)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return _LUA.unfit(entry)


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _LUA.calling(code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _LUA.serving(code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return _LUA.testing(tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return _LUA.sharing(code, tests)


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return ""
