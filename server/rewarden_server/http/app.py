"""The ASGI application: all routes, inside the edge."""

from __future__ import annotations

from starlette.routing import Router

from rewarden_server import compat, pages
from rewarden_server.http import blobs, catalogue, jobs, models, run, spec, state, stream, verify
from rewarden_server.http.edge import Edge
from rewarden_server.http.guard import guard
from rewarden_server.service import Service

PARTS = (verify, stream, run, jobs, blobs, catalogue, models, state, pages, spec)
"""The parts that /openapi.json describes: our own surface. Peers' protocols (`compat`) are theirs, described in
docs/trainers."""


def make_app(service: Service) -> Edge:
    """The application of a service."""
    return Edge(
        service,
        Router(guard([route for part in (*PARTS, compat) for route in part.routes(service)]), redirect_slashes=False),
    )
