"""Reports as a run's metrics and tables in Weights & Biases."""

from __future__ import annotations

import atexit
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from rewarden.logging.packages import need
from rewarden.logging.report import Report
from rewarden.logging.rows import COLUMNS

_log = logging.getLogger("rewarden.logging")


_MOST_BEHIND = 4096


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
        self._lock = threading.RLock()
        self._report_rest: Callable[[], None] = _nothing
        self._hooked: Any = None
        self._ended: Any = None
        self._open: tuple[dict[str, Any], Any] | None = None
        self._behind: deque[dict[str, Any]] = deque(maxlen=_MOST_BEHIND)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._run is not None:
            raise TypeError(
                "a log with a given W&B run cannot be sent to another process; use to_wandb() without a run"
            )
        return Wandb, (None, self._project, self._table_every)

    def before_end(self, report_rest: Callable[[], None]) -> None:
        """See `Ending`."""
        self._report_rest = report_rest
        wandb = sys.modules.get("wandb")
        run = self._run or getattr(wandb, "run", None)
        if run is not None and run is not self._hooked:
            self._hook(run)

    def write(self, report: Report) -> None:
        """See `Sink`."""
        wandb: Any = import_module("wandb")
        run = self._run or wandb.run
        if run is None:
            run = self._own = wandb.init(project=self._project)
        if run is not self._hooked:
            self._hook(run)
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
        elif run is self._own or run is self._ended:
            run.log(data)
        else:
            self._join(run, data)

    def _join(self, run: Any, data: dict[str, Any]) -> None:
        """Adds a report to the next row that the trainer logs. One that is in it already goes out at the end."""
        with self._lock:
            if self._open is not None and self._open[1] == run.step:
                self._behind.append(self._open[0])
            run.log(data, commit=False)
            self._open = (data, run.step)

    def _hook(self, run: Any) -> None:
        self._hooked = run
        # A process that ends without `finish` ends W&B's service, which calls no hook. Registered after W&B's own
        # function, this one runs before it.
        atexit.register(self._before_end_of, run)
        # W&B has no public way to hear of the end of a run that somebody else may end (0.31).
        try:
            kinds: Any = import_module("wandb.sdk.wandb_run")
            hook = kinds.TeardownHook(partial(self._before_end_of, run), kinds.TeardownStage.EARLY)
            run._teardown_hooks.append(hook)
        except (ImportError, AttributeError) as error:
            _log.warning("this version of W&B does not say when a run ends; its last reports may be lost: %s", error)

    def _before_end_of(self, run: Any) -> None:
        """Writes what no row has. The trainer logs no more, so its step may move."""
        if run is self._ended:
            return
        try:
            with self._lock:
                self._ended = run
                late = [*self._behind]
                if self._open is not None and self._open[1] == run.step:
                    late.append(self._open[0])
                self._behind.clear()
                self._open = None
            for data in late:
                run.log(data)
            self._report_rest()
            atexit.unregister(self._before_end_of)
        except Exception as error:  # noqa: BLE001 - the end of a run must not fail for its figures
            _log.warning("the last reports could not be written to W&B: %r", error)

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
    trainer logs to its run, and so move no step of it; of several between two rows the last one is shown at once, and
    the others follow in rows of their own before the run ends (`wandb.finish()`), with the verdicts that were not
    reported yet. Raises InvalidRequest if the package is missing.
    """
    return Wandb(run, project, table_every)


def _nothing() -> None:
    """There is nothing to report yet."""
