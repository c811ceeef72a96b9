"""Reports as scalars and Markdown tables in TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rewarden.errors import InvalidRequest
from rewarden.logging.packages import there
from rewarden.logging.place import place_of
from rewarden.logging.report import Report
from rewarden.logging.rows import COLUMNS, Row


class TensorBoard:
    """Writes with torch's SummaryWriter, else tensorboardX's, else one that is given."""

    def __init__(self, logdir: str | None, writer: Any = None) -> None:
        if (logdir is None) == (writer is None):
            raise InvalidRequest("logging to TensorBoard: give a folder, or a SummaryWriter")
        self._logdir = logdir
        self._given = writer
        self._writer = writer
        self._module = _module() if writer is None else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorBoard, (self._logdir, self._given)

    def write(self, report: Report) -> None:
        """See `Sink`."""
        if self._writer is None and self._logdir is not None:
            self._writer = import_module(self._module).SummaryWriter(place_of(self._logdir))
        for name, value in report.metrics.items():
            self._writer.add_scalar(name, value, report.step)
        for name, rows in report.tables.items():
            self._writer.add_text(name, _markdown(rows), report.step)
        self._writer.flush()

    def close(self) -> None:
        """See `Sink`."""
        if self._given is None and self._writer is not None:
            self._writer.close()
            self._writer = None


def to_tensorboard(logdir: str | os.PathLike[str] | None = None, *, writer: Any = None) -> TensorBoard:
    """A folder of TensorBoard's, or a SummaryWriter (torch's or tensorboardX's), which stays open.

    `{host}`, `{pid}` and `{rank}` in the folder stand for those of the process that writes: processes that share a
    folder cross one another's curves. Raises InvalidRequest if neither package is there.
    """
    return TensorBoard(None if logdir is None else os.fspath(logdir), writer)


def _module() -> str:
    if there("torch") and there("tensorboard"):
        return "torch.utils.tensorboard"
    if there("tensorboardX"):
        return "tensorboardX"
    more = "tensorboard" if there("torch") else "tensorboardX"
    raise InvalidRequest(f"logging to TensorBoard needs a writer: pip install {more}")


def _markdown(rows: Sequence[Row]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row.cells)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    for mark in "\\`*_[]<>|$":  # what a model wrote is text, and no markup
        text = text.replace(mark, f"&#{ord(mark)};")
    return " ".join(text.split())
