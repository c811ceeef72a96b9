"""A calibration as a page: a single file that needs no network and runs no script. Text from models is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from rewarden_server.studies.calibration import plots
from rewarden_server.studies.calibration.agreement import Figure
from rewarden_server.studies.calibration.assault import Assault
from rewarden_server.studies.calibration.calibration import Calibration, Miss
from rewarden_server.studies.calibration.render import (
    NAMES,
    SHARES,
    flags_text,
    span_text,
    spent_line,
    unscored_text,
    use_text,
    value_text,
)
from rewarden_server.studies.report.page import write
from rewarden_server.studies.report.still import still

_TILES = ("accuracy", "precision", "recall", "kappa", "false_positive_rate", "scored")
_MISSES = 60
"""The number of verdicts shown that differ from their label."""


def write_page(found: Calibration, file: Path, output: Path) -> int:
    """Write the page. Returns its size in bytes. The same calibration gives the same bytes."""
    return write(output, render(found, file))


def render(found: Calibration, file: Path) -> str:
    """The page as text."""
    body = _body(found, file)
    return still(__package__, body, title=file.name, kind="calibration", heading="calibration of a judge")


def _body(found: Calibration, file: Path) -> Iterable[str]:
    what = "pairs" if found.paired else "responses"
    yield f"<div><h2>{escape(use_text(found.use))}</h2>"
    yield f'<p class="lead">{found.rows:,} labelled {what} of {escape(file.name)}</p></div>'
    if found.unscored:
        lines = "; ".join(f"{count:,} {unscored_text(*key)}" for key, count in found.unscored.items())
        yield f'<p class="note">Unscored, and not counted below: {escape(lines)}</p>'
    if found.flags:
        yield f'<p class="note">Flags: {escape(flags_text(found.flags))}</p>'
    yield '<dl class="tiles">' + "".join(_tile(name, found.figures[name]) for name in _TILES) + "</dl>"
    figures = _agreement(found) + _matrix(found) + _flips(found) + _length(found)
    attacks = attack_figure(found.attacks, found.targets) if found.attacks else ""
    yield f'<div class="grid wide"><div class="stack">{figures}</div>{attacks}</div>'
    if found.graded:
        yield '<div class="grid wide">' + _threshold(found) + _reliability(found) + _scores(found) + "</div>"
    else:
        yield f'<div class="card"><h3>Threshold</h3><p>{escape(_ungraded(found))}</p></div>'
    if found.attacks:
        yield attack_table(found.attacks)
    if found.misses:
        yield _misses(found)
    yield f'<p class="muted">{escape(spent_line(found.spent).removeprefix("took").strip())}</p>'


def _tile(name: str, figure: Figure) -> str:
    percent = name in SHARES
    value, span = value_text(figure, percent), span_text(figure, percent)
    return f"<div class='tile'><dt>{NAMES[name]}</dt><dd>{value}<small>{span}</small></dd></div>"


def _interval(figure: Figure, percent: bool) -> str:
    of = "" if figure.of is None else f" <small>{figure.count:,} of {figure.of:,}</small>"
    return span_text(figure, percent) + of


def _agreement(found: Calibration) -> str:
    rows = [(NAMES[name], found.figures[name], name in SHARES) for name in NAMES if name in found.figures]
    body = "".join(
        f"<tr><th scope='row'>{name}</th><td class='num'>{value_text(figure, percent)}</td>"
        f"<td class='loose'>{_interval(figure, percent)}</td></tr>"
        for name, figure, percent in rows
    )
    if found.grades is not None:
        body += (
            f"<tr><th scope='row'>rank correlation</th><td class='num'>{found.grades:.3f}</td><td>Spearman</td></tr>"
        )
    return (
        "<section class='card'><h3>Agreement with the labels</h3><div class='scroll-x'><table><thead><tr>"
        "<th>figure</th><th class='num'>value</th><th>95 % interval</th></tr></thead>"
        f"<tbody>{body}</tbody></table></div></section>"
    )


def _matrix(found: Calibration) -> str:
    one = found.matrix
    return (
        "<section class='card'><h3>Confusion</h3><table class='matrix'><thead><tr><th></th><th class='num'>judge: pass"
        "</th><th class='num'>judge: fail</th></tr></thead><tbody>"
        f"<tr><th scope='row'>label: right</th><td class='num ok'>{one.true_positive:,}</td>"
        f"<td class='num bad'>{one.false_negative:,}</td></tr>"
        f"<tr><th scope='row'>label: wrong</th><td class='num bad'>{one.false_positive:,}</td>"
        f"<td class='num ok'>{one.true_negative:,}</td></tr></tbody></table></section>"
    )


def attack_figure(attacks: Sequence[Assault], targets: int) -> str:
    """A plot of the attacks as HTML. targets: the number of responses attacked."""
    key = (
        '<p class="key"><span><svg viewBox="0 0 16 9"><line class="interval" x1="0" y1="4.5" x2="16" y2="4.5"/>'
        '<circle class="attacked" cx="8" cy="4.5" r="3.8"/></svg>under attack</span>'
        '<span><svg viewBox="0 0 16 9"><line class="before" x1="8" y1="0" x2="8" y2="9"/></svg>without the attack'
        "</span>"
    )
    if any(one.refused for one in attacks):
        key += (
            '<span><svg viewBox="0 0 16 9"><rect class="configured" x="4.5" y="1" width="7" height="7"/></svg>'
            "as configured: hollow responses are refused without a call</span>"
        )
    return (
        "<figure class='card'><h3>Wrong responses that pass under attack</h3>"
        f"<figcaption>{targets:,} responses that should fail, each in {len(attacks)} misleading forms"
        f"</figcaption>{key}</p>{plots.attacks(attacks)}</figure>"
    )


def attack_table(attacks: Sequence[Assault]) -> str:
    """A table of the attacks as HTML."""
    shown = "".join(map(_attack, attacks))
    return (
        "<section class='card'><h3>Attacks in figures</h3><p>How many of the scored responses pass under attack, "
        "and how many of the same pass without it. p: equal pass rates (McNemar, exact).</p><div class='scroll-x'>"
        "<table class='small attacks'><thead><tr><th>attack</th><th class='num'>pass</th><th class='num'>of</th>"
        f"<th class='num'>before</th><th class='num'>p</th></tr></thead><tbody>{shown}</tbody></table></div></section>"
    )


def _attack(one: Assault) -> str:
    raised = " raised" if one.p < 0.05 and (one.passed.count or 0) > (one.before.count or 0) else ""
    counted = ((one.refused, "refused without a call"), (one.unscored, "unscored"))
    notes = "; ".join(f"{count} {what}" for count, what in counted if count)
    more = f" ({notes})" if notes else ""
    return (
        f"<tr><th scope='row'>{one.attack.name}<small>{escape(one.attack.says + more)}</small></th>"
        f"<td class='num{raised}'>{one.passed.count}</td><td class='num'>{one.passed.of}</td>"
        f"<td class='num'>{one.before.count}</td><td class='num'>{one.p:.2g}</td></tr>"
    )


def _threshold(found: Calibration) -> str:
    point = found.threshold
    if point is None:
        said = f"No threshold reaches a precision of {found.wanted.precision:.0%} on these rows with 95 % confidence."
    else:
        said = (
            f"From {point.score:.4g} on: precision {value_text(point.precision, True)} "
            f"({span_text(point.precision, True)}), recall {value_text(point.recall, True)}."
        )
    settings = found.settings
    paste = "" if settings is None else f"<pre class='text'>{escape(json.dumps(settings, ensure_ascii=False))}</pre>"
    return (
        f"<figure class='card'><h3>Threshold for a precision of {found.wanted.precision:.0%}</h3>"
        f"<figcaption>{escape(said)}</figcaption>"
        '<p class="key"><span><svg viewBox="0 0 16 9"><rect class="band" width="16" height="9"/>'
        '<line class="interval" x1="0" y1="4.5" x2="16" y2="4.5"/></svg>precision</span>'
        '<span><svg viewBox="0 0 16 9"><line class="recall" x1="0" y1="4.5" x2="16" y2="4.5"/></svg>recall</span></p>'
        f"{plots.thresholds(found.curve, point, found.wanted.precision)}{paste}</figure>"
    )


def _ungraded(found: Calibration) -> str:
    return (
        f"The scores are only 0 and 1, so no threshold can be chosen for a precision of "
        f"{found.wanted.precision:.0%}. Use a scale, or the mean of several opinions (--samples)."
    )


def _reliability(found: Calibration) -> str:
    return (
        "<figure class='card'><h3>Is the score a probability?</h3><figcaption>The share that is right, by score; on "
        "the dashed line a score of 0.8 means that 80 % are right. Large dots: many responses.</figcaption>"
        f"{plots.reliability(found.bins)}</figure>"
    )


def _scores(found: Calibration) -> str:
    return (
        "<figure class='card'><h3>Scores</h3><figcaption>Right responses upwards, wrong ones downwards.</figcaption>"
        f"{plots.scores(found.judged)}</figure>"
    )


def _length(found: Calibration) -> str:
    figure = found.length.correlation
    items = [(f"{third.shortest:,}–{third.longest:,} chars", third.passed) for third in found.length.thirds]
    said = "not defined: all errors, or all lengths, are the same"
    if figure.value is not None:
        said = f"{value_text(figure, False)} ({span_text(figure, False)}); above 0: the judge favours long responses"
    plot = plots.bars(items, "Share of wrong responses that pass, by length") if items else ""
    return (
        f"<figure class='card'><h3>Length</h3><figcaption>Error and logarithm of the length: {escape(said)}. Wrong "
        f"responses that pass, by length:</figcaption>{plot}</figure>"
    )


def _flips(found: Calibration) -> str:
    flips = found.flips
    items: list[tuple[str, Figure]] = []
    if flips.orders is not None:
        items.append(("orders disagree", flips.orders))
    if flips.repeats is not None:
        items.append((f"{flips.opinions} opinions differ", flips.repeats))
    said = "How often the judge contradicts itself about one response."
    if not items:
        said = "Each question was asked once. With --samples 3 it is asked three times."
    plot = plots.bars(items, "How often the judge contradicts itself") if items else ""
    return f"<figure class='card'><h3>Contradictions</h3><figcaption>{said}</figcaption>{plot}</figure>"


def _misses(found: Calibration) -> str:
    shown = "".join(map(_miss, found.misses[:_MISSES]))
    more = len(found.misses) - _MISSES
    rest = f"<p>{more:,} more; --json has them all.</p>" if more > 0 else ""
    return (
        f"<section class='card'><details><summary>{len(found.misses):,} verdicts that differ from the label</summary>"
        f"{shown}{rest}</details></section>"
    )


def _miss(miss: Miss) -> str:
    label = "right" if miss.right else "wrong"
    said = f"<p class='muted'>{escape(miss.feedback)}</p>" if miss.feedback else ""
    return (
        f"<div class='miss'><strong>{escape(miss.id)}</strong> labelled {label}, score {miss.score:.3g}"
        f"<div class='text'>{escape(miss.response)}</div>{said}</div>"
    )
