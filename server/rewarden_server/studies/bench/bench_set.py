"""A published set: the shape of its rows and the figures that it defines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from rewarden.types import Use
from rewarden_server.studies.bench.entry import Entry, Kind, Result
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.calibration.agreement import Figure

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class Line:
    """A figure of the report. depth: 0 for the overall figure, 1 for parts, 2 for parts of parts."""

    name: str
    figure: Figure
    depth: int = 1

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"name": self.name, "depth": self.depth, **self.figure.to_json()}


class BenchSet(ABC, Generic[R]):
    """A set. Each subclass's module docstring names the source of its shape and scoring.

    name: on the command line. title: as people know it. files: the names of the files with its rows. fields: of a row,
    by which a row of another set is recognised. kinds: of verifiers that the set can use. use: the default verifier,
    whose judge `--judge` can set. overall: what the overall figure is, in words. ties: what a tie counts, in words;
    None: the set has none. parts: the parts that make up the overall figure; empty if it is computed from all rows, or
    if the parts are not known beforehand.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    files: ClassVar[str]
    fields: ClassVar[Sequence[str]]
    kinds: ClassVar[Sequence[Kind]]
    use: ClassVar[Use]
    overall: ClassVar[str]
    ties: ClassVar[str | None] = None
    parts: ClassVar[Sequence[str]] = ()
    params: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Parameters that the set needs to differ from their defaults, by verifier."""

    @abstractmethod
    def entry(self, row: Row) -> Entry[R]:
        """The entry for a row. Raises FieldError for a field that does not have the set's form."""

    @abstractmethod
    def lines(self, results: Sequence[R], seed: int) -> list[Line]:
        """The figures: the overall one first, then the parts in the set's order. seed: of the draws for intervals."""
