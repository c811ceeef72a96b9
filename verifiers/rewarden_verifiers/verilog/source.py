"""The text of a design before any tool reads it: its modules, and constructs that no design needs."""

from __future__ import annotations

import re

MAX_CHARACTERS = 200_000
"""The maximum size of a design."""

_SKIPPED = re.compile(r'//[^\n]*|/\*(?:.*?\*/|.*)|"(?:[^"\\\n]|\\.)*"?|\\\S+', re.DOTALL)
"""Comments, strings and escaped names. One that is not closed goes to the end, so that the time is linear."""

_MODULE = re.compile(r"\b(?:module|macromodule)\s+(?:(?:automatic|static)\s+)?([A-Za-z_]\w*)")
_TASK = re.compile(r"\$(\w*)")
_FUNCTIONS = frozenset(("signed", "unsigned", "clog2", "bits", "size", "high", "low", "left", "right", "countones"))
"""System functions that are constant or are hardware."""

_DIRECTIVE = re.compile(r"`(include|line|pragma|begin_keywords)\b")
_FOREIGN = re.compile(r"\b(force|release|bind|assume|restrict|alias|specify|program|initial\s+forever)\b")


class Refused(ValueError):
    """A design with a construct that it may not have. reason: snake_case, of the verdict."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def code(text: str) -> str:
    """The text without comments, strings and escaped names."""
    return _SKIPPED.sub(" ", text)


def modules(text: str) -> list[str]:
    """The names of the modules that a text defines, in order."""
    return _MODULE.findall(code(text))


def check(text: str, top: str) -> None:
    """Raises Refused for a design that has no module of that name, or a construct that is not hardware.

    This gives such a design its reason. What keeps it from the test bench is the netlist that is made of it.
    """
    plain = code(text)
    if top not in _MODULE.findall(plain):
        raise Refused("module_missing", f"it defines no module {top}")
    if "``" in plain or '`"' in plain:
        # Attack: a macro that pastes the name of a system task together.
        raise Refused("forbidden_construct", "macros that paste tokens")
    if (found := _DIRECTIVE.search(plain)) is not None:
        raise Refused("forbidden_construct", f"the directive `{found[1]}")
    for task in _TASK.finditer(plain):
        if task[1] not in _FUNCTIONS:
            # Attack: print the pass mark, end the simulation, read a file.
            raise Refused(
                "system_task", f"${task[1][:40]} is not hardware; give the design alone, without a test bench"
            )
    if (found := _FOREIGN.search(plain)) is not None:
        raise Refused("forbidden_construct", f"`{found[1]}` is not hardware")
