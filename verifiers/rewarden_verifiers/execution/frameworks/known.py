"""The test framework of a language."""

from __future__ import annotations

import re
from typing import Protocol, cast

from rewarden_verifiers.execution.frameworks import cpp_test, go_test, jest, jest_typescript, junit, rust_test
from rewarden_verifiers.execution.shims.written import Entry, Written


class Framework(Protocol):
    """The functions of a framework's module in this package, such as `jest`, or of an object in such a module.

    LANGUAGES: names of the languages. TITLE: the framework's display name. FILE: the pattern of a test file's name.
    """

    LANGUAGES: frozenset[str]
    TITLE: str
    FILE: re.Pattern[str]

    def unfit(self, content: str) -> str | None:
        """Returns why no program can pass a test file, judging by its text, or None."""

    def listed(self, content: str) -> tuple[str, ...] | None:
        """Returns the names of the tests that the file's text declares and does not skip; None if its text does not
        show all of them."""

    def declares(self, content: str, name: str) -> bool:
        """Returns whether a test of that name can be in the file."""

    def running(self, entry: Entry, code: str, name: str, content: str) -> Written:
        """Returns the candidate and a test file as one program, which runs the tests and reports."""


_FRAMEWORKS = cast(tuple[Framework, ...], (jest, jest_typescript, go_test, rust_test, junit, *cpp_test.STANDARDS))


def framework_of(language: str) -> Framework | None:
    """Returns the framework of a language, given any of its names, or None."""
    name = language.lower()
    return next((framework for framework in _FRAMEWORKS if name in framework.LANGUAGES), None)
