"""The figures of a run: sums of the columns that `/v1/runs/{id}/points` returns, and the curves of its data sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

SHARES = ("unscored", "no_answer", "truncated", "flagged")
"""The counts that are shown as shares of all verdicts."""

GROUPS = ("all_pass", "mixed", "flat", "partly", "all_fail")
"""The kinds of groups, which are shown as shares of those with more than one member."""

RECENT = 10
"""The number of latest points that count as the present."""

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """The figures of some points of a run. shares, groups: by name; None without verdicts, or groups. Times are means
    in seconds. cost_usd: 0 if judges have no price."""

    shares: Mapping[str, float | None]
    groups: Mapping[str, float | None]
    queue_s: float | None
    run_s: float | None
    judge_calls: int
    judge_tokens: int
    cost_usd: float

    @classmethod
    def of(cls, rows: Sequence[_Row]) -> Part:
        """Sums up rows."""
        verdicts = _sum(rows, "verdicts")
        groups = sum(_sum(rows, kind) for kind in GROUPS)
        return cls(
            shares={name: _sum(rows, name) / verdicts if verdicts else None for name in SHARES},
            groups={kind: _sum(rows, kind) / groups if groups else None for kind in GROUPS},
            queue_s=_judged_mean(rows, "queue_s"),
            run_s=_judged_mean(rows, "run_s"),
            judge_calls=_sum(rows, "judge_calls"),
            judge_tokens=_sum(rows, "judge_tokens"),
            cost_usd=sum(row["cost_usd"] for row in rows),
        )


@dataclass(frozen=True, slots=True)
class Curve:
    """The mean reward of a data source at each point of the run, as a position from 0 to 1 in the range of its
    verdicts; None where nothing was scored. now: the mean over the latest points."""

    source: str
    means: tuple[float | None, ...]
    now: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """A run and its figures, as the server reports them. places: steps, or seconds since the epoch. seq: the latest
    change that they include."""

    run: Mapping[str, Any]
    axis: str
    width: int
    seq: int
    places: tuple[int, ...]
    curves: tuple[Curve, ...]
    all: Part
    recent: Part
    reasons: Mapping[str, int]
    flags: Mapping[str, int]

    @classmethod
    def of(cls, points: Mapping[str, Any], counts: Mapping[str, Any]) -> Figures:
        """Reads the replies of `points` and `counts`."""
        columns = points["points"]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        by_place = [list(same) for _, same in groupby(rows, key=lambda row: row["at"])]
        return cls(
            run=points["run"],
            axis=points["axis"],
            width=points["width"],
            seq=points["seq"],
            places=tuple(same[0]["at"] for same in by_place),
            curves=tuple(_curve(number, name, by_place) for number, name in enumerate(points["sources"])),
            all=Part.of(rows),
            recent=Part.of([row for same in by_place[-RECENT:] for row in same]),
            reasons=counts["reasons"],
            flags=counts["flags"],
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the figures, ready for JSON."""
        return {
            **self.run,
            "axis": self.axis,
            "width": self.width,
            "places": self.places,
            "rewards": {curve.source: {"now": curve.now, "means": curve.means} for curve in self.curves},
            "all": _part_to_json(self.all),
            "recent": _part_to_json(self.recent),
            "reasons": self.reasons,
            "flags": self.flags,
        }


def _curve(number: int, name: str, by_place: Sequence[Sequence[_Row]]) -> Curve:
    own = [next((row for row in same if row["source"] == number), None) for same in by_place]
    known = [row for row in own[-RECENT:] if row is not None and row["mean"] is not None]
    scored = _sum(known, "scored")
    return Curve(
        source=name,
        means=tuple(None if row is None else row["mean"] for row in own),
        now=sum(row["mean"] * row["scored"] for row in known) / scored if scored else None,
    )


def _sum(rows: Sequence[_Row], name: str) -> int:
    return sum(row[name] for row in rows)


def _judged_mean(rows: Sequence[_Row], name: str) -> float | None:
    """Returns the mean over the verdicts that did not come from the cache."""
    judged = [(row[name], row["verdicts"] - row["cached"]) for row in rows if row[name] is not None]
    count = sum(weight for _, weight in judged)
    return sum(value * weight for value, weight in judged) / count if count else None


def _part_to_json(part: Part) -> dict[str, Any]:
    spent = {"judge_calls": part.judge_calls, "judge_tokens": part.judge_tokens, "cost_usd": part.cost_usd}
    return {**part.shares, "groups": part.groups, "queue_s": part.queue_s, "run_s": part.run_s, **spent}
