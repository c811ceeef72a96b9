"""The gRPC server: the service, health and reflection on one port."""

from __future__ import annotations

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from rewarden_server.access.tls import Certificate
from rewarden_server.config import ConfigError
from rewarden_server.http.protocol import MAX_HEAD_BYTES
from rewarden_server.rpc import box_service
from rewarden_server.rpc.preauth import Preauth
from rewarden_server.rpc.reward_service import NAME, handlers
from rewarden_server.service import LARGE, Service

MAX_CALLS = 1000
"""Calls that one connection may have in progress."""


class RpcServer:
    """A server bound to its port; it answers after `start`. Must be created on the loop."""

    def __init__(self, service: Service, host: str, port: int, certificate: Certificate | None = None) -> None:
        most = service.limits.max_body_bytes
        self._health = health.aio.HealthServicer()
        self._server = grpc.aio.server(
            interceptors=[Preauth(service, self._health)],
            options=[
                # We refuse messages slightly over the limit ourselves, with a clear status; gRPC's own refusal looks
                # like overload. Compressed messages are measured decompressed.
                ("grpc.max_receive_message_length", min(most + LARGE, 2**31 - 1)),
                ("grpc.max_send_message_length", -1),
                # Otherwise a second server on the same port would silently take a share of the calls.
                ("grpc.so_reuseport", 0),
                ("grpc.max_metadata_size", MAX_HEAD_BYTES),
                # Attack: connections that never finish their handshake.
                ("grpc.server_handshake_timeout_ms", int(service.limits.header_timeout_s * 1000)),
                # Attack: more connections, or more calls on one, than there are descriptors and memory for. A client
                # queues the calls over a connection's limit until others end.
                ("grpc.max_allowed_incoming_connections", service.limits.max_connections),
                ("grpc.max_concurrent_streams", MAX_CALLS),
                # Idle connections may be closed: clients open them again. Calls of a peer that is gone end when a ping
                # finds out; the timeout is long, for peers that are only busy.
                ("grpc.max_connection_idle_ms", 30 * 60_000),
                ("grpc.keepalive_time_ms", 10 * 60_000),
                ("grpc.keepalive_timeout_ms", 2 * 60_000),
            ],
        )
        self._server.add_generic_rpc_handlers((handlers(service), box_service.handlers(service)))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (NAME, box_service.NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            self.port: int = (
                self._server.add_insecure_port(where)
                if certificate is None
                else self._server.add_secure_port(where, certificate.credentials())
            )
        except RuntimeError:
            raise ConfigError(
                f"gRPC cannot listen on {where}; if the port is in use, choose another with --grpc-port"
            ) from None

    async def start(self) -> None:
        """Starts to answer, and reports itself as serving."""
        await self._server.start()
        for name in ("", NAME, box_service.NAME):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    async def refuse(self) -> None:
        """Tells probes to send no more calls; those in progress continue."""
        await self._health.enter_graceful_shutdown()

    async def stop(self, grace_s: float) -> None:
        """Gives calls `grace_s` seconds to end, then ends them."""
        await self._server.stop(grace_s)
