"""The results of one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rewarden.logging.rows import Row

ALL = "all"
"""Stands in a metric's name for all data sources together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The figures of a step.

    metrics: `PREFIX/SOURCE/NAME` to a finite number; docs/logging.md says what each means. worst: scored rows short of
    full marks, the worst first. unscored: rows without a score. named: whether the caller named the step; otherwise it
    counts the reports of this log.
    """

    prefix: str
    step: int
    named: bool
    metrics: Mapping[str, float]
    worst: tuple[Row, ...]
    unscored: tuple[Row, ...]

    @property
    def tables(self) -> Mapping[str, tuple[Row, ...]]:
        """The tables that have rows, by name."""
        both = {f"{self.prefix}/worst": self.worst, f"{self.prefix}/unscored": self.unscored}
        return {name: rows for name, rows in both.items() if rows}


class Sink(Protocol):
    """A report sink. Picklable before its first `write`; it opens what it needs then, in the process that writes."""

    def write(self, report: Report) -> None:
        """Take a report. May raise anything: the log warns once and goes on."""

    def close(self) -> None:
        """Give back what was opened. A `write` may follow, and opens it again."""
