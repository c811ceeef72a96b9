"""The findings of a comparison: counts, agreement, correlation, and the responses that are judged otherwise."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rewarden_server.studies.comparison.agreement import kappa, mcnemar, pearson, spearman
from rewarden_server.studies.comparison.pairing import Judged, Pair
from rewarden_verifiers.group.statistics import mean, wilson

_SOURCES = 200
"""Data sources that are told apart; the rest is counted together, so that a column of ids cannot fill the memory."""
_REST = "(others)"


@dataclass(slots=True)
class Table:
    """Passed by both, by A alone, by B alone, by neither; among what both scored."""

    both: int = 0
    a_only: int = 0
    b_only: int = 0
    neither: int = 0

    @property
    def rows(self) -> int:
        """All that both scored."""
        return self.both + self.a_only + self.b_only + self.neither

    def add(self, a: bool, b: bool) -> None:
        """Count one response."""
        if a:
            self.both += b
            self.a_only += not b
        else:
            self.b_only += b
            self.neither += not b

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison, ready for JSON, with the statistics that the table allows."""
        agreed = self.both + self.neither
        found = kappa(self.both, self.a_only, self.b_only, self.neither)
        return {
            "rows": self.rows,
            "both_pass": self.both,
            "a_only": self.a_only,
            "b_only": self.b_only,
            "neither": self.neither,
            "agreement": agreed / self.rows if self.rows else None,
            "agreement_interval": list(wilson(agreed, self.rows)),
            "kappa": found[0] if found else None,
            "kappa_interval": list(found[1:]) if found else None,
            "a_passed": (self.both + self.a_only) / self.rows if self.rows else None,
            "b_passed": (self.both + self.b_only) / self.rows if self.rows else None,
            "mcnemar_p": mcnemar(self.a_only, self.b_only),
        }


@dataclass(slots=True)
class Comparison:
    """Built up pair by pair; scores are kept as numbers, for the correlations, and nothing else of the rows is."""

    threshold: float | None = None
    source_column: str = "data_source"
    table: Table = field(default_factory=Table)
    sources: dict[str, Table] = field(default_factory=dict)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    differing: int = 0
    a_scores: array[float] = field(default_factory=lambda: array("d"))
    b_scores: array[float] = field(default_factory=lambda: array("d"))

    def add(self, pair: Pair) -> bool:
        """Count one response; returns whether it is judged otherwise by the two."""
        a, b = pair.left, pair.right
        self.statuses[a.status, b.status] += 1
        a_passes, b_passes = a.passes(self.threshold), b.passes(self.threshold)
        if a.score is not None and b.score is not None and a_passes is not None and b_passes is not None:
            self.table.add(a_passes, b_passes)
            self._source(pair).add(a_passes, b_passes)
            self.a_scores.append(a.score)
            self.b_scores.append(b.score)
        differs = a.score != b.score or a_passes != b_passes or a.status != b.status
        if differs:
            self.differing += 1
            self.reasons[_said(a, a_passes), _said(b, b_passes)] += 1
        return differs

    @property
    def rows(self) -> int:
        """All responses."""
        return sum(self.statuses.values())

    def to_json(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        gaps = [abs(x - y) for x, y in zip(self.a_scores, self.b_scores, strict=True)]
        return {
            "rows": self.rows,
            "differing": self.differing,
            "statuses": [{"a": a, "b": b, "rows": n} for (a, b), n in self.statuses.most_common()],
            "table": self.table.to_json(),
            "scores": {
                "a_mean": mean(self.a_scores),
                "b_mean": mean(self.b_scores),
                "mean_absolute_difference": mean(gaps),
                "spearman": spearman(self.a_scores, self.b_scores),
                "pearson": pearson(self.a_scores, self.b_scores),
            },
            "by_data_source": {name: table.to_json() for name, table in sorted(self.sources.items())},
            "reasons": [{"a": a, "b": b, "rows": n} for (a, b), n in self.reasons.most_common(50)],
        }

    def _source(self, pair: Pair) -> Table:
        value = pair.values.get(self.source_column)
        name = str(value) if isinstance(value, (str, int)) else "-"
        if name not in self.sources and len(self.sources) >= _SOURCES:
            name = _REST
        return self.sources.setdefault(name, Table())


def _said(judged: Judged, passes: bool | None) -> str:
    """A judgement in a word or two."""
    if judged.score is None:
        return f"{judged.status}: {judged.reason}" if judged.reason else judged.status
    return judged.reason or ("passed" if passes else "failed")
