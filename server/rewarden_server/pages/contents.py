"""`/docs`: every verifier with a line on it, by family; and the lists of the gallery and the playground. Imports no
verifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.catalogue import names
from rewarden_server.engine.engine import Engine
from rewarden_server.http.access import Served
from rewarden_server.observe.installed import absent_extras
from rewarden_server.pages.prose import prose_line
from rewarden_server.pages.shell import page
from rewarden_verifiers.summaries import Summary, summaries

KINDS = ("verifier", "recipe")
_FOREIGN = "From other packages"


@dataclass(frozen=True, slots=True)
class Line:
    """A verifier or recipe in a list. `summary` is None for a plug-in's, because only importing it would tell; `plugin`
    is the distribution that it comes from.
    """

    name: str
    summary: Summary | None
    plugin: str | None

    @property
    def family(self) -> str:
        """Returns the heading that it is listed under."""
        return _FOREIGN if self.summary is None else self.summary.family

    @property
    def absent(self) -> tuple[str, ...]:
        """Returns the extras that it needs and this installation lacks."""
        needed = self.summary.requires if self.summary is not None else ()
        return tuple(extra for extra in needed if extra in _absent())


Told = Callable[[Line], str]
"""Makes the markup that a list shows beside a name."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice that narrows a list to the lines that have a value."""

    name: str
    label: str
    values: Callable[[Line], Sequence[str]]


FAMILY = Filter("family", "Family", lambda line: (line.family,))
LOADS = Filter("loads", "Loads here", lambda line: ("no" if line.absent else "yes",))

_absent = lru_cache(maxsize=1)(absent_extras)
"""A process has the packages that it began with."""

router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/docs", operation_id="docs", summary="All verifiers by family, with a line on each.")
async def contents(service: Served) -> Response:
    intro = (
        "<h1>Verifiers</h1>"
        '<p>A verifier judges one thing. The <a href="gallery">gallery</a> lists the recipes, which combine verifiers, '
        "often as in a published system.</p>"
    )
    body = intro + listing(lines(service.engine, "verifier"), "docs/", summary, (FAMILY, LOADS))
    return page("Verifiers", body, place="docs", script="filter.js")


def lines(engine: Engine, kind: str) -> list[Line]:
    """Returns all verifiers, or all recipes, family by family."""
    known = summaries()
    order = list(known)
    found = [Line(name, known.get(name), engine.registry.plugin_of(name)) for name in names(engine, kind)]
    return sorted(found, key=lambda line: order.index(line.name) if line.name in known else len(order))


def listing(found: Sequence[Line], below: str, told: Told, filters: Sequence[Filter]) -> str:
    """Returns the lists, a section for each family, as links to `below` and the name, and fields that narrow them."""
    search = (
        '<search class="find" hidden><label class="words">Find'
        '<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="name or words"></label>'
        f"{''.join(_choice(one, found) for one in filters)}"
        f'<output id="found" for="find">{len(found)} of {len(found)}</output></search>'
    )
    families = dict.fromkeys(line.family for line in found)
    sections = (
        _section(number, family, [line for line in found if line.family == family], below, told, filters)
        for number, family in enumerate(families)
    )
    return search + "".join(sections)


def _choice(one: Filter, found: Iterable[Line]) -> str:
    counts = Counter(value for line in found for value in one.values(line))
    options = "".join(
        f'<option value="{escape(value)}">{escape(value)} ({count})</option>' for value, count in counts.items()
    )
    return f'<label>{one.label}<select data-filter="{one.name}"><option value="">any</option>{options}</select></label>'


def _section(number: int, family: str, found: Iterable[Line], below: str, told: Told, filters: Iterable[Filter]) -> str:
    rows = [
        f'<li{_values(line, filters)}><a href="{escape(below + quote(line.name, safe=""))}">'
        f"<code>{escape(line.name)}</code></a>"
        f"<div>{told(line)}</div></li>"
        for line in found
    ]
    return (
        f'<section class="card" aria-labelledby="family-{number}"><h2 id="family-{number}">{escape(family)} '
        f'<small class="muted">{len(rows)}</small></h2><ul class="names">{"".join(rows)}</ul></section>'
    )


def _values(line: Line, filters: Iterable[Filter]) -> str:
    return "".join(f' data-{one.name}="{escape("|".join(one.values(line)))}"' for one in filters)


def summary(line: Line) -> str:
    """Returns the one-line summary of a verifier or recipe, and the command that makes it load here if it does not."""
    if line.summary is not None:
        return prose_line(line.summary.summary) + lacking(line)
    return f'<span class="muted">from the package {escape(line.plugin or "of this process")}</span>'


def lacking(line: Line) -> str:
    """Returns the command that installs what a verifier or recipe lacks here."""
    if not line.absent:
        return ""
    command = f"pip install 'rewarden-server[{','.join(line.absent)}]'"
    return f' <span class="small warn">Not installed here: <code>{escape(command)}</code></span>'
