"""The solutions that published rows store: programs that the set's authors labelled right or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewarden_verifiers.execution.datasets.row import Row

_SITES: Mapping[int, str] = {1: "python2", 2: "cpp", 3: "python", 4: "java"}
"""CodeContests' language numbers."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored solution. text: a program, fenced or not. language: a name in the sandbox's registry."""

    text: str
    language: str = "python"


Reader = Callable[[Row], Iterator[Stored]]
"""Yields the solutions of a row. Raises InvalidReference that names the field."""


def none(row: Row) -> Iterator[Stored]:
    """Yields nothing: the set stores none."""
    yield from ()


def listed(row: Row) -> Iterator[Stored]:
    """APPS, TACO, DeepCoder: `solutions`, a list of Python programs, or JSON of one."""
    if row.has("solutions"):
        yield from (Stored(text) for text in row.items("solutions") if isinstance(text, str) and text.strip())


def by_language(name: str) -> Reader:
    """Returns the reader of CodeContests' `solutions` and `incorrect_solutions`: an object of two lists, `language`
    (numbers) and `solution`.
    """

    def read(row: Row) -> Iterator[Stored]:
        if not row.has(name):
            return
        solutions = row.inner(name)
        for number, text in zip(solutions.items("language"), solutions.items("solution"), strict=False):
            language = _SITES.get(number) if isinstance(number, int) else None
            if language is not None and isinstance(text, str) and text.strip():
                yield Stored(text, language)

    return read


def column(name: str) -> Reader:
    """Returns the reader of a column that holds a Python program."""

    def read(row: Row) -> Iterator[Stored]:
        if row.has(name):
            yield Stored(row.code(name))

    return read


def continuing(*heads: str) -> Reader:
    """Returns the reader of `canonical_solution`, which continues the first column of `heads` that the row has."""

    def read(row: Row) -> Iterator[Stored]:
        if row.has("canonical_solution"):
            yield Stored(row.text(row.first(*heads), "") + row.code("canonical_solution"))

    return read


def submitted(*verdicts: str | None) -> Reader:
    """Returns the reader of `code` in Codeforces-Python-Submissions, for rows in Python 3 with one of these site
    verdicts. None stands for a missing verdict.
    """

    def read(row: Row) -> Iterator[Stored]:
        if row.has("code") and row.get("verdict") in verdicts and "2" not in row.text("programmingLanguage", ""):
            yield Stored(row.code("code"))

    return read


def inferred(row: Row) -> Iterator[Stored]:
    """AceCode: the `completion` of `inferences` that pass all tests, by their `pass_rate`."""
    if row.has("inferences"):
        for one in row.rows("inferences"):
            if one.get("pass_rate") == 1 and one.has("completion"):
                yield Stored(one.code("completion"))


def first_in(language: str, found: Iterator[Stored]) -> str | None:
    """Returns the first solution in this language."""
    return next((one.text for one in found if one.language == language), None)


def allowed(found: Iterator[Stored], languages: Sequence[str]) -> list[Stored]:
    """Returns the solutions in these languages."""
    return [one for one in found if one.language in languages]
