"""The reference of `verilog`: a solution, and the test bench if there is one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden_verifiers.verilog.source import MAX_CHARACTERS, modules

_NAME = re.compile(r"[A-Za-z_]\w{0,200}")
_FILE = re.compile(r"[A-Za-z0-9_][\w.-]{0,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The reset of a sequential design.

    signal: Name of the input. active: The level that resets. cycles: Clock cycles for which it is held first.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    signal: str
    active: Literal[0, 1] = 1
    cycles: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VerilogReference:
    """A solution, and how designs are compared with it.

    solution: A design that is right; its ports are the required ones.
    top: Name of the module; by default the last one of the solution.
    testbench: Verilog that instantiates the module and prints the result. Without it, designs must be equivalent to the
        solution.
    passes: Text that the test bench prints if and only if the design is right.
    fails: Text that it prints only if the design is wrong.
    files: Files that the test bench reads, by name.
    reset: For equivalence of sequential designs: how they are reset. Without it, all registers need initial values.
    """

    # A misspelt key must not be silently ignored.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    solution: str
    top: str | None = None
    testbench: str | None = None
    passes: str | None = None
    fails: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    reset: Reset | None = None

    def checked(self) -> str:
        """Returns the name of the module. Raises InvalidReference naming the field."""
        found = modules(self.solution)
        if not found:
            raise _invalid("solution", "it defines no module")
        top = self.top or found[-1]
        if _NAME.fullmatch(top) is None or top not in found:
            raise _invalid("top", f"the solution defines no module {top[:80]!r}")
        if len(self.solution) + len(self.testbench or "") > 10 * MAX_CHARACTERS:
            raise _invalid("testbench", "it is too long")
        if self.testbench is None:
            for name in ("passes", "fails", "files"):
                if getattr(self, name):
                    raise _invalid(name, "it belongs to a test bench")
            if self.reset is not None and not (_NAME.fullmatch(self.reset.signal) and 1 <= self.reset.cycles <= 100):
                raise _invalid("reset", "signal must be a name, and cycles from 1 to 100")
            return top
        if self.reset is not None:
            raise _invalid("reset", "it is for equivalence; a test bench resets the design itself")
        if not self.passes:
            raise _invalid("passes", "give the text that the test bench prints if the design is right")
        if top in modules(self.testbench):
            raise _invalid("testbench", f"it defines the module {top} itself")
        for name in self.files:
            if _FILE.fullmatch(name) is None or name in ("main.v", "main"):
                raise _invalid("files", f"{name[:80]!r} is not a name that a file can have")
        return top


def _invalid(name: str, message: str) -> InvalidReference:
    return InvalidReference(f"reference.{name}: {message}", path=f"reference.{name}")
