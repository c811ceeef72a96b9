"""The figures of a check: over all rows, by finding and by data source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden_server.studies.data_check.checked import Checked
from rewarden_server.studies.data_check.findings import KNOWN, advice, meaning
from rewarden_server.studies.lint.findings import Kind

_ORDER: Sequence[Kind] = ("error", "warning", "note")
_EXAMPLES = 5


@dataclass(slots=True)
class Found:
    """The rows with one finding. examples: the first of them, each with its place and the message."""

    name: str
    kind: Kind
    rows: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self.name,
            "kind": self.kind,
            "rows": self.rows,
            "means": meaning(self.name),
            "fix": advice(self.name),
            "examples": [{"row": place, "message": message} for place, message in self.examples],
        }


@dataclass(frozen=True, slots=True)
class Figures:
    """A check of all rows. verdicts: how many were requested; seconds: of this sitting; output: the file of good
    rows."""

    rows: Sequence[Checked]
    verdicts: int = 0
    seconds: float = 0.0
    output: str | None = None

    @property
    def good(self) -> int:
        """Returns the number of good rows."""
        return sum(row.good for row in self.rows)

    @property
    def solved(self) -> int:
        """Returns the number of rows with a stored solution that was judged."""
        return sum(row.solutions > 0 for row in self.rows)

    @property
    def passing(self) -> int:
        """Returns the number of rows with a solution that passes."""
        return sum(row.passed > 0 for row in self.rows)

    @property
    def mutants(self) -> tuple[int, int]:
        """Returns how many mutants were judged, and how many of them passed."""
        return sum(row.mutants for row in self.rows), sum(len(row.survivors) for row in self.rows)

    @property
    def wrong(self) -> tuple[int, int]:
        """Returns how many programs that are stored as wrong ones were judged, and how many of them passed."""
        return sum(row.wrong for row in self.rows), sum(row.wrong_passed for row in self.rows)

    def findings(self) -> list[Found]:
        """Returns the findings, errors first, the commonest first."""
        found: dict[str, Found] = {}
        for row in self.rows:
            for one in {one.name: one for one in row.findings}.values():
                kept = found.setdefault(one.name, Found(one.name, one.kind))
                kept.rows += 1
                if len(kept.examples) < _EXAMPLES:
                    kept.examples.append((row.place, one.message))
        return sorted(found.values(), key=lambda one: (_ORDER.index(one.kind), -one.rows, one.name))

    def modules(self) -> list[tuple[str, int]]:
        """Returns the modules that the sandbox lacks, with the number of rows that need each."""
        start = f"{KNOWN['missing_module'].message} ("
        named = (one.message for row in self.rows for one in row.findings if one.name == "missing_module")
        return Counter(
            name for message in named for name in message.removeprefix(start).rstrip(")").split(", ")
        ).most_common()

    def sources(self) -> Iterator[tuple[str, Sequence[Checked]]]:
        """Yields the data sources with their rows."""
        for source in sorted({row.source or "-" for row in self.rows}):
            yield source, [row for row in self.rows if (row.source or "-") == source]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready, without the rows."""
        judged, survived = self.mutants
        wrong, wrong_passed = self.wrong
        return {
            "rows": len(self.rows),
            "good": self.good,
            "bad": len(self.rows) - self.good,
            "with_solution": self.solved,
            "solution_passes": self.passing,
            "wrong_solutions": wrong,
            "wrong_solutions_passed": wrong_passed,
            "mutants": judged,
            "mutants_survived": survived,
            "missing_modules": dict(self.modules()),
            "findings": [one.to_json() for one in self.findings()],
            "verdicts": self.verdicts,
            "seconds": self.seconds,
        }
