"""One line on each verifier and recipe, without importing it."""

from __future__ import annotations

from dataclasses import dataclass

from rewarden_server.catalogue import names
from rewarden_server.engine.engine import Engine
from rewarden_verifiers.summaries import summaries


@dataclass(frozen=True, slots=True)
class Line:
    """`summary` is empty for a plug-in's: only importing it would tell. `plugin` is the distribution it comes from."""

    name: str
    kind: str
    summary: str
    plugin: str | None


def lines(engine: Engine, kind: str) -> list[Line]:
    """All verifiers, or all recipes, in the catalogue's order."""
    known = summaries()
    return [
        Line(name, kind, known[name].summary if name in known else "", engine.registry.plugin_of(name))
        for name in names(engine, kind)
    ]
