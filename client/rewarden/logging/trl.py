"""Figures and columns by TRL's own means: the `log_metric` and `log_extra` that it gives to reward functions.

TRL averages a metric over the calls of a logging step and over its processes, and gives it to whatever `report_to`
says. A column must have a value for each completion in every call, of one type, and a name that no other reward
function uses; it is shown beside the completions (`log_completions=True`). As of TRL 1.16,
`trl/trainer/grpo_trainer.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rewarden.logging.counts import FAULTS
from rewarden.logging.names import fit
from rewarden.logging.report import Report
from rewarden.logging.reward_log import PREFIX, UNNAMED, RewardLog
from rewarden.logging.rows import text
from rewarden.types import Sample, Verdict

LogMetric = Callable[[str, float], None]
LogExtra = Callable[[str, list[Any]], None]

_FIGURES = frozenset(
    {
        "mean",
        "pass_rate",
        "no_answer",
        "truncated",
        "excluded",
        "unscored",
        *(f"unscored_{fault}" for fault in FAULTS),
        "groups/all_pass",
        "groups/all_fail",
        "groups/no_signal",
    }
)
"""The figures whose average over calls still means something. Shares of reasons are left out: TRL would average them
over those calls alone in which the reason came up. So are counts and quantiles."""

_COLUMN_CHARS = 200


def report(
    verdicts: Sequence[Verdict],
    log_metric: LogMetric | None = None,
    log_extra: LogExtra | None = None,
    *,
    samples: Sequence[Sample] | None = None,
    name: str,
) -> Report:
    """Log the verdicts of one call of a reward function: figures by `log_metric`, columns by `log_extra`, where given.

    name: the reward function's; each of a trainer has another. The figures are `rewarden/NAME/SOURCE/…`, the columns
    `NAME_status`, `_reason`, `_fault`, `_extracted` and `_feedback`: texts, empty if there is nothing to say.
    """
    prefix = f"{PREFIX}/{fit(name)}"
    log = RewardLog(worst=0, prefix=prefix, every_s=None)
    log.add(verdicts, samples)
    found = log.step()
    if log_metric is not None:
        for metric, value in found.metrics.items():
            source, _, figure = metric[len(prefix) + 1 :].partition("/")
            if source != UNNAMED and (figure in _FIGURES or figure.startswith("component/")):
                log_metric(metric, value)
    if log_extra is not None:
        for column in ("status", "reason", "fault", "extracted", "feedback"):
            log_extra(f"{name}_{column}", [_cell(getattr(verdict, column)) for verdict in verdicts])
    return found


def _cell(value: Any) -> str:
    return "" if value is None else text(value, _COLUMN_CHARS)
