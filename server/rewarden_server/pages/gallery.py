"""`/gallery`: every recipe, by what it needs, with its sources and how closely it was compared with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.http.access import Served
from rewarden_server.pages.contents import Line, lines, listing, summary
from rewarden_server.pages.prose import linked
from rewarden_server.pages.shell import page

PARITIES: Mapping[str, str] = {
    "verified": "run against the published code",
    "reading": "checked by reading the published code",
    "mapped": "made from a description of the reward",
}
"""The closeness of a recipe to the published system, in words."""

router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/gallery", operation_id="gallery", summary="All recipes, with their sources.")
async def gallery(service: Served) -> Response:
    found = lines(service.engine, "recipe")
    counts = Counter(line.summary.parity for line in found if line.summary is not None)
    parities = "".join(
        f'<li><span class="parity {name}">{name}</span> {text}: {counts[name]}</li>' for name, text in PARITIES.items()
    )
    intro = (
        "<h1>Gallery of recipes</h1>"
        f"<p>{len(found)} recipes reproduce published rewards. To use one, give its name as the <code>use</code>. Its "
        "page draws the formula, and its playground lets you try parameters on examples.</p>"
        f'<ul class="parities">{parities}</ul>'
    )
    return page("Gallery", intro + listing(found, "docs/", _told), place="gallery", script="filter.js")


def _told(line: Line) -> str:
    """Returns the summary, the sources and the facts of a recipe."""
    known = line.summary
    if known is None:
        return summary(line)
    facts = [
        f'<span class="parity {known.parity}">{known.parity}</span>' if known.parity else "",
        f"score {known.scores}",
        f"{known.cases} cases",
        f"needs <code>rewarden-server[{','.join(known.requires)}]</code>" if known.requires else "",
    ]
    source = f'<p class="small">{linked(known.source)}</p>' if known.source else ""
    return (
        f"<p>{summary(line)}</p>{source}"
        f'<p class="small muted facts">{"".join(f"<span>{fact}</span>" for fact in facts if fact)}</p>'
    )
