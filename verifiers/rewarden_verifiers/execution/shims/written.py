"""A program that a shim wrote, its sources, and the function that it exposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from rewarden_sandboxes.job import source

_SOURCES = Path(__file__).with_name("sources")


@dataclass(frozen=True, slots=True)
class Entry:
    """The function that test code calls: its name, the reference's declaration of it, and the prompt's code."""

    name: str | None = None
    signature: str | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a program, and files next to it.

    language: the row of the sandbox's languages that compiles it, if it is not the reference's. min_version: the oldest
    version of that row's toolchain. flags: flags of its compilation, before the reference's.
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
    """Returns test code after the brace with which it closes the prompt's function, if it begins with one."""
    rest = tests.lstrip()
    return rest[1:] if rest.startswith("}") else tests


def scripted(
    name: str, language: str, ending: str, *more: str, solution: str | None = None, tests: str | None = None
) -> Written:
    """Returns the script of that name in a language whose programs are loaded unchanged, and next to it what it loads:
    the shim's parts, of which `more` are further ones, the program and the test code."""
    parts = ("values", "loading", "nodes", *more)
    files = {f"rewarden/{part}.{ending}": source(read(f"{language}/{part}.{ending}")) for part in parts}
    for file, text in (("solution", solution), ("tests_code", tests)):
        if text is not None:
            files[f"{file}.{ending}"] = source(text)
    return Written(read(f"{language}/{name}.{ending}"), files)
