"""Which verifiers a rescore will use, known before any work: their versions, and whether they judge groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewarden.client import AsyncClient
from rewarden.errors import NotFound, SampleError
from rewarden_server.engine.plan import Planner
from rewarden_server.rescore.options import RescoreError, Route
from rewarden_verifiers.registry import Registry

LOCAL = "local"
"""The target that is an engine in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A route's verifier. `fingerprint` is None where a server keeps it to itself until it judges."""

    route: Route
    name: str
    group: bool
    fingerprint: str | None = None

    def describe(self) -> str:
        """A line of the plan."""
        known = f" ({self.fingerprint})" if self.fingerprint else ""
        of_groups = ", judges groups" if self.group else ""
        pattern = "" if self.route.pattern == "*" else f"{self.route.pattern} → "
        return f"{pattern}{self.route.label}{known}{of_groups}"


async def find_judges(routes: Sequence[Route], client: AsyncClient) -> list[Judge]:
    """The verifiers of the routes at the client's target. Raises RescoreError for one that is not there."""
    planner = Planner(Registry())
    if client.target == LOCAL:
        return [_here(route, planner) for route in routes]
    return [await _there(route, client, planner) for route in routes]


def _here(route: Route, planner: Planner) -> Judge:
    try:
        bound = planner.bind(route.use)
    except SampleError as error:
        raise RescoreError(f"--use {route.label}: {error.message}") from None
    return Judge(route=route, name=bound.ref.name, group=bound.spec.group, fingerprint=bound.ref.fingerprint)


async def _there(route: Route, client: AsyncClient, planner: Planner) -> Judge:
    """A server describes its verifiers; of a recipe, what is known here says whether it judges groups."""
    name = route.use.name
    if name is None:
        return replace(_here(route, planner), fingerprint=None)
    try:
        entry = (await client.verifiers(name))[0]
    except NotFound as error:
        if name in planner.registry.recipe_names():
            return replace(_here(route, planner), fingerprint=None)
        raise RescoreError(f"--use {route.label}: {error.message}") from None
    if entry.get("available") is False:
        raise RescoreError(f"--use {route.label}: the server cannot use it: {entry.get('problem')}")
    return Judge(route=route, name=name, group=bool(entry.get("group")))
