"""A program that a shim wrote, the sources that it is made of, and the function that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_SOURCES = Path(__file__).with_name("sources")


@dataclass(frozen=True, slots=True)
class Entry:
    """The function that test code calls: its name, the reference's declaration of it, and the prompt's code."""

    name: str | None = None
    signature: str | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a program, and files beside it."""

    code: str
    files: Mapping[str, bytes] = field(default_factory=dict)


@lru_cache(maxsize=64)
def read(name: str) -> str:
    """Returns a shim's source, such as `cpp/values.hpp`."""
    return (_SOURCES / name).read_text(encoding="utf-8")
