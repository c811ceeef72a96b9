"""A comparison as a page: one file like the report of a rescore, of whose modules it is made."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewarden_server.studies.comparison.comparison import Comparison
from rewarden_server.studies.comparison.pairing import Judged, Pair
from rewarden_server.studies.comparison.render import table
from rewarden_server.studies.report.page import MODULES, assemble, columns_of, new_tables, write
from rewarden_server.studies.report.rows import Prompts, Shown, show
from rewarden_server.studies.rescore.columns import Columns, Mapped, choose
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.render import is_verdict

CHARS = 4_000
"""Characters of a response that the page holds."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A response with both judgements, as the page shows it."""

    a: Shown
    b: Shown


class Keeper:
    """Keeps the responses that differ most, the earlier of equal ones."""

    def __init__(self, most: int, threshold: float | None, columns: Mapping[str, str], source_column: str) -> None:
        self._most = most
        self._threshold = threshold
        self._given = columns
        self._source = source_column
        self._columns: Columns | None = None
        self._prompts = Prompts(CHARS // 2)
        self._held: list[tuple[float, int, Kept]] = []
        self._count = 0

    def add(self, pair: Pair, gap: float) -> None:
        """Keeps a pair with this distance of its scores, in place of a nearer one if there are enough."""
        self._count += 1
        entry = (gap, -self._count)
        if len(self._held) == self._most and entry < self._held[0][:2]:
            return
        held = (*entry, self._kept(pair))
        (heapq.heappush if len(self._held) < self._most else heapq.heappushpop)(self._held, held)

    @property
    def rows(self) -> list[Kept]:
        """Returns the responses in the order of the file."""
        return [kept for _, _, kept in sorted(self._held, key=lambda held: -held[1])]

    @property
    def columns(self) -> list[str]:
        """Returns lines that tell how the rows were read."""
        return [] if self._columns is None else self._columns.describe()

    def _kept(self, pair: Pair) -> Kept:
        if self._columns is None:
            self._columns = _chosen(self._given, pair.values)
        mapped = _mapped(self._columns, pair, self._source)
        place = f"row {pair.row}" + (f" #{pair.place + 1}" if mapped.many else "")
        verdicts = [_verdict(one, self._threshold) for one in (pair.left, pair.right)]
        a, b = (show(CHARS, self._prompts, mapped, pair.place, one, place, mapped.group) for one in verdicts)
        return Kept(a, b)


def _chosen(given: Mapping[str, str], row: Mapping[str, Any]) -> Columns:
    """The columns of the rows, which need hold no responses."""
    try:
        return choose(given, [row])
    except RescoreError:
        return choose(given, [row], responses=False)


def _mapped(columns: Columns, pair: Pair, source_column: str) -> Mapped:
    if columns.whole.keys() & {"response", "messages"}:
        mapped = columns.map(pair.values, "", pair.row)
    else:
        sample = columns.common(pair.values, "", pair.row)
        mapped = Mapped([sample] * (pair.place + 1), pair.place > 0, columns.group_of(pair.values, "", pair.row), None)
    source = pair.values.get(source_column)
    return replace(mapped, data_source=str(source) if isinstance(source, (str, int)) else None)


def _verdict(judged: Judged, threshold: float | None) -> dict[str, Any]:
    """The judgement as a verdict, which for a number is made."""
    told = dict(judged.verdict) if is_verdict(judged.verdict) else {"status": judged.status, "reason": judged.reason}
    return {**told, "score": judged.score, "passed": judged.passes(threshold)}


def write_page(found: Comparison, kept: Keeper, names: tuple[str, str], output: Path) -> int:
    """Writes the page; returns its size in bytes. The same files make the same bytes."""
    return write(output, render(found, kept, names))


def render(found: Comparison, kept: Keeper, names: tuple[str, str]) -> str:
    """The page as text."""
    rows, tables = kept.rows, new_tables()
    a, b = columns_of((one.a for one in rows), tables), columns_of((one.b for one in rows), tables)
    data = {
        "title": f"{names[0]} and {names[1]}",
        "names": names,
        "found": found.to_json(),
        "columns": kept.columns,
        "chars": CHARS,
        "tables": {name: one.values for name, one in tables.items()},
        "rows": a,
        "other": b,
    }
    shown = [shown for one in rows for shown in (one.a, one.b)]
    return assemble(str(data["title"]), table(found, *names), data, shown, (*MODULES, "compare.js"))
