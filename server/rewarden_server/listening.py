"""An HTTP server on a loop that others run: our signals, word when it listens, and descriptors enough."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator

import uvicorn


class HttpServer(uvicorn.Server):
    """uvicorn without its signal handling, which tells when it listens. handshake_s: seconds that a TLS handshake may
    take. Attack: handshakes of a minute each, during which connections are not yet counted."""

    def __init__(self, config: uvicorn.Config, handshake_s: float | None = None) -> None:
        super().__init__(config)
        self._handshake_s = handshake_s
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on sockets that are bound. uvicorn's own has no way to bound a handshake, and nothing else for us."""
        config, loop = self.config, asyncio.get_running_loop()

        def made() -> asyncio.Protocol:
            return config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )

        patience = self._handshake_s if config.ssl is not None else None
        self.servers = [
            await loop.create_server(
                made, sock=each, ssl=config.ssl, backlog=config.backlog, ssl_handshake_timeout=patience
            )
            for each in sockets or ()
        ]
        self.started = True
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See uvicorn; nothing is captured."""
        yield


def use_all_descriptors() -> None:
    """Raise this process's soft limit of open files to its hard one: each connection is a descriptor, and 1024 are soon
    used up. What is started later inherits it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
