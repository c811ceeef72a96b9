"""A program written by a shim, its sources, and the function that it exposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from rewarden_sandboxes.job import source

_SOURCES = Path(__file__).with_name("sources")


@dataclass(frozen=True, slots=True)
class Entry:
    """The function that test code calls: its name, its declaration in the reference, and the prompt's code."""

    name: str | None = None
    signature: str | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a program, and the files next to it.

    language: the entry in the sandbox's languages that compiles it, if it is not the reference's. min_version: the
    oldest usable version of that toolchain. flags: compiler flags, before the reference's.
    """

    code: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    language: str | None = None
    min_version: str = ""
    flags: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def read(name: str) -> str:
    """Returns a shim's source, such as `cpp/values.hpp`."""
    return (_SOURCES / name).read_text(encoding="utf-8")


def after_brace(tests: str) -> str:
    """Returns test code without a leading brace that closes the prompt's function."""
    rest = tests.lstrip()
    return rest[1:] if rest.startswith("}") else tests


def scripted(
    name: str, language: str, ending: str, *more: str, solution: str | None = None, tests: str | None = None
) -> Written:
    """Returns our script of that name, in a language that loads programs unchanged, with the files that it loads: the
    shim's parts (`more` adds to them), the program and the test code.
    """
    parts = ("values", "loading", "nodes", *more)
    files = {f"rewarden/{part}.{ending}": source(read(f"{language}/{part}.{ending}")) for part in parts}
    for file, text in (("solution", solution), ("tests_code", tests)):
        if text is not None:
            files[f"{file}.{ending}"] = source(text)
    return Written(read(f"{language}/{name}.{ending}"), files)
