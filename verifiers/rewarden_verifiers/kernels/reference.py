"""The reference of `kernel`: code that computes the right outputs and makes inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference

MAX_CHARACTERS = 200_000
"""The maximum length of a source, on either side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelReference:
    """Code that is right, and the inputs on which kernels are compared with it.

    source: Python with `entry` and `get_inputs`, which returns the list of a call's arguments, made with the random
        generators of Python, NumPy and torch, which are seeded. For a class, `get_init_inputs` returns the arguments of
        its construction, by default none.
    framework: Library of the arrays. `torch` needs the sandbox's image `python-science`.
    entry: Name in `source` of a function, or of a class whose instances are called.
    name: Name that the response must define, as a function or a class likewise.
    cases: Keyword arguments of `get_inputs`, one object for each case, such as `{"rows": 7}`.
    """

    # A misspelt key must not be silently ignored.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    source: str
    framework: Literal["torch", "numpy"] = "torch"
    entry: str = "Model"
    name: str = "ModelNew"
    cases: Sequence[dict[str, Any]] = ({},)

    def check(self) -> None:
        """Raises InvalidReference naming the field."""
        if not self.source.strip() or len(self.source) > MAX_CHARACTERS:
            raise invalid("source", "it is empty or too long")
        for field in ("entry", "name"):
            if not getattr(self, field).isidentifier():
                raise invalid(field, "it is not a Python name")
        if not 1 <= len(self.cases) <= 50:
            raise invalid("cases", "give from 1 to 50")


def invalid(name: str, message: str) -> InvalidReference:
    """The error for a field."""
    return InvalidReference(f"reference.{name}: {message}", path=f"reference.{name}")
