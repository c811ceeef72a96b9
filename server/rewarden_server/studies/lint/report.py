"""The results of an examination, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rewarden.commands.terminal import one_line
from rewarden_server.studies.lint.examination import Examined
from rewarden_server.studies.lint.findings import advice

_READING = 60
_MESSAGE = 200
_NO_BRANCH = "–"


def lines(rows: Sequence[Examined], *, clean: bool = False) -> list[str]:
    """A line for each finding, and, where `clean` is asked for, one for each row without any."""
    shown: list[str] = []
    for row in rows:
        where = f"{one_line(row.file)}:{row.line}"
        judged = "" if row.branch is None else f"  [{row.branch}{_reads(row)}]"
        for one in row.findings:
            shown.append(f"{where}: {one.kind}: {one.name}: {_cut(one.message, _MESSAGE)}{judged}")
        if clean and not row.findings:
            shown.append(f"{where}: ok{judged}")
    return shown


def summary(rows: Sequence[Examined]) -> list[str]:
    """The counts of findings with what to set, the branches, and the share that is expected to go unscored."""
    kinds = {one.name: one.kind for row in rows for one in row.findings}
    cells = [("finding", "kind", "rows", "share", "what to set")]
    cells += [
        (name, kinds[name], f"{count:,}", f"{count / len(rows):.1%}", advice(name)) for name, count in _counts(rows)
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    made = []
    if len(cells) > 1:
        for name, kind, count, share, what in cells:
            head = f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {count:>{widths[2]}}  {share:>{widths[3]}}"
            made.append(f"{head}  {what}".rstrip())
    branches = Counter(row.branch or _NO_BRANCH for row in rows)
    made.append(
        f"rows       {len(rows):,}: " + ", ".join(f"{name} {count:,}" for name, count in branches.most_common())
    )
    lost = unscored_share(rows)
    if lost is not None:
        made.append(f"unscored   {lost:.1%} of wrong answers are expected to have no score")
    return made


def to_json(rows: Sequence[Examined]) -> dict[str, Any]:
    """All of it, JSON-ready. Shares are null where no row could be examined."""
    kinds = {one.name: one.kind for row in rows for one in row.findings}
    return {
        "rows": len(rows),
        "unscored_share": unscored_share(rows),
        "findings": [
            {"name": name, "kind": kinds[name], "rows": count, "share": count / len(rows), "set": advice(name)}
            for name, count in _counts(rows)
        ],
        "branches": dict(Counter(row.branch for row in rows if row.branch is not None).most_common()),
        "lines": [asdict(row) for row in rows],
    }


def unscored_share(rows: Sequence[Examined]) -> float | None:
    """The share of wrong answers that would have no score, over the rows that could be examined; None without any."""
    shares = [row.unscored for row in rows if row.unscored is not None]
    return sum(shares) / len(shares) if shares else None


def _counts(rows: Sequence[Examined]) -> list[tuple[str, int]]:
    return Counter(name for row in rows for name in dict.fromkeys(one.name for one in row.findings)).most_common()


def _reads(row: Examined) -> str:
    by = "" if row.by is None else f", by {row.by}"
    return by if row.reading is None else f"{by}; reads {_cut(row.reading, _READING)}"


def _cut(text: str, most: int) -> str:
    return one_line(text if len(text) <= most else f"{text[: most - 1]}…")
