"""Test files of Jest, Vitest and node:test in TypeScript. The program is type-checked, but the test file is not: the
image has no declarations for these frameworks.
"""

from __future__ import annotations

import re

from rewarden_verifiers.execution.frameworks import jest
from rewarden_verifiers.execution.shims import typescript
from rewarden_verifiers.execution.shims.written import Entry, Written

LANGUAGES = typescript.NAMES
TITLE = jest.TITLE
FILE = re.compile(r"(?!rewarden/|(?:main|solution)\.)(?:[\w-]+/)*\w[\w.-]*\.ts", re.ASCII)


def unfit(content: str) -> str | None:
    """Returns why no program can pass a test file, judging by its text, or None."""
    return jest.unfit(content)


def listed(content: str) -> tuple[str, ...] | None:
    """Returns the names of the tests that the file's text declares and does not skip; None if its text does not show
    all of them."""
    return jest.listed(content)


def declares(content: str, name: str) -> bool:
    """Returns whether a test of that name can be in the file: names can be computed."""
    return jest.declares(content, name)


def running(entry: Entry, code: str, name: str, content: str) -> Written:
    """Returns the candidate and a test file as one program, which runs the tests and reports."""
    script = jest.running(entry, code, name, content)
    return typescript.compiled(script, {"solution.js": code + typescript.MODULE, name: typescript.UNCHECKED + content})
