"""Other servers' protocols, at `/compat/<peer>/…`: their bodies, and the quirks that clients rely on, but not their
defects. Each peer has a module. `peer_requests` has what they share: the choice of the verifier, and the answer for a
sample without a score.
"""

from __future__ import annotations

from fastapi import APIRouter

from rewarden_server.compat import (
    gym,
    gym_sessions,
    kimina,
    open_instruct,
    openrlhf,
    reward_model,
    sandbox_fusion,
    slime,
)
from rewarden_server.http.access import RawRoute, needs
from rewarden_server.service import Service

PEERS = (gym, gym_sessions, kimina, open_instruct, openrlhf, reward_model, sandbox_fusion, slime)


def router(service: Service) -> APIRouter:
    """The routes of all peers. They are described in docs/trainers rather than in `/openapi.json`, because the
    protocols are not ours."""
    made = APIRouter(route_class=RawRoute, include_in_schema=False)
    for peer in PEERS:
        # SandboxFusion's route returns a program's output; the others judge what they run.
        scope = "run" if peer is sandbox_fusion else "verify"
        for route in peer.routes(service):
            methods = [method for method in route.methods or () if method != "HEAD"]
            made.add_api_route(route.path, route.endpoint, methods=methods, dependencies=[needs(scope)])
    return made
