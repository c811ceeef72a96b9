"""Texts compiled by a real Lean, and inspected. Each text is compiled once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rewarden_verifiers.lean.inspection.main import inspect
from rewarden_verifiers.lean.inspection.olean import read
from rewarden_verifiers.lean.inspection.terms import Module
from tests.lean.compiler import Compiler
from tests.lean.toolchain import Library

HEADER = "prelude\nimport Base\n"

PERMITTED = ["propext", "Quot.sound", "Classical.choice"]


class Lean:
    """Compiles against the library."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._compiled: dict[str, bytes] = {}

    def compile(self, text: str, *, header: str = HEADER) -> bytes:
        """The compiled file of a text behind the header."""
        whole = header + text
        if whole not in self._compiled:
            self._compiled[whole] = self._compiler.compile(whole)
        return self._compiled[whole]

    def read(self, text: str) -> Module:
        """The module of a text."""
        return read(self.compile(text))

    def findings(self, reference: str | None, submission: str, **question: Any) -> dict[str, Any]:
        """Returns what the inspection says of a submission."""
        asked = {"theorems": None, "permitted_axioms": PERMITTED, **question}
        return inspect(None if reference is None else self.compile(reference), self.compile(submission), asked)

    def theorem(self, reference: str | None, submission: str, name: str = "asked", **question: Any) -> dict[str, Any]:
        """Returns what it says of one theorem."""
        said = self.findings(reference, submission, theorems=[name], **question)
        assert said["malformed"] is None
        assert said["reference_malformed"] is None
        theorem: dict[str, Any] = said["theorems"][0]
        return theorem


@pytest.fixture(scope="session")
def lean(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lean]:
    """A real Lean; skips if there is none."""
    compiler = Compiler(library, tmp_path_factory.mktemp("inspected"))
    yield Lean(compiler)
    compiler.close()
