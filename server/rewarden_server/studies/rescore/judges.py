"""The verifiers that a rescore will use, known before any work: their versions, and whether they judge groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.commands.use import functions_of
from rewarden.errors import NotFound, SampleError
from rewarden.routing import Route, Routing
from rewarden_server.engine.plan import Planner
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.target import OURS, Target
from rewarden_verifiers.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A route's verifier. `fingerprint` is None if a server keeps it to itself until it judges."""

    route: Route
    name: str
    group: bool
    fingerprint: str | None = None
    needs_reference: bool = False

    def describe(self) -> str:
        """A line of the plan."""
        known = f" ({self.fingerprint})" if self.fingerprint else ""
        of_groups = ", judges groups" if self.group else ""
        return f"{self.route.describe()}{known}{of_groups}"


async def find_judges(routing: Routing, client: Target, needed: Collection[int] | None = None) -> list[Judge]:
    """The verifiers of the routes at the client's target.

    `needed`: places of the routes that must be there; of the others, what is not there is left out (a file of routes
    for many data sets may name verifiers whose packages nobody here installed). None: all. Raises RescoreError.
    """
    finder = _Finder(client, functions_of(route.use for route in routing.routes))
    found = []
    for place, route in enumerate(routing.routes):
        try:
            found.append(await finder.judge(route))
        except (SampleError, NotFound) as error:
            if needed is None or place in needed:
                raise RescoreError(f"{routing.flag or routing.source + ':'} {route.label}: {error.message}") from None
    return found


class _Finder:
    def __init__(self, client: Target, functions: Sequence[str]) -> None:
        self._client = client
        self._planner = Planner(Registry(functions if client.target in OURS else ()))
        self._entries: dict[str, dict[str, Any]] = {}

    async def judge(self, route: Route) -> Judge:
        """A server describes its verifiers; of a recipe, what is known here says whether it judges groups.

        Raises SampleError, NotFound.
        """
        if self._client.target in OURS:
            return self._here(route)
        name = route.use.name
        if name is None:
            return replace(self._here(route), fingerprint=None)
        if name not in self._entries:
            try:
                self._entries[name] = (await self._client.verifiers(name))[0]
            except NotFound:
                if name in self._planner.registry.recipe_names():
                    return replace(self._here(route), fingerprint=None)
                raise
        entry = self._entries[name]
        if entry.get("available") is False:
            raise NotFound(f"the server cannot use it: {entry.get('problem')}")
        needs = bool(entry.get("reference_required"))
        return Judge(route=route, name=name, group=bool(entry.get("group")), needs_reference=needs)

    def _here(self, route: Route) -> Judge:
        bound = self._planner.bind(route.use)
        return Judge(
            route=route,
            name=bound.ref.name,
            group=bound.spec.group,
            fingerprint=bound.ref.fingerprint,
            needs_reference=bound.spec.reference_required,
        )
