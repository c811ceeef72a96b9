"""The solutions that a data set stores beside its tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.columns import value_of
from rewarden.errors import near
from rewarden_server.studies.rescore.columns import NONE, Columns
from rewarden_server.studies.rescore.options import RescoreError

NAMES = (
    "solutions",
    "solution",
    "canonical_solution",
    "reference_solution",
    "gold_solution",
    "golden_solution",
    "gold_standard_solution",
    "correct_solution",
    "gold",
    "solution_code",
    "proof",
    "formal_proof",
    "extra_info.solutions",
    "extra_info.solution",
    "metadata.solution",
)
"""The usual names of the column, the likeliest first."""

_TEXTS = ("solution", "code", "content", "text", "source", "program")


@dataclass(frozen=True, slots=True)
class Solution:
    """A stored solution. language: as the data names it, if they do."""

    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class SolutionColumn:
    """The column of the solutions; None: the rows have none. guessed: nobody named it."""

    name: str | None
    guessed: bool = True

    def read(self, row: Mapping[str, Any]) -> list[Solution]:
        """The solutions of a row, without repetitions: of a text, a list, or objects with language and code."""
        value = None if self.name is None else value_of(row, self.name, None)
        return list(dict.fromkeys(one for one in _read(value) if one.text.strip()))


def find_solutions(given: str | None, columns: Columns, rows: Sequence[Mapping[str, Any]]) -> SolutionColumn:
    """The column that was named, or one of a usual name that is not the reference. Raises RescoreError for a name that
    no row has."""
    if given == NONE:
        return SolutionColumn(None, guessed=False)
    if given is not None:
        if rows and all(value_of(row, given, None) is None for row in rows):
            raise RescoreError(f"--solutions {given}: no row has this column{near(given, columns.seen)}")
        return SolutionColumn(given, guessed=False)
    taken = set(columns.whole.values()) - ({columns.whole.get("reference")} if "reference" in columns.parts else set())
    for name in NAMES:
        if name not in taken and any(list(_read(value_of(row, name, None))) for row in rows):
            return SolutionColumn(name)
    return SolutionColumn(None)


def _read(value: Any) -> Iterator[Solution]:
    if isinstance(value, str):
        if value.lstrip()[:2] in ('["', "[]", "[{"):
            try:
                yield from _read(json.loads(value))
                return
            except ValueError:
                pass
        yield Solution(value)
    elif isinstance(value, Mapping):
        text = next((value[name] for name in _TEXTS if name in value), None)
        language = value.get("language")
        if isinstance(text, str):
            yield Solution(text, language if isinstance(language, str) else None)
        elif isinstance(text, list):
            named = language if isinstance(language, list) and len(language) == len(text) else [None] * len(text)
            for one, name in zip(text, named, strict=True):
                if isinstance(one, str):
                    yield Solution(one, name if isinstance(name, str) else None)
    elif isinstance(value, list):
        for item in value:
            yield from _read(item)
