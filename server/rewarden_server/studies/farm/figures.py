"""Figures of farmability in a file, so that the scorecard can show them: a row for each verifier and recipe."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rewarden_server.studies.farm.search import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The farmability of one verifier: counts of so many tries, from a seed, on a day. untried: why there are none."""

    tries: int
    unscored: int
    paid: int
    flagged: int
    free_text: int
    learned: bool
    seed: str
    date: str
    untried: str | None = None

    def per_ten_thousand(self, count: int) -> float:
        """A count per 10,000 tries."""
        return 10_000 * count / self.tries


@dataclass(slots=True)
class Figures:
    """Figures by the name of what was searched."""

    rows: dict[str, Figure]

    def add(self, tally: Tally, *, seed: str) -> None:
        """Put a tally of today in place of what stood there."""
        self.rows[tally.verifier] = Figure(
            tries=tally.tries,
            unscored=tally.unscored,
            paid=tally.paid,
            flagged=tally.flagged,
            free_text=tally.free_text,
            learned=tally.learned,
            seed=seed,
            date=datetime.now(UTC).date().isoformat(),
            untried=tally.untried,
        )

    def write(self, file: Path) -> None:
        """Write them, a line each, so that a search of one name changes one line."""
        lines = [f" {json.dumps(name)}: {json.dumps(asdict(row))}" for name, row in sorted(self.rows.items())]
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_figures(file: Path) -> Figures:
    """The figures of a file. Raises ValueError for what is of another form."""
    try:
        rows = {name: Figure(**row) for name, row in json.loads(file.read_text(encoding="utf-8")).items()}
    except (TypeError, AttributeError) as error:
        raise ValueError(f"{file}: no figures of farmability: {error}") from None
    return Figures(rows)
