"""`/gallery`: every recipe, by what it needs, with its sources and how closely it was compared with them."""

from __future__ import annotations

import re
from collections import Counter

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.http.access import Served
from rewarden_server.pages.contents import LOADS, Filter, Line, lines, listing, summary
from rewarden_server.pages.parity import PARITIES, parity
from rewarden_server.pages.prose import linked
from rewarden_server.pages.shell import page
from rewarden_verifiers.summaries import Summary, summaries

NEED = Filter("family", "Need", lambda line: (line.family,))
USES = Filter("uses", "Uses", lambda line: _families(line))
PARITY = Filter("parity", "Parity", lambda line: (line.summary.parity,) if line.summary and line.summary.parity else ())

_PAPER = re.compile(r"arxiv\.org/abs/([\d.]+)")
_CODE = re.compile(r"github\.com/([\w.-]+/[\w.-]+)")

router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/gallery", operation_id="gallery", summary="All recipes, with their sources.")
async def gallery(service: Served) -> Response:
    found = lines(service.engine, "recipe")
    known = [line.summary for line in found if line.summary is not None]
    counts = Counter(one.parity for one in known)
    parities = "".join(f"<li>{parity(name)}: {counts[name]}</li>" for name in PARITIES if counts[name])
    sources = " ".join(one.source for one in known)
    intro = (
        "<h1>Gallery of recipes</h1>"
        f"<p>{len(found)} recipes reproduce published rewards, from {len(set(_PAPER.findall(sources)))} papers and "
        f"{len(set(_CODE.findall(sources)))} repositories. To use one, give its name as the <code>use</code>. On its "
        "page you can change parameters and see how the score comes about.</p>"
        f'<ul class="parities">{parities}</ul>'
    )
    filters = (NEED, USES, PARITY, LOADS)
    body = intro + listing(found, "docs/", _told, filters)
    return page("Gallery", body, place="gallery", script="filter.js")


def _families(line: Line) -> list[str]:
    """Returns the families of the verifiers that a recipe uses."""
    known = summaries()
    return list(dict.fromkeys(known[name].family for name in line.summary.uses)) if line.summary is not None else []


def _systems(known: Summary) -> str:
    """Returns the number of systems that a recipe covers, if it is more than the one that it is named for."""
    names = {one.id for one in known.systems}
    return f"{len(names)} published systems" if len(names) > 1 else ""


def _told(line: Line) -> str:
    """Returns the summary, the formula, the sources and the facts of a recipe."""
    known = line.summary
    if known is None:
        return summary(line)
    facts = [
        f'<span class="parity {known.parity}">{known.parity}</span>' if known.parity else "",
        f"score {known.scores}",
        f"{known.cases} cases",
        _systems(known),
        f"needs <code>rewarden-server[{','.join(known.requires)}]</code>" if known.requires else "",
    ]
    source = f'<p class="small">{linked(known.source)}</p>' if known.source else ""
    formula = f'<div class="formula small">{known.formula}</div>' if known.formula else ""
    return (
        f"<p>{summary(line)}</p>{formula}{source}"
        f'<p class="small muted facts">{"".join(f"<span>{fact}</span>" for fact in facts if fact)}</p>'
    )
