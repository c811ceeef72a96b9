"""An audit as text, on one screen."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from rewarden.commands.terminal import one_line
from rewarden_server.studies.audit.audit import Audit
from rewarden_server.studies.audit.findings import Finding, Level
from rewarden_server.studies.rescore.progress import duration
from rewarden_verifiers.group.statistics import mean, std

SIGNS: Mapping[Level, str] = {"error": "✗", "warning": "✗", "note": "·", "ok": "✓"}
"""The sign before each check."""

_WIDTH = 116


def table(found: Audit, checks: Sequence[Finding]) -> str:
    """Returns the checks with cause and fix, then the figures."""
    lines: list[str] = []
    for one in checks:
        level = "" if one.level == "ok" else f"{one.level}: "
        lines += _wrapped(f"{SIGNS[one.level]} {level}{one.says}", "  ")
        if one.level == "ok":
            continue
        if one.cause:
            lines += _wrapped(f"    cause  {one.cause}", " " * 11)
        if one.fix:
            lines += _wrapped(f"    fix    {one.fix}", " " * 11)
        if one.rows:
            lines += _wrapped(f"    rows   {', '.join(one.rows)}", " " * 11)
    return "\n".join([*lines, "", *figures(found)])


def figures(found: Audit) -> list[str]:
    """Returns the figures as lines."""
    rows = len(found.drawn.rows)
    score, attack = found.farmability()
    lines = [f"rows         {rows:,} of {found.drawn.total:,} in the input; judged by {', '.join(found.uses) or '-'}"]
    sources = sorted({row.source for row in found.drawn.rows})
    by_source = sorted(((*found.farmability(source), source) for source in sources), reverse=True)[:4]
    more = "" if len(sources) < 2 else "; " + ", ".join(f"{source} {value:.3f}" for value, _, source in by_source)
    lines.append(f"farmability  {score:.3f}, by {attack}: the best mean score without an answer{more}")
    unscored = sum(sum(one.tally.unscored.values()) for one in found.tried)
    tried = sum(one.tally.samples for one in found.tried)
    lines.append(
        f"unscored     {sum(found.control.unscored.values()):,} of {found.control.samples:,} right answers, "
        f"{unscored:,} of {tried:,} attacks"
    )
    if found.distribution is not None:
        one = found.distribution
        middle, spread = mean(one.scores), std(one.scores)
        told = "none scored" if middle is None else f"mean {middle:.3f}, std {spread or 0.0:.3f}"
        lines.append(
            f"responses    {one.responses:,}: {told}; groups all right {one.right:,}, mixed {one.mixed:,}, all wrong "
            f"{one.wrong:,}; unscored {sum(one.unscored.values()):,}"
        )
    lines.append(f"a million    {cost_text(found)}")
    return lines


def cost_text(found: Audit) -> str:
    """Returns the cost of a million samples."""
    cost = found.cost.to_json()
    if cost["seconds"] is None:
        return "not measured: each verdict was in the cache"
    told = f"{duration(float(cost['seconds']))} at the rate of this run"
    if cost["judge_calls"]:
        most = " at most" if cost["estimated"] else ""
        told += f"; {cost['judge_calls']:,.0f} questions to judges, {cost['judge_tokens']:,.0f} tokens{most}"
        told += "" if cost["judge_usd"] is None else f", {cost['judge_usd']:,.2f} USD"
    return told


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(one_line(text), _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
