"""A run on a published set as a page: a single file that needs no network and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import rewarden_server.studies.calibration as calibration
from rewarden_server.studies.bench.bench import Bench
from rewarden_server.studies.bench.bench_set import Line
from rewarden_server.studies.bench.render import notes, time_text
from rewarden_server.studies.calibration.page import attack_figure, attack_table
from rewarden_server.studies.calibration.render import (
    flags_text,
    interval_text,
    span_text,
    spent_line,
    use_text,
    value_text,
)
from rewarden_server.studies.report.page import write
from rewarden_server.studies.report.still import still, tile

_TILES = 6


def write_page(found: Bench, output: Path) -> int:
    """Write the page. Returns its size in bytes."""
    body = _body(found)
    heading = "a judge on a published set"
    page = still(calibration.__name__, body, title=found.chosen.title, kind="bench", heading=heading)
    return write(output, page)


def _body(found: Bench) -> Iterable[str]:
    yield f"<div><h2>{escape(use_text(found.use))}</h2>"
    yield f'<p class="lead">{escape(found.chosen.title)}: {found.scored:,} of {found.rows:,} rows scored</p></div>'
    if said := notes(found):
        yield f'<p class="note">{escape("; ".join(said))}</p>'
    if found.flags:
        yield f'<p class="note">Flags: {escape(flags_text(found.flags))}</p>'
    shown = [line for line in found.lines if line.depth < 2][:_TILES]
    tiles = (tile(line.name, value_text(line.figure, True), span_text(line.figure, True)) for line in shown)
    yield '<dl class="tiles">' + "".join(tiles) + "</dl>"
    attacks = attack_figure(found.attacks, found.targets) if found.attacks else ""
    yield f'<div class="grid wide">{_figures(found.lines)}{attacks}</div>'
    if found.attacks:
        yield attack_table(found.attacks)
    ties = "" if found.chosen.ties is None else f" Ties: {found.ties:,}; a tie counts {found.chosen.ties}."
    yield f"<p class='muted'>Overall: {escape(found.chosen.overall)}.{escape(ties)}</p>"
    yield f"<p class='muted'>{escape(spent_line(found.spent).removeprefix('took').strip())}; {time_text(found)}</p>"


def _figures(lines: Sequence[Line]) -> str:
    body = "".join(
        f"<tr><th scope='row'>{'&#8195;' * max(0, line.depth - 1)}{escape(line.name)}</th>"
        f"<td class='num'>{value_text(line.figure, True)}</td>"
        f"<td class='loose'>{escape(interval_text(line.figure, True))}</td></tr>"
        for line in lines
    )
    return (
        "<section class='card'><h3>Figures of the set</h3><div class='scroll-x'><table><thead><tr><th>part</th>"
        f"<th class='num'>value</th><th>95 % interval</th></tr></thead><tbody>{body}</tbody></table></div></section>"
    )
