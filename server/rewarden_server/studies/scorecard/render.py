"""Scorecards as a table, as JSON, and as a page of the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from rewarden.commands.terminal import one_line
from rewarden_server.studies.farm.figures import Figure, Figures
from rewarden_server.studies.scorecard.cards import Card, Counts
from rewarden_server.studies.scorecard.outside import ALL, Measured, Outside, together
from rewarden_verifiers.group.statistics import wilson

_PAGE = """\
# Scorecard

How often verifiers are right on labelled rollouts: first on public data sets, then on our own. Written by `rewarden
scorecard --page docs/scorecard.md`. To measure your own data, label some of it (`rewarden scorecard --data FILE`) or
compare two verifiers on it (`rewarden compare`).

"""

_OUTSIDE = """\
## Outside sets

Rows that others published and labelled, judged with the defaults of `answer`. *Recall* is the share of right answers
that pass, *false positives* the share of wrong answers that pass. A verdict without a score is never right, and is
counted as *unscored*. Intervals are Wilson's, 95 %. The labels are the publishers', and some are wrong. The rows are
not in this repository; `rewarden scorecard --data FILE --by COLUMN` measures any file of that form.
"""

_OWN = """\
## Our own rows

How often each verifier is right on the rows of `tests/scorecard/`. The authors of the verifiers wrote these rows. They
guard against regressions, and do not estimate how a verifier performs on your data.

Intervals are Wilson's, 95 %. A row is labelled with pass or fail, or with the score that it must get. Unscored verdicts
count as wrong.

*Farmed* is what a policy can achieve without a right answer: of 10,000 hostile candidates against a valid reference,
how many went unscored, and how many were paid (`make farm`, see [testing](testing.md)).
"""

_FARMED = """\
## Farmability

