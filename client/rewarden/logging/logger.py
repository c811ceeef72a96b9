"""Reports as lines of the process's own log, for a `RewardLog` without sinks."""

from __future__ import annotations

import logging

from rewarden.logging.report import ALL, Report

_log = logging.getLogger("rewarden.logging")

_SHOWN = ("mean", "pass_rate", "unscored", "no_answer", "truncated")


class Logger:
    """Writes one line per report, at level info."""

    def write(self, report: Report) -> None:
        """See `Sink`."""
        start = f"{report.prefix}/{ALL}/"
        figures = [
            f"{name} {report.metrics[start + name]:.3g}"
            for name in _SHOWN
            if report.metrics.get(start + name) is not None
        ]
        _log.info("%s: %d verdicts, %s", report.prefix, report.metrics.get(start + "count", 0), ", ".join(figures))

    def close(self) -> None:
        """See `Sink`."""


def to_logger() -> Logger:
    """The logger `rewarden.logging`, at level info."""
    return Logger()
