"""The scopes that routes ask for. A route that stands nowhere in the table is no route: the server does not start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rewarden_server.access.caller import CURRENT
from rewarden_server.http.edge import is_open

_NEEDS: Mapping[str, str] = {
    "/v1/verify": "verify",
    "/v1/blobs": "verify",
    "/v1/run": "run",
    "/v1/jobs": "jobs",
    "/v1/info": "read",
    "/v1/verifiers": "read",
    "/v1/recipes": "read",
    "/v1/models": "read",
    "/v1/models/{name}/reload": "admin",
    "/metrics": "read",
    "/compat": "verify",
    "/compat/sandbox_fusion": "run",
}
"""The beginning of a route's path, by whole parts, to the scope. The longest beginning counts."""


def scope_of(path: str) -> str | None:
    """The scope that a route's path asks for; None where it is open. Raises LookupError for an unknown path."""
    if is_open(path):
        return None
    parts = path.rstrip("/").split("/")
    for end in range(len(parts), 1, -1):
        scope = _NEEDS.get("/".join(parts[:end]))
        if scope is not None:
            return scope
    raise LookupError(f"no scope is known for the route {path}: see http/guard.py")


def guard(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """The same routes, each asking for its scope before anything is read of the request."""
    for route in routes:
        assert isinstance(route, Route)
        scope = scope_of(route.path)
        if scope is not None:
            route.app = _guarded(route.app, scope)
    return list(routes)


def _guarded(app: ASGIApp, needed: str) -> ASGIApp:
    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        caller = CURRENT.get()
        assert caller is not None  # the edge sets it for whatever is not open
        caller.demand(needed)
        await app(scope, receive, send)

    return guarded
