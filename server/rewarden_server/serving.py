"""A server in one piece: the engine, HTTP and gRPC on the running loop, from its start to the end of its drain."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from rewarden_server.config import Config, ConfigError
from rewarden_server.http.app import make_app
from rewarden_server.http.protocol import BoundedProtocol
from rewarden_server.rpc.server import RpcServer
from rewarden_server.service import Service

LAST_WORDS_S = 5
"""Seconds that answers have to leave once the engine has stopped."""


class Serving:
    """Made and used on one loop. `http` and `grpc` are the addresses, with the real ports, from the beginning."""

    def __init__(self, config: Config) -> None:
        """Bind both ports. Raises ConfigError, before anything is started, when one is taken or a setting is wrong."""
        self.service = Service.build(config)
        host = config.server.host
        self._listener = _listen(host, config.server.port)
        self._rpc = RpcServer(self.service, host, config.server.grpc_port)
        self._http = _Http(_settings(self.service))
        self._serving: asyncio.Future[None] | None = None
        shown = f"[{host}]" if ":" in host else host
        self.http = f"http://{shown}:{self._listener.getsockname()[1]}"
        self.grpc = f"grpc://{shown}:{self._rpc.port}"

    async def start(self) -> None:
        """Start the engine, then answer."""
        await self.service.engine.start()
        if self.service.jobs is not None:
            self.service.jobs.start()
        self._serving = asyncio.ensure_future(self._http.serve(sockets=[self._listener]))
        await self._http.listening.wait()
        await self._rpc.start()

    async def drain(self, seconds: float) -> None:
        """Admit no more, let what was admitted end for so many seconds, refuse the rest, and stop."""
        # `close` stops admission at its first step: /readyz answers 503 from here on.
        closing = asyncio.ensure_future(self.service.engine.close(seconds))
        await self._rpc.refuse()
        if self.service.jobs is not None:
            await self.service.jobs.close()  # they go on at the next start; nobody waits for them
        await closing
        self.service.stopped.set()
        self._http.should_exit = True
        await asyncio.gather(*filter(None, [self._serving]), self._rpc.stop(LAST_WORDS_S))


class _Http(uvicorn.Server):
    """uvicorn, without its own view of signals, and telling when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _settings(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(service),
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_WORDS_S,
        # Longer than common proxies keep a connection, so that they and not we close it.
        timeout_keep_alive=75,
    )


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"HTTP cannot listen on {host}:{port}: {error.strerror or error}; choose another: --host, --port"
        ) from None
    return listener
