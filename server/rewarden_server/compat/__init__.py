"""Other servers' protocols, at `/compat/<peer>/…`: their bodies and the quirks that clients rely on, not their defects.

One module for each peer. What all share is in `asking`: who judges, and what stands for a sample without a score.
"""

from __future__ import annotations

from starlette.routing import Route

from rewarden_server.compat import gym, kimina, open_instruct, openrlhf, reward_model, sandbox_fusion, slime
from rewarden_server.service import Service

PEERS = (gym, kimina, open_instruct, openrlhf, reward_model, sandbox_fusion, slime)


def routes(service: Service) -> list[Route]:
    """The routes of all peers."""
    return [route for peer in PEERS for route in peer.routes(service)]
