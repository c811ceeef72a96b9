"""A server in one piece: the engine, HTTP and gRPC on the running loop, from its start to the end of its drain."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from rewarden_server.access.tls import Certificate, HttpTls
from rewarden_server.config import Config, ConfigError
from rewarden_server.http.app import make_app
from rewarden_server.http.protocol import bounded_protocol
from rewarden_server.listening import HttpServer
from rewarden_server.rpc.server import RpcServer
from rewarden_server.service import Service

LAST_WORDS_S = 5
"""Seconds that answers have to leave once the engine has stopped."""

MESSAGE_BYTES = 1 << 20
"""Bytes of a WebSocket's message. A longer one ends its connection."""

KEEP_ALIVE_S = 75
"""Seconds that an idle connection is kept: longer than common proxies do, so that they and not we close it."""


class Serving:
    """Made and used on one loop. `http` and `grpc` are the addresses, with the real ports, from the beginning."""

    def __init__(self, config: Config) -> None:
        """Bind both ports. Raises ConfigError, before anything is started, when one is taken or a setting is wrong."""
        self.service = Service.build(config)
        host = config.server.host
        self._listener = _listen(host, config.server.port)
        certificate = Certificate.of(config.server)
        self._rpc = RpcServer(self.service, host, config.server.grpc_port, certificate)
        self._tls = HttpTls(certificate) if certificate is not None else None
        self._http = HttpServer(_settings(self.service, self._tls), self.service.limits.header_timeout_s)
        self._serving: asyncio.Future[None] | None = None
        self._renewing: asyncio.Future[None] | None = None
        shown = f"[{host}]" if ":" in host else host
        secure = "s" if certificate is not None else ""
        self.http = f"http{secure}://{shown}:{self._listener.getsockname()[1]}"
        self.grpc = f"grpc{secure}://{shown}:{self._rpc.port}"

    async def start(self) -> None:
        """Start the engine, then answer."""
        await self.service.engine.start()
        if self.service.jobs is not None:
            self.service.jobs.start()
        self._serving = asyncio.ensure_future(self._http.serve(sockets=[self._listener]))
        await self._http.listening.wait()
        if self._tls is not None:
            self._renewing = asyncio.ensure_future(self._tls.keep_fresh())
        await self._rpc.start()

    async def drain(self, seconds: float) -> None:
        """Admits no more work, gives admitted work so many seconds to end, refuses the rest, and stops."""
        # `close` stops admission at its first step: /readyz answers 503 from here on.
        closing = asyncio.ensure_future(self.service.engine.close(seconds))
        await self._rpc.refuse()
        await self.service.boxes.drain()  # before the sandbox host ends: a box says why it ended
        if self.service.jobs is not None:
            await self.service.jobs.close()  # they go on at the next start; nobody waits for them
        await closing
        self.service.stopped.set()
        await self.service.installed.close()
        self._http.should_exit = True
        await asyncio.gather(*filter(None, [self._serving]), self._rpc.stop(LAST_WORDS_S))
        if self.service.runs is not None:
            await self.service.runs.close()
        await asyncio.to_thread(self.service.tracing.close)
        if self.service.audit is not None:
            await asyncio.to_thread(self.service.audit.close)
        if self._renewing is not None:
            self._renewing.cancel()


def _settings(service: Service, tls: HttpTls | None) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(service),
        http=bounded_protocol(service.limits),
        ssl_context_factory=(lambda *_: tls.context) if tls is not None else None,
        # Whoever connects from this machine could otherwise name any address as its own.
        proxy_headers=False,
        ws="websockets-sansio",
        # The larger of both: the route of environments looks at its own.
        ws_max_size=max(MESSAGE_BYTES, service.config.environments.message_bytes),
        # Attack: a compressed message that expands to a thousand times its size, for each connection at once.
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_WORDS_S,
        timeout_keep_alive=KEEP_ALIVE_S,
    )


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"HTTP cannot listen on {host}:{port}: {error.strerror or error}; choose another with --host or --port"
        ) from None
    return listener
