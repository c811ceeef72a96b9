"""An audit as a page: one file that needs no network and runs no script. All that the data says is text in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from rewarden_server.studies.audit.audit import Audit, Tried
from rewarden_server.studies.audit.figures import Tally
from rewarden_server.studies.audit.findings import Finding
from rewarden_server.studies.audit.forms import FORMS
from rewarden_server.studies.audit.render import cost_text
from rewarden_server.studies.report.page import write
from rewarden_server.studies.report.still import check, still, tile
from rewarden_verifiers.group.statistics import mean, std

_SHOWN_REASONS = 30


def write_page(found: Audit, checks: Sequence[Finding], names: str, output: Path) -> int:
    """Writes the page; returns its size in bytes."""
    return write(output, render(found, checks, names))


def render(found: Audit, checks: Sequence[Finding], names: str) -> str:
    """The page as text."""
    body = _body(found, checks, names)
    return still(None, body, title=names, kind="audit", heading="audit of a reward")


def _body(found: Audit, checks: Sequence[Finding], names: str) -> Iterable[str]:
    rows = f"{len(found.drawn.rows):,} of {found.drawn.total:,} rows of {names}; {found.verdicts:,} verdicts"
    yield f"<div><h2>{escape(', '.join(found.uses) or 'no verifier')}</h2><p class='lead'>{escape(rows)}</p></div>"
    yield "<dl class='tiles'>" + "".join(_tiles(found)) + "</dl>"
    yield "<section class='card'><h3>Checks</h3>" + "".join(map(_check, checks)) + "</section>"
    yield _attacks(found.tried)
    yield (
        "<section class='card'><h3>Right answers by form</h3>"
        + _tallies([(_says(name), tally) for name, tally in found.forms.items()])
        + _tallies([(f"with text before: {name}", tally) for name, tally in found.varied.items()])
        + "</section>"
    )
    if len({row.source for row in found.drawn.rows}) > 1:
        yield _sources(found)
    yield _unscored(found)
    yield f"<p class='muted'>A million samples: {escape(cost_text(found))}</p>"


def _says(name: str) -> str:
    return (
        FORMS[name].says if name in FORMS else {"whole": "the reference as it stands"}.get(name, "the right response")
    )


def _tiles(found: Audit) -> Iterable[str]:
    score, attack = found.farmability()
    yield tile("farmability", f"{score:.3f}", attack)
    yield tile("right answers that pass", f"{found.control.share:.1%}", f"of {found.control.samples:,}")
    evaded = max((one.tally.evasion for one in found.tried), default=0.0)
    yield tile("unscored at will", f"{evaded:.1%}", "of rows, by the best attack")
    if found.second is not None and found.agreement.rows:
        table = found.agreement
        yield tile("agreement", f"{(table.both + table.neither) / table.rows:.1%}", f"with {found.second}")
    one = found.distribution
    if one is not None and one.scores:
        middle, spread = mean(one.scores), std(one.scores)
        groups = f"std {spread:.3f}; {one.mixed:,} of {one.groups:,} groups mixed"
        yield tile("the model's mean score", f"{middle:.3f}", groups)


def _check(one: Finding) -> str:
    told = (("cause", one.cause), ("fix", one.fix), ("rows", ", ".join(one.rows)))
    return check(one.level, one.says, () if one.level == "ok" else told)


def _attacks(tried: Sequence[Tried]) -> str:
    rows = "".join(map(_attack, sorted(tried, key=lambda one: -one.tally.mean)))
    return (
        "<section class='card'><h3>Responses without an answer</h3><div class='scroll-x'><table class='small wide'>"
        "<thead><tr><th>response</th><th>family</th><th class='num'>rows</th><th class='num'>pass</th>"
        "<th class='num'>mean score</th><th class='num'>unscored</th><th>rows that pay it</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _attack(one: Tried) -> str:
    tally, raised = one.tally, " raised" if one.tally.paid else ""
    return (
        f"<tr><th scope='row'>{escape(one.attack.name)}<small>{escape(one.attack.says)}</small></th>"
        f"<td>{one.attack.family}</td><td class='num'>{tally.samples:,}</td>"
        f"<td class='num{raised}'>{tally.share:.1%}</td><td class='num'>{tally.mean:.3f}</td>"
        f"<td class='num'>{sum(tally.unscored.values()):,}</td><td>{escape(', '.join(tally.rows))}</td></tr>"
    )


def _tallies(rows: Sequence[tuple[str, Tally]]) -> str:
    if not rows:
        return ""
    body = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td class='num'>{tally.samples:,}</td>"
        f"<td class='num'>{tally.share:.1%}</td><td class='num'>{tally.mean:.3f}</td></tr>"
        for name, tally in rows
    )
    return (
        "<div class='scroll-x'><table class='small wide'><thead><tr><th>form</th><th class='num'>rows</th>"
        f"<th class='num'>pass</th><th class='num'>mean score</th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _sources(found: Audit) -> str:
    body = ""
    for source in sorted({row.source for row in found.drawn.rows}):
        score, attack = found.farmability(source)
        body += (
            f"<tr><th scope='row'>{escape(source)}</th><td class='num'>{score:.3f}</td><td>{escape(attack)}</td></tr>"
        )
    return (
        "<section class='card'><h3>Farmability by data source</h3><div class='scroll-x'><table class='small wide'>"
        "<thead><tr><th>data source</th><th class='num'>farmability</th><th>best attack</th></tr></thead>"
        f"<tbody>{body}</tbody></table></div></section>"
    )


def _unscored(found: Audit) -> str:
    kinds = [("right answers", found.control.unscored)]
    kinds += [(one.attack.name, one.tally.unscored) for one in found.tried]
    if found.distribution is not None:
        kinds.append(("the model's responses", found.distribution.unscored))
    lines = [(kind, *key, count) for kind, counts in kinds for key, count in counts.most_common()]
    if not lines:
        return ""
    body = "".join(
        f"<tr><th scope='row'>{escape(kind)}</th><td>{escape(fault)}</td><td>{escape(reason)}</td>"
        f"<td class='num'>{count:,}</td></tr>"
        for kind, fault, reason, count in sorted(lines, key=lambda line: -line[3])[:_SHOWN_REASONS]
    )
    return (
        "<section class='card'><h3>Unscored</h3><div class='scroll-x'><table class='small wide'><thead><tr><th>samples"
        f"</th><th>fault</th><th>reason</th><th class='num'>count</th></tr></thead><tbody>{body}</tbody></table></div>"
        "</section>"
    )
