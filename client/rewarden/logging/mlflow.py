"""Reports as a run's metrics, and tables as its artifacts, in MLflow."""

from __future__ import annotations

import json
import os
import time
from importlib import import_module
from typing import Any

from rewarden.logging.packages import need
from rewarden.logging.report import Report
from rewarden.logging.rows import COLUMNS

_AT_ONCE = 1000  # metrics that a server takes in one request


class Mlflow:
    """Writes to a run by its id: MLflow's notion of an active run is the thread's own."""

    def __init__(self, run_id: str | None, experiment: str | None, table_every: int) -> None:
        need("mlflow")
        self._given = run_id
        self._experiment = experiment
        self._table_every = table_every
        self._run_id = run_id
        self._own = False
        self._written = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Mlflow, (self._given, self._experiment, self._table_every)

    def write(self, report: Report) -> None:
        """See `Sink`."""
        mlflow: Any = import_module("mlflow")
        client = mlflow.MlflowClient()
        if self._run_id is None:
            self._run_id = _active_run(mlflow) or self._new_run(mlflow, client)
        now = int(time.time() * 1000)
        metrics = [mlflow.entities.Metric(name, value, now, report.step) for name, value in report.metrics.items()]
        for start in range(0, len(metrics), _AT_ONCE):
            client.log_batch(self._run_id, metrics=metrics[start : start + _AT_ONCE])
        if self._written % self._table_every == 0:
            for name, rows in report.tables.items():
                # The form in which MLflow shows a table. Its own `log_table` reads the file and writes it anew, longer
                # each time.
                table = {"columns": list(COLUMNS), "data": [list(row.cells) for row in rows]}
                client.log_text(self._run_id, json.dumps(table, ensure_ascii=False), f"{name}/{report.step:08d}.json")
        self._written += 1

    def close(self) -> None:
        """See `Sink`."""
        if self._own:
            import_module("mlflow").MlflowClient().set_terminated(self._run_id)
            self._own = False
        self._run_id = self._given

    def _new_run(self, mlflow: Any, client: Any) -> str:
        name = self._experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "rewarden"
        found = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if found is None else found.experiment_id
        self._own = True
        return str(client.create_run(experiment, run_name="rewards").info.run_id)


def to_mlflow(run_id: str | None = None, *, experiment: str | None = None, table_every: int = 10) -> Mlflow:
    """A run of MLflow's: the given one, else the active one (of any thread) or `MLFLOW_RUN_ID`'s, else a new one in
    `experiment` (or `MLFLOW_EXPERIMENT_NAME`). Tables go with every `table_every`-th report, as artifacts
    `PREFIX/worst/STEP.json`. Raises InvalidRequest if the package is missing.
    """
    return Mlflow(run_id, experiment, table_every)


def _active_run(mlflow: Any) -> str | None:
    run = mlflow.active_run()
    if run is None:
        # The trainer's thread has the run, and reports are written in another. MLflow finds it so for its own traces.
        latest = getattr(mlflow.tracking.fluent, "_get_latest_active_run", None)
        run = latest() if latest is not None else None
    return str(run.info.run_id) if run is not None else os.environ.get("MLFLOW_RUN_ID") or None
