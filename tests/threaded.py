"""A server of a test's own, on a thread of its process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route


class Threaded:
    """Serves routes on a free port from `start` to `stop`."""

    def __init__(self, routes: Sequence[Route]) -> None:
        config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="error", lifespan="off", loop="asyncio")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def start(self) -> str:
        """Its address, once it listens."""
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.005)
            assert self._thread.is_alive(), "the test's server did not start"
        return f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = True
        self._thread.join(10)
