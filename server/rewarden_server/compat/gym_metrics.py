"""NeMo Gym's metrics over verify responses: the same names and numbers as its `RewardProfiler` has (August 2026).

For every number at a reply's top level, and in its response's `usage`: mean, max, min, median and standard deviation
(of a sample; 0 for one rollout), for each task and over all. One thing differs: a masked reply says nothing about the
policy, so it only counts in `mask_sample`, not as a reward of 0.0.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

TASK, ROLLOUT = "_ng_task_index", "_ng_rollout_index"

_STATISTICS = ("mean", "max", "min", "median", "std")
_INDICES = (TASK, ROLLOUT)
_MOST = 1e300


def aggregate(replies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`group_level_metrics`, `agent_metrics` and `key_metrics` of stripped verify replies."""
    tasks: dict[tuple[bool, float, str], list[Mapping[str, Any]]] = {}
    for reply in replies:
        tasks.setdefault(_order(reply.get(TASK, 0)), []).append(reply)
    overall = _described([_numbers(reply) for reply in replies])
    return {
        "group_level_metrics": [_task(task[0].get(TASK, 0), task) for _, task in sorted(tasks.items())],
        "agent_metrics": overall,
        "key_metrics": {name: value for name, value in overall.items() if name.startswith("mean/")},
    }


def _task(index: Any, replies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rollouts = [
        {"rollout_id": f"{index}:{reply.get(ROLLOUT, 0)}", TASK: index, ROLLOUT: reply.get(ROLLOUT, 0)}
        | {name: value for name, value in _values(reply) if name not in _INDICES}
        for reply in replies
    ]
    return {
        **_described([_numbers(reply) for reply in replies]),
        TASK: index,
        "sample": {"agent_ref": {"name": "agent"}},
        "num_rollouts": len(replies),
        "expected_num_rollouts": len(replies),
        "missing_num_rollouts": 0,
        "reward_profile_completion_pct": 100.0,
        "rollout_infos": sorted(rollouts, key=lambda info: _order(info[ROLLOUT])),
    }


def _order(index: Any) -> tuple[bool, float, str]:
    """Sorts by index; anything that is not a number comes last."""
    known = _counts(index)
    return not known, float(index) if known else 0.0, "" if known else repr(index)


def _numbers(reply: Mapping[str, Any]) -> dict[str, float]:
    """Returns the numbers of a reply that are counted."""
    if reply.get("mask_sample"):
        return {"mask_sample": 1}
    return {name: value for name, value in _values(reply) if name not in _INDICES}


def _values(reply: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    response = reply.get("response")
    usage = response.get("usage") if isinstance(response, Mapping) else None
    for name, value in {**reply, **(usage if isinstance(usage, Mapping) else {})}.items():
        if isinstance(value, bool):
            yield name, int(value)
        elif _counts(value):
            yield name, value


def _counts(value: Any) -> bool:
    """Returns whether a value is a number that can be summed: JSON's integers are unbounded."""
    return isinstance(value, (int, float)) and abs(value) < _MOST


def _described(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    one = all(len(values) < 2 for values in columns.values())
    found: dict[str, float] = {}
    for statistic in _STATISTICS:
        for name, values in columns.items():
            if statistic == "std" and len(values) < 2:
                # Gym writes 0 if no column has a deviation, and omits it if another column has one.
                if one:
                    found[f"std/{name}"] = 0.0
                continue
            found[f"{statistic}/{name}"] = _DESCRIBE[statistic](values)
    return found


_DESCRIBE: Mapping[str, Any] = {
    "mean": statistics.fmean,
    "max": max,
    "min": min,
    "median": statistics.median,
    "std": statistics.stdev,
}
