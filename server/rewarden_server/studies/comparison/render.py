"""A comparison as text."""

from __future__ import annotations

from typing import Any

from rewarden.commands.terminal import one_line
from rewarden_server.studies.comparison.comparison import Comparison, Table
from rewarden_server.studies.comparison.pairing import Judged, Pair

_SHOWN = 60


def table(found: Comparison, a: str, b: str) -> str:
    """Returns the comparison as text for a terminal. `a`, `b`: the names of the two sides."""
    said = found.to_json()
    whole = found.table
    lines = [f"A  {one_line(a)}", f"B  {one_line(b)}", ""]
    lines.append(f"responses   {found.rows:,}; scored by both {whole.rows:,}; differing {found.differing:,}")
    for item in said["statuses"]:
        if (item["a"], item["b"]) != ("scored", "scored"):
            lines.append(f"            A {item['a']}, B {item['b']}: {item['rows']:,}")
    if whole.rows:
        lines += ["", f"{'':12}{'B passes':>12}{'B fails':>12}"]
        lines.append(f"{'A passes':12}{whole.both:12,}{whole.a_only:12,}")
        lines.append(f"{'A fails':12}{whole.b_only:12,}{whole.neither:12,}")
        lines += ["", *_statistics(said)]
    if len(found.sources) > 1:
        lines += ["", f"{'data source':24}{'both':>8}{'agree':>9}{'kappa':>8}{'A passes':>10}{'B passes':>10}"]
        lines += [_source(name, one) for name, one in sorted(found.sources.items())]
    if said["reasons"]:
        lines += ["", "differences (A → B)"]
        differing = [(item["rows"], one_line(str(item["a"])), one_line(str(item["b"]))) for item in said["reasons"]]
        lines += [f"{rows:8,}  {of_a} → {of_b}" for rows, of_a, of_b in differing[:12]]
    return "\n".join(lines)


def difference(pair: Pair) -> str:
    """Returns a response with different verdicts, in two lines."""
    name = next((str(pair.values[key]) for key in ("id", "sample_id", "rollout_id") if key in pair.values), "")
    where = f"row {pair.row}" + (f", response {pair.place}" if pair.place else "")
    where += f"  {one_line(name)}" if name else ""
    return f"{where}\n   A {_judgement(pair.left)}\n   B {_judgement(pair.right)}"


def _statistics(said: dict[str, Any]) -> list[str]:
    found, scores = said["table"], said["scores"]
    low, high = found["agreement_interval"]
    lines = [f"agreement   {found['agreement']:.1%} ({low:.1%}–{high:.1%})"]
    if found["kappa"] is not None:
        least, most = found["kappa_interval"]
        lines.append(f"kappa       {found['kappa']:.3f} ({least:.3f}–{most:.3f})")
    else:
        lines.append("kappa       not defined: every verdict is the same")
    lines.append(
        f"passed      A {found['a_passed']:.1%}, B {found['b_passed']:.1%}; "
        f"equal pass rates: p = {found['mcnemar_p']:.2g} (McNemar, exact)"
    )
    lines.append(
        f"scores      mean A {scores['a_mean']:.4f}, B {scores['b_mean']:.4f}; "
        f"mean difference {scores['mean_absolute_difference']:.4f}"
    )
    if scores["spearman"] is not None:
        lines.append(f"correlation Spearman {scores['spearman']:.3f}, Pearson {scores['pearson']:.3f}")
    return lines


def _source(name: str, one: Table) -> str:
    said = one.to_json()
    agreed = "-" if said["agreement"] is None else f"{said['agreement']:.1%}"
    value = "-" if said["kappa"] is None else f"{said['kappa']:.3f}"
    counts = f"{one.rows:8,}{agreed:>9}{value:>8}{said['a_passed']:>10.1%}{said['b_passed']:>10.1%}"
    return f"{one_line(name)[:23]:24}{counts}"


def _judgement(judged: Judged) -> str:
    score = "-" if judged.score is None else f"{judged.score:g}"
    extracted = judged.verdict.get("extracted") if isinstance(judged.verdict, dict) else None
    shown = "" if extracted is None else f"  {str(extracted)[:_SHOWN]!r}"
    return f"{judged.status:9} {score:>8}  {one_line(str(judged.reason or ''))}{shown}"
