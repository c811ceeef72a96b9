"""A check as text: the findings with what to do, then the figures."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from rewarden.commands.terminal import one_line
from rewarden_server.studies.data_check.checked import Checked
from rewarden_server.studies.data_check.figures import Figures
from rewarden_server.studies.data_check.findings import advice, meaning
from rewarden_server.studies.lint.findings import Kind
from rewarden_server.studies.rescore.progress import duration

SIGNS: Mapping[Kind, str] = {"error": "✗", "warning": "!", "note": "·"}
"""The sign before each finding."""

_WIDTH = 116
_SHOWN = 3


def table(found: Figures) -> str:
    """Returns the findings, each with examples, and the figures."""
    lines: list[str] = []
    total = len(found.rows)
    for one in found.findings():
        share = f"{one.rows:,} row{'s' if one.rows > 1 else ''} ({one.rows / total:.1%})"
        lines += _wrapped(f"{SIGNS[one.kind]} {one.kind}: {one.name}: {share}: {meaning(one.name)}", "  ")
        if advice(one.name):
            lines += _wrapped(f"    do    {advice(one.name)}", " " * 10)
        for place, message in one.examples[:_SHOWN]:
            lines += _wrapped(f"    row   {place}{_details(message, meaning(one.name))}", " " * 10)
    return "\n".join([*lines, *([""] if lines else []), *figures(found)])


def _details(message: str, general: str) -> str:
    """The details of a message, without the meaning of its finding."""
    rest = message.removeprefix(general).strip()
    return f" {rest}" if rest else ""


def figures(found: Figures) -> list[str]:
    """Returns the figures as lines."""
    judged, survived = found.mutants
    lines = [f"rows       {len(found.rows):,}: {found.good:,} good, {len(found.rows) - found.good:,} bad"]
    lines.append(f"solutions  {found.passing:,} of {found.solved:,} rows with a solution have one that passes")
    wrong, passed = found.wrong
    if wrong:
        lines.append(f"wrong      {wrong:,} stored: {wrong - passed:,} fail, {passed:,} pass ({passed / wrong:.1%})")
    if judged:
        lines.append(f"mutants    {judged:,}: {judged - survived:,} fail, {survived:,} pass ({survived / judged:.1%})")
    modules = found.modules()
    if modules:
        lines.append(f"modules    missing: {', '.join(f'{name} ({rows:,})' for name, rows in modules)}")
    slowest = nearest(found.rows)
    if slowest is not None:
        lines.append(f"limits     nearest: {slowest.place}, {limits_of(slowest)}")
    lines.append(f"verdicts   {found.verdicts:,} in {duration(found.seconds)}")
    if found.output is not None:
        lines.append(
            f"output     {found.output}: the good rows; {found.output}.check.jsonl: every row with its findings"
        )
    return lines


def nearest(rows: Sequence[Checked]) -> Checked | None:
    """Returns the row whose solution is nearest to its limit of CPU time; None if none was measured."""
    timed = [row for row in rows if row.measured.cpu_share is not None]
    return max(timed, key=lambda row: row.measured.cpu_share or 0.0, default=None)


def limits_of(row: Checked) -> str:
    """Returns the resources of a row's solution and its shares of the limits, in words."""
    taken = row.measured
    parts = []
    if taken.cpu_s is not None and taken.cpu_share is not None:
        parts.append(f"{taken.cpu_s:.3g} s of CPU ({taken.cpu_share:.1%} of the limit)")
    if taken.memory_share is not None:
        parts.append(f"{taken.memory_share:.1%} of the memory")
    return ", ".join(parts)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(one_line(text), _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
