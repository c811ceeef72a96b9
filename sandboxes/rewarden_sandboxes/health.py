"""The readiness of a host, over the gRPC health checking protocol (`grpc.health.v1`), which container engines query."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rewarden_sandboxes.drain import Drain

if TYPE_CHECKING:
    from rewarden_sandboxes.host import Host

SERVICES = ("", "rewarden_sandbox.v1.SandboxHost")
"""The services that can be checked: the host as a whole, under either name."""

_LOOK_S = 1.0


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc,unused-ignore]
    """Reports `SERVING` while programs can run and the host is not draining."""

    def __init__(self, host: Host, drain: Drain) -> None:
        self._host = host
        self._drain = drain

    async def Check(
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        """Returns the current status."""
        if request.service not in SERVICES:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"known services: {', '.join(filter(None, SERVICES))}")
        return await self._now()

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Yields the current status, and again after each change."""
        unknown = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
        told = None
        while True:
            now = unknown if request.service not in SERVICES else await self._now()
            if now != told:
                yield now
                told = now
            await asyncio.sleep(_LOOK_S)

    async def _now(self) -> health_pb2.HealthCheckResponse:
        ready = not self._drain.leaving and bool((await self._host.status()).get("ready"))
        kinds = health_pb2.HealthCheckResponse
        return kinds(status=kinds.SERVING if ready else kinds.NOT_SERVING)
