"""The definition of a checker, and the table in which all checkers are registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.text import Text

Check = Callable[[Text], bool]
Build = Callable[[Arguments], Check]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """The check of an instruction.

    build: makes the check from the instruction's arguments.
    guard: makes what must hold besides where guards are on: it stops responses that the official checker passes
        although they do nothing of what was asked. why: what the official checker overlooks.
    official: makes the check that stands where guards are off; None if that is the same one.
    """

    name: str
    build: Build
    guard: Build | None = None
    why: str = ""
    official: Build | None = None


CHECKERS: dict[str, Checker] = {}


def checker(
    name: str, *, guard: Build | None = None, why: str = "", official: Build | None = None
) -> Callable[[Build], Build]:
    """Registers a checker under its id."""

    def enter(build: Build) -> Build:
        CHECKERS[name] = Checker(name=name, build=build, guard=guard, why=why, official=official)
        return build

    return enter


def plain(name: str, *, guard: Check | None = None, why: str = "") -> Callable[[Check], Check]:
    """Registers a checker without arguments."""

    def enter(check: Check) -> Check:
        guarded: Build | None = None if guard is None else lambda arguments: guard
        CHECKERS[name] = Checker(name=name, build=lambda arguments: check, guard=guarded, why=why)
        return check

    return enter
