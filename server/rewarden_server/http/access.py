"""The dependencies of routes: the service, and the scope that a caller's key must have."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any

from fastapi import Depends
from fastapi.openapi.models import HTTPBearer
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import request_response

from rewarden_server.access.caller import CURRENT
from rewarden_server.http.edge import is_open
from rewarden_server.service import Service


def service_of(request: Request) -> Service:
    """Returns the service of the application that received a request."""
    service: Service = request.app.state.service
    return service


async def _service(request: Request) -> Service:  # FastAPI runs what is not async on a thread
    return service_of(request)


Served = Annotated[Service, Depends(_service)]
"""The type of a handler's argument that receives the service."""


class Needs(SecurityBase):
    """A dependency on a scope of the caller's key. It is checked before any of the request is read."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.model = HTTPBearer()
        self.scheme_name = "key"

    async def __call__(self) -> None:
        """Raises Forbidden."""
        caller = CURRENT.get()
        assert caller is not None  # the edge sets it for every route that is not open
        caller.demand(self.scope)


def needs(scope: str) -> Dependency:
    """Returns the dependency on a scope, for a router or a route."""
    needed: Dependency = Depends(Needs(scope))
    return needed


class RawRoute(APIRoute):
    """A route whose handler receives the raw request: FastAPI neither parses the request nor validates the response.
    Used for the routes that every sample of a training run passes. Their bodies are declared separately."""

    def __init__(
        self, path: str, endpoint: Callable[[Request], Coroutine[Any, Any, Response]], **declared: Any
    ) -> None:
        """See FastAPI; the dependencies are scopes only."""
        super().__init__(path, endpoint, **declared)
        needed = scopes_of(self)

        async def handle(request: Request) -> Response:
            for each in needed:
                await each()
            return await endpoint(request)

        self.app = request_response(handle)


def scopes_of(route: APIRoute) -> list[Needs]:
    """Returns the scopes that a route requires."""
    return [each.dependency for each in route.dependencies if isinstance(each.dependency, Needs)]


def check_scopes(routes: Iterable[APIRoute]) -> None:
    """Raises LookupError for a route that requires no scope and is not listed as open: everyone could call it
    unnoticed."""
    for route in routes:
        if bool(scopes_of(route)) == is_open(route.path):
            raise LookupError(
                f"the route {route.path} must either need a scope (see http/access.py) or be open (see http/edge.py)"
            )
