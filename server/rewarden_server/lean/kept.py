"""The results of compilations: kept while there is room, and made once for all concurrent callers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from rewarden.errors import SandboxError
from rewarden_server.engine.lanes.in_flight_cache import InFlightCache
from rewarden_verifiers.provers import Compiled


class Kept:
    """Compilations by key, up to `most` bytes; the least recently used are dropped first. Used on one loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._flights: InFlightCache[Compiled] = InFlightCache(most, _size)

    async def get(self, key: bytes, make: Callable[[], Coroutine[Any, Any, Compiled]]) -> Compiled:
        """Returns the compilation kept under the key, or else the result of `make`. Only finished compilations are
        kept.

        `make` continues until its last caller has left. Raises its exceptions.
        """
        kept = self._flights.known(key)
        if kept is not None:
            return kept
        made, _ = await self._flights.shared(
            key,
            make,
            note=lambda how: None,
            stopped=lambda: SandboxError("the server is stopping"),
            kept_as=lambda made: key if made.status == "ok" and _size(made) <= self._most else None,
        )
        return made


def _size(made: Compiled) -> int:
    return len(made.module or b"") + sum(len(message.text) + 100 for message in made.messages) + 200
