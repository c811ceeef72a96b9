"""Reports as a run's metrics and tables in Weights & Biases."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rewarden.logging.packages import need
from rewarden.logging.report import Report
from rewarden.logging.rows import COLUMNS


class Wandb:
    """Writes to a run without moving its step: W&B throws away what a trainer logs at a step that has gone by."""

    def __init__(self, run: Any, project: str | None, table_every: int) -> None:
        need("wandb")
        self._run = run
        self._project = project
        self._table_every = table_every
        self._own: Any = None
        self._described: Any = None
        self._written = 0

    def __reduce__(self) -> tuple[Any, ...]:
        if self._run is not None:
            raise TypeError(
                "a log with a given W&B run cannot be sent to another process; use to_wandb() without a run"
            )
        return Wandb, (None, self._project, self._table_every)

    def write(self, report: Report) -> None:
        """See `Sink`."""
        wandb: Any = import_module("wandb")
        run = self._run or wandb.run
        if run is None:
            run = self._own = wandb.init(project=self._project)
        if run is not self._described:
            run.define_metric(f"{report.prefix}/step", hidden=True)
            run.define_metric(f"{report.prefix}/*", step_metric=f"{report.prefix}/step")
            self._described = run
        data: dict[str, Any] = dict(report.metrics)
        if self._written % self._table_every == 0:
            for name, rows in report.tables.items():
                data[name] = wandb.Table(columns=list(COLUMNS), data=[list(row.cells) for row in rows])
        self._written += 1
        if report.named:
            run.log(data, step=report.step)
        elif run is self._own:
            run.log(data)
        else:  # goes out with the next row that the trainer logs
            run.log(data, commit=False)

    def close(self) -> None:
        """See `Sink`."""
        if self._own is not None:
            self._own.finish()
            self._own = self._described = None


def to_wandb(run: Any = None, *, project: str | None = None, table_every: int = 10) -> Wandb:
    """A run of W&B's: the given one, else the one that is active when the first report comes, else a new one in
    `project` (or `WANDB_PROJECT`). Tables, each of which is a file of its own there, go with every `table_every`-th
    report.

    A report whose step the caller named is logged at it (`run.log(…, step=)`). Others join the next row that the
    trainer logs to its run, and so move no step of it; of several between two rows the last one stays. Raises
    InvalidRequest where the package is missing.
    """
    return Wandb(run, project, table_every)
