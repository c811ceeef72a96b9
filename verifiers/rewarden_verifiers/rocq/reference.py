"""The reference of `rocq`: a statement, and the source before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from rewarden.errors import InvalidReference

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_']{0,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RocqReference:
    """A statement, and the name under which it must be proven.

    statement: A proposition in Rocq's language, without a full stop: `forall n : nat, n + 0 = n`.
    name: Name of the theorem that the response must define.
    preamble: Sentences before the statement: `Require Export` of libraries, definitions and notations. The response
        begins with them imported.
    """

    # A misspelt key must not be silently ignored.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    statement: str
    name: str = "answer"
    preamble: str = ""

    def check(self) -> None:
        """Raises InvalidReference naming the field."""
        if not self.statement.strip():
            raise invalid("statement", "it is empty")
        if _NAME.fullmatch(self.name) is None:
            raise invalid("name", "it is not an ASCII Rocq name")


def invalid(name: str, message: str) -> InvalidReference:
    """The error for a field."""
    return InvalidReference(f"reference.{name}: {message}", path=f"reference.{name}")
