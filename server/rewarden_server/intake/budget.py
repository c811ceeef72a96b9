"""A bound on what all requests together hold at once."""

from __future__ import annotations

from rewarden.errors import Overloaded


class Budget:
    """Bytes of bodies that are being read and decoded. Used on the loop only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0

    def take(self, size: int) -> None:
        """Count bytes in. Raises Overloaded, and counts nothing, when they do not fit beside what is held."""
        if self._held + size > self._most:
            raise Overloaded("too many request bodies are being read; retry later", retry_after_s=1.0)
        self._held += size

    def give(self, size: int) -> None:
        """Count bytes out."""
        self._held -= size
