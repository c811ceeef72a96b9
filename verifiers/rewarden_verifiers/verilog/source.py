"""The source of a design before any tool reads it: its modules, and constructs that no design needs."""

from __future__ import annotations

import re

MAX_CHARACTERS = 200_000
"""The maximum length of a design."""

_SKIPPED = re.compile(r'//[^\n]*|/\*(?:.*?\*/|.*)|"(?:[^"\\\n]|\\.)*"?|\\\S+', re.DOTALL)
"""Comments, strings and escaped names. Unclosed ones extend to the end, so that matching takes linear time."""

_MODULE = re.compile(r"\b(?:module|macromodule)\s+(?:(?:automatic|static)\s+)?([A-Za-z_]\w*)")
_TASK = re.compile(r"\$(\w*)")
_FUNCTIONS = frozenset(("signed", "unsigned", "clog2", "bits", "size", "high", "low", "left", "right", "countones"))
"""System functions that are constant or synthesizable."""

_DIRECTIVE = re.compile(r"`(include|line|pragma|begin_keywords)\b")
_FOREIGN = re.compile(r"\b(force|release|bind|assume|restrict|alias|specify|program|initial\s+forever)\b")


class Refused(ValueError):
    """A design with a forbidden construct. reason: snake_case, of the verdict."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def code(text: str) -> str:
    """Removes comments, strings and escaped names."""
    return _SKIPPED.sub(" ", text)


def modules(text: str) -> list[str]:
    """The names of the modules in a text, in order."""
    return _MODULE.findall(code(text))


def check(text: str, top: str) -> None:
    """Raises Refused for a design without a module of that name, or with a construct that is not hardware.

    This only provides a clear reason. It is the conversion to a netlist that keeps such constructs from the test bench.
    """
    plain = code(text)
    if top not in _MODULE.findall(plain):
        raise Refused("module_missing", f"it defines no module {top}")
    if "``" in plain or '`"' in plain:
        # Attack: a macro that assembles the name of a system task.
        raise Refused("forbidden_construct", "macros that paste tokens")
    if (found := _DIRECTIVE.search(plain)) is not None:
        raise Refused("forbidden_construct", f"the directive `{found[1]}")
    for task in _TASK.finditer(plain):
        if task[1] not in _FUNCTIONS:
            # Attack: printing the pass mark, ending the simulation, or reading a file.
            raise Refused(
                "system_task", f"${task[1][:40]} is not hardware; give the design alone, without a test bench"
            )
    if (found := _FOREIGN.search(plain)) is not None:
        raise Refused("forbidden_construct", f"`{found[1]}` is not hardware")
