"""A row of a set as published, and the errors of fields that do not have the set's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Text

_SHOWN = 60


class FieldError(ValueError):
    """A field is missing or does not have the set's form. field: its path in the row; problem: what is wrong."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"the field {field!r} {problem}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Row:
    """A row, or an object in one. file and line: its location; path: an object's path in the row. Each method returns a
    field of one kind and raises FieldError if it is missing or of another kind."""

    values: Mapping[str, Any]
    file: str
    line: int
    path: str = ""

    @property
    def place(self) -> str:
        """The location of the row, for messages."""
        return f"{self.file}:{self.line}"

    def text(self, name: str) -> str:
        """A string."""
        value = self._given(name)
        if not isinstance(value, str):
            raise self.error(name, f"must be a string, not {_kind(value)}")
        return value

    def name(self, name: str) -> str:
        """A name, given as a string or a whole number, as a string."""
        value = self._given(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise self.error(name, f"must be a name, not {_kind(value)}")
        return value

    def word(self, name: str, words: Sequence[str]) -> str:
        """One of `words`."""
        value = self.text(name)
        if value not in words:
            raise self.error(name, f"must be {' or '.join(words)}, not {value[:_SHOWN]!r}")
        return value

    def texts(self, name: str, least: int = 1) -> list[str]:
        """A list of strings."""
        value = self.items(name, least)
        for place, item in enumerate(value):
            if not isinstance(item, str):
                raise self.error(f"{name}[{place}]", f"must be a string, not {_kind(item)}")
        return list(value)

    def items(self, name: str, least: int = 1) -> list[Any]:
        """A list."""
        value = self._given(name)
        if not isinstance(value, list):
            raise self.error(name, f"must be a list, not {_kind(value)}")
        if len(value) < least:
            raise self.error(name, f"must have at least {least} item{'s' * (least > 1)}, not {len(value)}")
        return value

    def rows(self, name: str, least: int = 1) -> list[Row]:
        """A list of objects."""
        return [self._object(f"{name}[{place}]", item) for place, item in enumerate(self.items(name, least))]

    def row(self, name: str) -> Row:
        """An object."""
        return self._object(name, self._given(name))

    def truth(self, name: str) -> bool:
        """True or false."""
        value = self._given(name)
        if not isinstance(value, bool):
            raise self.error(name, f"must be true or false, not {_kind(value)}")
        return value

    def whole(self, name: str, least: int) -> int:
        """A whole number, at least `least`."""
        value = self._given(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"must be a whole number, not {_kind(value)}")
        if value < least:
            raise self.error(name, f"must be at least {least}, not {value}")
        return value

    def number(self, name: str) -> float:
        """A finite number."""
        value = self._given(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e300 < value < 1e300:
            raise self.error(name, f"must be a number, not {_kind(value)}")
        return float(value)

    def chat(self, name: str) -> Text:
        """A string, or messages of which only role and content are kept."""
        value = self._given(name)
        if isinstance(value, str):
            return value
        return [{"role": turn.text("role"), "content": turn.text("content")} for turn in self.rows(name)]

    def error(self, name: str, problem: str) -> FieldError:
        """The error for a problem with a field."""
        return FieldError(self.path + name, problem)

    def _object(self, name: str, value: Any) -> Row:
        if not isinstance(value, Mapping):
            raise self.error(name, f"must be an object, not {_kind(value)}")
        return Row(value, self.file, self.line, f"{self.path}{name}.")

    def _given(self, name: str) -> Any:
        if self.values.get(name) is None:
            raise self.error(name, "is null" if name in self.values else "is missing")
        return self.values[name]


def _kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return f"the text {value[:_SHOWN]!r}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "an object"
