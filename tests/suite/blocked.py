"""A plugin for pytest: packages named in REWARDEN_TESTS_WITHOUT, with commas, are as if they were not installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from tests.suite.optional import of

WITHOUT = "REWARDEN_TESTS_WITHOUT"


def block(names: frozenset[str]) -> None:
    """Let no import find these packages; `find_spec` says None of them, as of what is not there."""
    found = PathFinder.find_spec

    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return None if of(name, names) else found(name, path, target)

    finder: Any = PathFinder
    finder.find_spec = staticmethod(find_spec)


block(frozenset(filter(None, os.environ.get(WITHOUT, "").split(","))))
