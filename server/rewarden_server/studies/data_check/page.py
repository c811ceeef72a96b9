"""A check as a page: one file that needs no network and runs no script. All that the data says is text in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from rewarden_server.studies.data_check.checked import Checked
from rewarden_server.studies.data_check.figures import Figures, Found
from rewarden_server.studies.data_check.findings import advice, meaning
from rewarden_server.studies.data_check.render import limits_of
from rewarden_server.studies.report.page import write
from rewarden_server.studies.report.still import check, still, tile

_ROWS = 500
_SLOW = 10
_SHOWN = 300


def write_page(found: Figures, names: str, uses: str, output: Path) -> int:
    """Writes the page; returns its size in bytes."""
    return write(output, render(found, names, uses))


def render(found: Figures, names: str, uses: str) -> str:
    """The page as text. names: of the input's files; uses: who judged."""
    return still(None, _body(found, names, uses), title=names, kind="data check", heading="check of a data set")


def _body(found: Figures, names: str, uses: str) -> Iterable[str]:
    rows = f"{len(found.rows):,} rows of {names}; {found.verdicts:,} verdicts"
    yield f"<div><h2>{escape(uses or 'no verifier')}</h2><p class='lead'>{escape(rows)}</p></div>"
    yield "<dl class='tiles'>" + "".join(_tiles(found)) + "</dl>"
    checks = "".join(map(_finding, found.findings())) or check("ok", "nothing was found")
    yield f"<section class='card'><h3>Findings</h3>{checks}</section>"
    sources = list(found.sources())
    if len(sources) > 1:
        yield _sources(sources)
    yield _slowest(found.rows)
    yield _bad(found.rows)


def _tiles(found: Figures) -> Iterable[str]:
    total, judged, survived = len(found.rows), *found.mutants
    yield tile("good rows", f"{found.good:,}", f"of {total:,}" + (f" ({found.good / total:.1%})" if total else ""))
    yield tile("solutions that pass", f"{found.passing:,}", f"of {found.solved:,} rows with one")
    wrong, passed = found.wrong
    if wrong:
        yield tile("wrong solutions that pass", f"{passed / wrong:.1%}", f"{passed:,} of {wrong:,}")
    if judged:
        yield tile("mutants that pass", f"{survived / judged:.1%}", f"{survived:,} of {judged:,}")
    modules = found.modules()
    if modules:
        yield tile("missing modules", f"{len(modules):,}", ", ".join(name for name, _ in modules[:3]))


def _finding(one: Found) -> str:
    says = f"{one.kind}: {one.name.replace('_', ' ')}: {one.rows:,} row{'s' if one.rows > 1 else ''}"
    rows = "; ".join(f"{place} {_details(message, one.name)}".strip() for place, message in one.examples[:3])
    return check(one.kind, says, (("means", meaning(one.name)), ("do", advice(one.name)), ("rows", rows[:_SHOWN])))


def _details(message: str, name: str) -> str:
    return message.removeprefix(meaning(name)).strip()


def _sources(sources: Sequence[tuple[str, Sequence[Checked]]]) -> str:
    body = ""
    for source, rows in sources:
        good, judged = sum(row.good for row in rows), sum(row.mutants for row in rows)
        survived = sum(len(row.survivors) for row in rows)
        body += (
            f"<tr><th scope='row'>{escape(source)}</th><td class='num'>{len(rows):,}</td><td class='num'>{good:,}</td>"
            f"<td class='num'>{sum(row.passed > 0 for row in rows):,}</td>"
            f"<td class='num'>{f'{survived / judged:.1%}' if judged else '–'}</td></tr>"
        )
    return _table("By data source", ("data source", "#rows", "#good", "#solution passes", "#mutants that pass"), body)


def _slowest(rows: Sequence[Checked]) -> str:
    timed = sorted(
        (row for row in rows if row.measured.cpu_share is not None), key=lambda row: -(row.measured.cpu_share or 0.0)
    )
    body = "".join(
        f"<tr><th scope='row'>{escape(row.place)}</th><td>{escape(limits_of(row))}</td></tr>" for row in timed[:_SLOW]
    )
    return _table("Solutions nearest to their limits", ("row", "slowest test"), body) if body else ""


def _bad(rows: Sequence[Checked]) -> str:
    bad = [row for row in rows if not row.good]
    if not bad:
        return ""
    body = "".join(
        f"<tr><th scope='row'>{escape(row.place)}</th><td>{escape(_reasons(row))}</td></tr>" for row in bad[:_ROWS]
    )
    more = f" (the first {_ROWS:,} of {len(bad):,})" if len(bad) > _ROWS else ""
    return _table(f"Bad rows{more}", ("row", "why"), body)


def _reasons(row: Checked) -> str:
    return "; ".join(one.message for one in row.findings if one.kind == "error")[:_SHOWN]


def _table(title: str, heads: Sequence[str], body: str) -> str:
    made = "".join(
        f"<th class='num'>{escape(head[1:])}</th>" if head.startswith("#") else f"<th>{escape(head)}</th>"
        for head in heads
    )
    return (
        f"<section class='card'><h3>{escape(title)}</h3><div class='scroll-x' tabindex='0'>"
        f"<table class='small wide'><thead><tr>{made}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )
