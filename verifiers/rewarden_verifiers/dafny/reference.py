"""The reference of `dafny`: the specification that a declaration in the response must meet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rewarden.errors import InvalidReference

Kind = Literal["method", "function", "lemma"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,100}")
_TYPED = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]{0,100})\s*:\s*(\S(?:.*\S)?)\s*", re.DOTALL)
MAX_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DafnyReference:
    """A specification, and the name of the declaration that must keep it.

    name: Name of the declaration. kind: what it is; a `function` may be a `function method`.
    parameters, returns: Each `name: type`. A function has one result.
    requires, ensures: Conditions over the parameters and results. The declaration may ask for less and promise more.
    preamble: Declarations that specification and response may use.
    """

    # A misspelt key must not be silently ignored.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    ensures: Sequence[str]
    name: str = "Answer"
    kind: Kind = "method"
    parameters: Sequence[str] = ()
    returns: Sequence[str] = ()
    requires: Sequence[str] = ()
    preamble: str = ""

    def check(self) -> None:
        """Raises InvalidReference naming the field."""
        if _NAME.fullmatch(self.name) is None:
            raise invalid("name", "it is not an ASCII name")
        if not self.ensures:
            raise invalid("ensures", "it is empty: any declaration would satisfy it")
        for field in ("parameters", "returns"):
            for place, text in enumerate(getattr(self, field)):
                if _TYPED.fullmatch(text) is None:
                    raise invalid(f"{field}[{place}]", "it must be name: type")
        if self.kind == "function" and len(self.returns) != 1:
            raise invalid("returns", "a function has one result")
        if self.kind == "lemma" and self.returns:
            raise invalid("returns", "a lemma has no result")
        if sum(map(len, (*self.ensures, *self.requires, self.preamble))) > MAX_CHARACTERS:
            raise invalid("preamble", f"the specification has more than {MAX_CHARACTERS} characters")

    @property
    def arguments(self) -> str:
        """The parameter names, as the arguments of a call."""
        return ", ".join(_named(text) for text in self.parameters)

    @property
    def results(self) -> str:
        """The names of the results."""
        return ", ".join(_named(text) for text in self.returns)


def _named(text: str) -> str:
    found = _TYPED.fullmatch(text)
    assert found is not None  # see `check`
    return found[1]


def invalid(name: str, message: str) -> InvalidReference:
    """The error for a field."""
    return InvalidReference(f"reference.{name}: {message}", path=f"reference.{name}")
