"""Scorecards as a table, as JSON, and as a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rewarden_server.studies.farm.figures import Figure, Figures
from rewarden_server.studies.scorecard.cards import Card, Counts
from rewarden_verifiers.group.statistics import wilson

_PAGE = """\
# Scorecard

How often each verifier is right on the labelled rollouts of `tests/scorecard/`. Written by `rewarden scorecard --page
docs/scorecard.md`. The rows were written by those who wrote the verifiers: they hold a verifier to what it once could,
and do not estimate how it fares on your data. For that, label rollouts of yours (`rewarden scorecard --folder …`) or
hold two verifiers against each other (`rewarden compare`).

Intervals are Wilson's, 95 %. A row is labelled with pass or fail, or with the score that it must get. Unscored verdicts
are counted as not right.

*Farmed* is what a policy can bring about without a right answer: of 10,000 hostile candidates against a valid
reference, those that went unscored and those that were paid (`make farm`, see [testing](testing.md)).
"""

_FARMED = """\
## Farmability

Hostile candidates against valid references, by `make farm JSON=benchmarks/farm.json`; the goal is 0. *Weak tests* are
passes that are flagged because the tests do not compare values, *free text* verdicts that are undecided because the
reference is prose, or a letter without options; neither counts as paid. What asks a judge or a model is held to
nothing.
"""


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


def page(cards: Sequence[Card], farmed: Figures) -> str:
    """The page of the documentation."""
    lines = [_PAGE, "| verifier | rows | right | interval | false positives | false negatives | unscored | farmed |"]
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
            lines += ["", "Judged otherwise than labelled:", ""]
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
