"""The results of one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rewarden.logging.rows import Row

ALL = "all"
"""The name for all data sources together in metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The metrics of a step.

    metrics: maps `PREFIX/SOURCE/NAME` to a finite number; docs/logging.md describes them. worst: scored rows short of
    full marks, worst first. unscored: rows without a score. named: whether the caller gave the step; otherwise it
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
    """A report sink. Picklable before its first `write`, which opens what it needs in the writing process."""

    def write(self, report: Report) -> None:
        """Writes a report. It may raise any exception: the log warns once and continues."""

    def close(self) -> None:
        """Closes what was opened. A later `write` opens it again."""


@runtime_checkable
class Ending(Protocol):
    """A sink whose run somebody else may end."""

    def before_end(self, report_rest: Callable[[], None]) -> None:
        """Has `report_rest` called before the run ends. Called with every verdict, because a run may begin late."""
