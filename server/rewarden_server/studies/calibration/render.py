"""A calibration as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rewarden.commands.terminal import one_line
from rewarden.types import Use
from rewarden_server.studies.calibration.agreement import Figure
from rewarden_server.studies.calibration.assault import Assault
from rewarden_server.studies.calibration.calibration import Calibration
from rewarden_server.studies.calibration.judged_responses import Spent

NAMES = {
    "scored": "scored",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "kappa": "Cohen's kappa",
    "false_positive_rate": "wrong ones passed",
    "auroc": "AUROC",
    "brier": "Brier score",
    "calibration_error": "calibration error",
}
"""The figures in display order."""

SHARES = frozenset({"scored", "accuracy", "balanced_accuracy", "precision", "recall", "false_positive_rate"})
"""The figures shown in percent."""


def table(found: Calibration) -> str:
    """The calibration as text for a terminal."""
    lines = [f"judge       {use_text(found.use)}", f"responses   {found.rows:,}; scored {found.scored:,}"]
    for (status, fault, reason), count in found.unscored.items():
        lines.append(f"            {unscored_text(status, fault, reason)}: {count:,}")
    if found.flags:
        lines.append(f"flags       {flags_text(found.flags)}")
    if not found.scored:
        return "\n".join(
            [*lines, *([" " * 12 + found.problem.replace("\n", "\n" + " " * 12)] if found.problem else [])]
        )
    lines += ["", f"{'':22}{'value':>8}   95 % interval"]
    lines += [figure_line(NAMES[name], found.figures[name], name in SHARES) for name in NAMES if name in found.figures]
    if found.grades is not None:
        lines.append(f"{'rank correlation':22}{found.grades:8.3f}   with the labels' numbers (Spearman)")
    matrix = found.matrix
    lines += ["", f"{'':16}{'judge: pass':>12}{'judge: fail':>12}"]
    lines.append(f"{'label: right':16}{matrix.true_positive:12,}{matrix.false_negative:12,}")
    lines.append(f"{'label: wrong':16}{matrix.false_positive:12,}{matrix.true_negative:12,}")
    lines += ["", *consistency(found), "", *_length(found), "", *threshold_lines(found)]
    if found.attacks:
        lines += ["", *attack_lines(found.attacks, found.targets)]
    return "\n".join([*lines, "", spent_line(found.spent)])


def use_text(use: Use) -> str:
    """A use in the form in which it is typed."""
    if use.name is None:
        return "a recipe"
    return f"{use.name} {json.dumps(dict(use.params), ensure_ascii=False)}" if use.params else use.name


def flags_text(flags: Mapping[str, int]) -> str:
    """Returns how many verdicts have each flag: figures of a weak judge or of a fallback must not look like others."""
    return ", ".join(f"{one_line(name)} {count:,}" for name, count in flags.items())


def unscored_text(status: str, fault: str, reason: str) -> str:
    """A short reason for an unscored verdict."""
    return f"{status}, fault {fault or 'unknown'}" + (f": {one_line(reason)}" if reason else "")


def value_text(figure: Figure, percent: bool) -> str:
    """A value, or a dash."""
    return "-" if figure.value is None else f"{figure.value:.1%}" if percent else f"{figure.value:.3f}"


def span_text(figure: Figure, percent: bool) -> str:
    """An interval, or nothing."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:.1%}–{figure.high:.1%}" if percent else f"{figure.low:.3f}–{figure.high:.3f}"


def interval_text(figure: Figure, percent: bool) -> str:
    """An interval; for a share, also its counts."""
    text = span_text(figure, percent)
    return f"{text} ({figure.count:,} of {figure.of:,})" if text and figure.of is not None else text


def figure_line(name: str, figure: Figure, percent: bool) -> str:
    """A figure on a line of its own."""
    return f"{name:22}{value_text(figure, percent):>8}   {interval_text(figure, percent)}".rstrip()


def consistency(found: Calibration) -> list[str]:
    """Lines on how often the judge contradicts itself."""
    flips = found.flips
    lines: list[str] = []
    if flips.orders is not None:
        lines.append(figure_line("order flips", flips.orders, True))
    if flips.repeats is not None:
        lines.append(figure_line("not unanimous", flips.repeats, True) + f", {flips.opinions} opinions each")
        lines.append(f"{'two opinions differ':22}{flips.disagreement or 0.0:8.1%}")
    if not lines:
        lines.append("repeat flips            not measured: --samples 3 asks each question three times")
    return lines


def _length(found: Calibration) -> list[str]:
    lines = [figure_line("error and length", found.length.correlation, False) + "  (above 0: favours long responses)"]
    for third in found.length.thirds:
        name = f"wrong, {third.shortest:,}–{third.longest:,} characters"
        lines.append(f"  {name:38}{value_text(third.passed, True):>8} passed   {interval_text(third.passed, True)}")
    return lines


def threshold_lines(found: Calibration) -> list[str]:
    """The threshold for the wanted precision, or the reason why there is none."""
    wanted = f"{found.wanted.precision:.0%}"
    if not found.graded:
        return [
            f"threshold   none for a precision of {wanted}: the scores are only 0 and 1 "
            "(use a scale, or several --samples)"
        ]
    point = found.threshold
    if point is None:
        best = max(
            (one for one in found.curve if one.score > 0), key=lambda one: one.precision.low or 0.0, default=None
        )
        nearest = (
            f"; the nearest is {best.score:.3g} with {interval_text(best.precision, True)}" if best is not None else ""
        )
        return [f"threshold   none reaches a precision of {wanted} on these rows{nearest}"]
    lines = [
        f"threshold   from {point.score:.4g}: a precision of {wanted} or more, with 95 % confidence on these rows",
        figure_line("  its precision", point.precision, True),
        figure_line("  its recall", point.recall, True),
    ]
    up_to = found.rejection
    if up_to is not None:
        lines += [
            f"rejection   up to {up_to.score:.4g}: as precise on the wrong responses; between the two, ask a stronger "
            "judge (cascade: threshold, reject)",
            figure_line("  its precision", up_to.precision, True),
            figure_line("  its recall", up_to.recall, True),
        ]
    settings = found.settings
    return lines if settings is None else [*lines, f"  --use '{json.dumps(settings, ensure_ascii=False)}'"]


def attack_lines(attacks: Sequence[Assault], targets: int) -> list[str]:
    """The attacks as a table. targets: the number of responses attacked."""
    asked = any(one.refused for one in attacks)
    head = f"{'attack':22}{'passed':>8}   {'95 % interval':26}{'before':>8}{'p':>9}"
    lines = [f"wrong responses under attack: {targets:,}, each in {len(attacks)} ways", ""]
    lines.append(head + ("   as configured" if asked else ""))
    for one in attacks:
        line = f"{one.attack.name:22}{value_text(one.passed, True):>8}   {interval_text(one.passed, True):26}"
        line += f"{value_text(one.before, True):>8}{one.p:9.2g}"
        if one.refused:
            line += f"   {value_text(one.configured, True)} ({one.refused} refused without a call)"
        if one.unscored:
            line += f"   {one.unscored} unscored"
        lines.append(line)
    return lines


def spent_line(spent: Spent) -> str:
    """A line on the questions, tokens and money spent."""
    tokens = f"{spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens" + (" (at most)" if spent.estimated else "")
    cost = "" if spent.cost_usd is None else f", {spent.cost_usd:.4f} USD"
    return f"took        {spent.calls:,} questions ({spent.cached:,} more from the cache), {tokens}{cost}"
