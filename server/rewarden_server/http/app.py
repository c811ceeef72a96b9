"""The application: FastAPI with all routes, inside the edge."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from rewarden_server import compat, pages
from rewarden_server.http import (
    blobs,
    box_socket,
    boxes,
    catalogue,
    jobs,
    models,
    openenv,
    openenv_mcp,
    rollouts,
    run,
    runs,
    spec,
    state,
    stream,
    verify,
)
from rewarden_server.http.access import check_scopes
from rewarden_server.http.edge import Edge
from rewarden_server.service import Service

HOT = (verify, stream, run)
"""The parts that every sample of a training run passes: found first."""

PARTS = (jobs, boxes, openenv, openenv_mcp, runs, rollouts, blobs, catalogue, models, state, *pages.PARTS, spec)


class Application(FastAPI):
    """FastAPI without its own middleware: errors become answers in the edge, which also logs and counts them."""

    def build_middleware_stack(self) -> ASGIApp:
        """See FastAPI. The exit stack is what its routes need."""
        return AsyncExitStackMiddleware(self.router)


def make_app(service: Service) -> Edge:
    """The application of a service. Raises LookupError for a route without a scope."""
    hot, others = ([part.router for part in parts] for parts in (HOT, PARTS))
    routers = [*hot, compat.router(service), *others]
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    check_scopes(routes)
    # In one list: of routers within routers FastAPI looks through all of them, twice.
    sockets = [*box_socket.sockets, *openenv.sockets]
    app = Application(routes=[*routes, *sockets], openapi_url=None, redirect_slashes=False)
    app.state.service = service
    return Edge(service, app, routes)
