"""Reads the arguments of an instruction strictly: a missing argument, or one of the wrong type, makes the reference
invalid.

If an argument is missing, the checkers of IFEval and IFBench draw a random word, number or relation, so a verdict
changes from call to call. Nothing is drawn here.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from rewarden.errors import InvalidReference
from rewarden_verifiers.structure import languages

_RELATIONS = ("less than", "at least")
_SEPARATOR = re.compile(r",|\bor\b")


def _parted(listed: str) -> list[str]:
    """Splits a list that is written as one text."""
    try:
        value = ast.literal_eval(listed)  # literals only: this runs no code
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = None
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, str) and one.strip() for one in value):
        return list(value)
    parts = listed.split("/") if "/" in listed else _SEPARATOR.split(listed)
    return [part.strip() for part in parts if part.strip()] or [listed]


class Arguments:
    """The arguments of one instruction. Every reader raises InvalidReference naming the argument."""

    def __init__(self, name: str, given: Mapping[str, Any], path: str) -> None:
        self._name = name
        self._given = {key: value for key, value in given.items() if value is not None}
        self._path = path
        self._read: set[str] = set()

    def refuse(self, argument: str, needed: str) -> NoReturn:
        """Rejects an argument and says what is needed. Raises InvalidReference."""
        found = f"not {self._given[argument]!r:.60}" if argument in self._given else "and it is missing"
        raise InvalidReference(
            f"instruction {self._name!r}: {argument} must be {needed}, {found}", path=f"{self._path}.{argument}"
        )

    def _take(self, argument: str) -> Any:
        self._read.add(argument)
        return self._given.get(argument)

    def count(self, argument: str, least: int = 0) -> int:
        """A whole number of at least `least`. 3.0 counts (columns of numbers become floats if values are missing)."""
        value = self._take(argument)
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not whole or isinstance(value, bool) or value < least:
            self.refuse(argument, f"a whole number of at least {least}")
        return int(value)

    def percentage(self, argument: str) -> float:
        """A number of at least 0."""
        value = self._take(argument)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            self.refuse(argument, "a number of at least 0")
        return float(value)

    def text(self, argument: str) -> str:
        """A text that is not blank."""
        value = self._take(argument)
        if not isinstance(value, str) or not value.strip():
            self.refuse(argument, "a text that is not blank")
        return value

    def word(self, argument: str) -> str:
        """A text that is not blank, stripped."""
        return self.text(argument).strip()

    def first_word(self, argument: str) -> str:
        """The same, or the first item of a list."""
        value = self._given.get(argument)
        return self.texts(argument)[0].strip() if isinstance(value, (list, tuple)) else self.word(argument)

    def character(self, argument: str) -> str:
        """One character, as it is written."""
        value = self._take(argument)
        if not isinstance(value, str) or len(value) != 1:
            self.refuse(argument, "one character")
        return value

    def letter(self, argument: str) -> str:
        """A single character that is not blank, in lower case."""
        value = self._take(argument)
        if not isinstance(value, str) or len(value.strip()) != 1:
            self.refuse(argument, "one character")
        return value.strip().lower()

    def language(self, argument: str) -> str:
        """The code of a language, given as a code or an English name."""
        try:
            return languages.known(self.text(argument))
        except ValueError:
            self.refuse(argument, "a language's code")

    def texts(self, argument: str) -> tuple[str, ...]:
        """A list of texts that are not blank, at least one."""
        value = self._take(argument)
        listed = isinstance(value, (list, tuple)) and value
        if not listed or not all(isinstance(one, str) and one.strip() for one in value):
            self.refuse(argument, "a list of strings that are not blank")
        return tuple(value)

    def options(self, argument: str, whole: bool = True) -> Sequence[str]:
        """A list of texts. A single text is parsed as a JSON or Python list, or split at "/", "or" or ",".

        whole: if False, a text is returned unchanged; the official code takes it for a list of its characters.
        """
        value = self._take(argument)
        if not isinstance(value, str) or not value.strip():
            return self.texts(argument)
        return _parted(value) if whole else value

    def one_of(self, argument: str, allowed: Sequence[str]) -> str:
        """One of a few permitted texts."""
        value = self._take(argument)
        if value not in allowed:
            self.refuse(argument, f"one of {', '.join(allowed)}")
        return str(value)

    def compared(self, argument: str, relation: str = "relation") -> Callable[[int], bool]:
        """Returns a test that compares a number with a whole number by "at least" or "less than", as `relation`
        says.
        """
        wanted, how = self.count(argument), self.one_of(relation, _RELATIONS)
        return lambda found: found >= wanted if how == "at least" else found < wanted

    def finish(self) -> None:
        """Rejects arguments that the instruction does not know."""
        for argument in self._given:
            if argument not in self._read:
                raise InvalidReference(
                    f"instruction {self._name!r} knows no argument {argument!r}", path=f"{self._path}.{argument}"
                )
