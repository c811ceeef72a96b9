"""The shim of a language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

from rewarden_verifiers.execution.shims import (
    bash,
    cpp,
    go,
    java,
    javascript,
    lua,
    perl,
    php,
    r,
    ruby,
    rust,
    typescript,
)
from rewarden_verifiers.execution.shims.written import Entry, Written


class Shim(Protocol):
    """The functions of a language's module in this package, such as `javascript`."""

    NAMES: frozenset[str]
    INIT: bool
    """True if objects can be constructed with arguments."""
    TEXTS: bool
    """True if functions can only return text."""

    def unfit(self, entry: Entry) -> str | None:
        """Returns why test code cannot run in a separate room, or None."""

    def calling(self, entry: Entry, code: str, targets: Iterable[str]) -> Written:
        """Returns the program that makes one call."""

    def serving(self, entry: Entry, code: str) -> Written:
        """Returns the candidate's side of two rooms."""

    def testing(self, entry: Entry, tests: str) -> Written:
        """Returns the tests' side of two rooms."""

    def sharing(self, entry: Entry, code: str, tests: str) -> Written:
        """Returns both in one program."""

    def functions(self, prompt: str) -> list[str]:
        """Returns the names of the functions that a prompt declares, in order."""

    def defines(self, code: str, name: str) -> bool:
        """Returns whether code defines a function of that name."""

    def preamble(self, prefix: str) -> str:
        """Returns the lines of a prompt that every program needs."""


_SHIMS = cast(tuple[Shim, ...], (javascript, typescript, cpp, java, go, rust, ruby, php, bash, perl, lua, r))


def shim_of(language: str) -> Shim | None:
    """Returns the shim of a language, given any of its names, or None."""
    name = language.lower()
    return next((shim for shim in _SHIMS if name in shim.NAMES), None)
