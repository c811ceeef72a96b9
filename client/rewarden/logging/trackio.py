"""Reports as a run's metrics and tables in Trackio."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rewarden.logging.packages import need
from rewarden.logging.report import Report
from rewarden.logging.rows import COLUMNS


class Trackio:
    """Writes to a run of Trackio's."""

    def __init__(self, run: Any, project: str, table_every: int) -> None:
        need("trackio")
        self._run = run
        self._project = project
        self._table_every = table_every
        self._own: Any = None
        self._written = 0

    def __reduce__(self) -> tuple[Any, ...]:
        if self._run is not None:
            raise TypeError(
                "a log with a given Trackio run cannot be sent to another process; use to_trackio() without one"
            )
        return Trackio, (None, self._project, self._table_every)

    def write(self, report: Report) -> None:
        """See `Sink`."""
        trackio: Any = import_module("trackio")
        run = self._run or self._own or import_module("trackio.context_vars").current_run.get()
        if run is None:
            run = self._own = trackio.init(project=self._project, embed=False)
        data: dict[str, Any] = dict(report.metrics)
        if self._written % self._table_every == 0:
            for name, rows in report.tables.items():
                records = [dict(zip(COLUMNS, row.cells, strict=True)) for row in rows]
                data[name] = trackio.Table(data=records)
        self._written += 1
        run.log(data, step=report.step)

    def close(self) -> None:
        """See `Sink`."""
        if self._own is not None:
            self._own.finish()
            self._own = None


def to_trackio(run: Any = None, *, project: str = "rewarden", table_every: int = 10) -> Trackio:
    """A run of Trackio's: the given one, else the current one of whoever adds the verdicts, else a new one in
    `project`. Tables go with every `table_every`-th report. Raises InvalidRequest if the package is missing.
    """
    return Trackio(run, project, table_every)