Hostile candidates against valid references, by `make farm JSON=benchmarks/farm.json`; the goal is 0. *Weak tests* are
passes that are flagged because the tests do not compare values. *Free text* are verdicts that are undecided because the
reference is prose, or a letter without options. Neither counts as paid. Verifiers that call a judge or a model have no
goal.
"""


_SHOWN = 80
"""Characters of an answer or a reference that a list of misses shows."""


def table(cards: Sequence[Card], *, by_kind: bool = False) -> str:
    """The cards as lines, a verifier or a kind each."""
    head = f"{'verifier':30} {'rows':>5} {'right':>6}  {'95 % interval':15} {'TP':>5} {'FP':>4} {'TN':>5} {'FN':>4}"
    lines = [f"{head} {'score =':>8} {'score ≠':>8} {'undecided':>10} {'error':>6}"]
    for card in cards:
        lines.append(_line(card.verifier, card))
        if by_kind and len(card.kinds) > 1:
            lines += [_line(f"   {kind}", counts) for kind, counts in _sorted(card)]
    return "\n".join(lines)


def misses(cards: Sequence[Card]) -> str:
    """Every row that was judged otherwise than labelled."""
    lines: list[str] = []
    for card in cards:
        for row, label, verdict, why in card.misses:
            said = verdict.score if verdict.status == "scored" else verdict.status
            lines.append(
                f"{card.verifier} {row}: label {label}, verdict {said} ({verdict.reason}) {verdict.extracted!r}"
            )
            lines.append(f"    {why}")
    return "\n".join(lines)


def plain(card: Card) -> dict[str, Any]:
    """A card, JSON-ready."""
    return {
        "verifier": card.verifier,
        **_plain(card),
        "kinds": {kind: _plain(counts) for kind, counts in _sorted(card)},
        "misses": [[row, label, verdict.status, verdict.score, why] for row, label, verdict, why in card.misses],
    }


def page(cards: Sequence[Card], farmed: Figures, outside: Mapping[str, Outside]) -> str:
    """The page of the documentation."""
    lines = [
        _PAGE.rstrip("\n"),
        "",
        *outside_tables(outside),
        "",
        _OWN,
        "| verifier | rows | right | interval | false positives | false negatives | unscored | farmed |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for card in cards:
        lines.append(
            f"| [{card.verifier}](#{card.verifier}) | {card.rows} | {card.right / max(card.rows, 1):.1%} "
            f"| {_interval(card)} | {card.false_positive} | {card.false_negative} | {card.undecided + card.error} "
            f"| {farmability(farmed.rows.get(card.verifier))} |"
        )
    lines += ["", *farmability_table(farmed)]
    for card in cards:
        lines += ["", f"## {card.verifier}", ""]
        if card.true_positive + card.true_negative + card.false_positive + card.false_negative:
            lines += ["| | verdict: pass | verdict: fail |", "|---|---|---|"]
            lines.append(f"| label: pass | {card.true_positive} | {card.false_negative} |")
            lines += [f"| label: fail | {card.false_positive} | {card.true_negative} |", ""]
        if card.score_right + card.score_wrong:
            lines += [f"Scores as labelled: {card.score_right} of {card.score_right + card.score_wrong}.", ""]
        lines += ["| kind of answer | rows | right | interval |", "|---|---|---|---|"]
        lines += [
            f"| {kind} | {counts.rows} | {counts.right / max(counts.rows, 1):.1%} | {_interval(counts)} |"
            for kind, counts in _sorted(card)
        ]
        if card.misses:
            lines += ["", "Verdicts that differ from the label:", ""]
            lines += [
                f"- `{row}`: label {label}, {verdict.reason or verdict.score}" for row, label, verdict, _ in card.misses
            ]
    return "\n".join(lines) + "\n"


def farmability(figure: Figure | None) -> str:
    """Unscored and paid per 10,000 tries, as the table has it."""
    if figure is None or figure.untried is not None:
        return "not searched"
    return f"{figure.per_ten_thousand(figure.unscored):.1f} + {figure.per_ten_thousand(figure.paid):.1f}"


def farmability_table(farmed: Figures) -> list[str]:
    """The lines of the section on farmability: a row for each verifier and recipe."""
    lines = [
        _FARMED,
        "| verifier or recipe | tries | unscored | paid | per 10,000 | weak tests | free text | seed, date |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for name, row in farmed.rows.items():
        if row.untried is not None:
            lines.append(f"| {name} | not searched: {row.untried} | | | | | | {row.date} |")
        else:
            lines.append(
                f"| {name}{' (learned)' if row.learned else ''} | {row.tries} | {row.unscored} | {row.paid} "
                f"| {farmability(row)} | {row.flagged} | {row.free_text} | {row.seed}, {row.date} |"
            )
    return lines


def outside_tables(outside: Mapping[str, Outside]) -> list[str]:
    """The lines of the section on outside sets: a table for each, with a row for each group."""
    lines = [_OUTSIDE.rstrip("\n")]
    for name, of in outside.items():
        judges = list(of.judges)
        lines += ["", f"### {name}", "", f"{of.source} Measured on {of.date}.", ""]
        lines.append("| rows | right | " + " | ".join(f"{judge}: {what}" for judge in judges for what in _WHAT) + " |")
        lines.append("|---" * (2 + len(_WHAT) * len(judges)) + "|")
        groups = [(group, [of.judges[judge][group] for judge in judges]) for group in of.judges[judges[0]]]
        for group, counted in [(ALL, [together(of.judges[judge]) for judge in judges]), *groups]:
            cells = [cell for counts in counted for cell in _outside_cells(counts)]
            lines.append(f"| {group}: {counted[0].rows} | {counted[0].positive} | " + " | ".join(cells) + " |")
    return lines


_WHAT = ("accuracy", "recall", "false positives", "unscored")


def _outside_cells(counts: Counts) -> list[str]:
    return [
        _rate(counts.right, counts.rows),
        _rate(counts.true_positive, counts.positive),
        _rate(counts.false_positive, counts.rows - counts.positive),
        str(counts.undecided + counts.error),
    ]


def _rate(part: int, whole: int) -> str:
    """A share with its interval, in percent; a dash if there is nothing to divide by."""
    if not whole:
        return "–"
    low, high = wilson(part, whole)
    return f"{part / whole:.1%} ({low:.1%} – {high:.1%})"


def outside_table(measured: Sequence[Measured]) -> str:
    """Measures of labelled data as lines: for all rows, each file and each group, and each judge."""
    head = ("", "judge", "rows", "right", *_WHAT)
    cells: list[tuple[str, ...]] = [head]
    first = measured[0]
    parts = [(ALL, [one.total for one in measured])]
    if len(first.files) > 1:
        parts += [(name, [one.files[name] for one in measured]) for name in first.files]
    parts += [(name, [one.groups[name] for one in measured]) for name in sorted(first.groups)]
    for name, counted in parts:
        for one, counts in zip(measured, counted, strict=True):
            shown = one_line(name) if one is first else ""
            cells.append((shown, one.judge, str(counts.rows), str(counts.positive), *_outside_cells(counts)))
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        left = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join((*left, *right)).rstrip())
    return "\n".join(lines)


def outside_misses(measured: Measured) -> str:
    """Every row of labelled data that was judged otherwise than labelled, with its place."""
    lines = []
    for row, verdict in measured.misses:
        said = "pass" if verdict.passed else verdict.reason if verdict.status == "scored" else verdict.status
        reason = f" ({verdict.reason})" if verdict.status != "scored" else ""
        label = "right" if row.right else "wrong"
        lines.append(
            f"{one_line(row.place)}: {one_line(row.group)}: labelled {label}, verdict {said}{reason}: "
            f"{one_line(repr(verdict.extracted)[:_SHOWN])} for {one_line(repr(row.sample.reference)[:_SHOWN])}"
        )
    return "\n".join(lines)


def outside_plain(measured: Measured) -> dict[str, Any]:
    """Measures of labelled data, JSON-ready."""
    return {
        "judge": measured.judge,
        **_outside_plain(measured.total),
        "files": {name: _outside_plain(counts) for name, counts in measured.files.items()},
        "groups": {name: _outside_plain(counts) for name, counts in sorted(measured.groups.items())},
        "misses": [[row.place, row.right, verdict.status, verdict.reason] for row, verdict in measured.misses],
    }


def _outside_plain(counts: Counts) -> dict[str, Any]:
    shares = {
        "accuracy": (counts.right, counts.rows),
        "recall": (counts.true_positive, counts.positive),
        "false_positive_rate": (counts.false_positive, counts.rows - counts.positive),
    }
    told: dict[str, Any] = {**_plain(counts), "unscored": counts.undecided + counts.error}
    for name, (part, whole) in shares.items():
        told[name] = part / whole if whole else None
        told[f"{name}_interval"] = list(wilson(part, whole)) if whole else None
    return told


def _sorted(card: Card) -> list[tuple[str, Counts]]:
    return sorted(card.kinds.items(), key=lambda item: (-item[1].rows, item[0]))


def _interval(counts: Counts) -> str:
    low, high = wilson(counts.right, counts.rows)
    return f"{low:.1%} – {high:.1%}"


def _line(name: str, counts: Counts) -> str:
    return (
        f"{name:30} {counts.rows:5} {counts.right / max(counts.rows, 1):6.1%}  {_interval(counts):15} "
        f"{counts.true_positive:5} {counts.false_positive:4} {counts.true_negative:5} {counts.false_negative:4}"
        f" {counts.score_right:8} {counts.score_wrong:8} {counts.undecided:10} {counts.error:6}"
    )


def _plain(counts: Counts) -> dict[str, Any]:
    low, high = wilson(counts.right, counts.rows)
    cells = {cell.name: getattr(counts, cell.name) for cell in fields(Counts)}
    return {"rows": counts.rows, "right": counts.right, "interval": [low, high], **cells}
