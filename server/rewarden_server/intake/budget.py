"""A limit on the memory that all requests together use at a time."""

from __future__ import annotations

from rewarden.errors import Overloaded


class Budget:
    """The bytes of all bodies that are being read and decoded. Used on the loop only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0

    def take(self, size: int) -> None:
        """Adds bytes. If they do not fit, raises Overloaded and adds nothing."""
        if self._held + size > self._most:
            raise Overloaded("too many request bodies are being read; retry later", retry_after_s=1.0)
        self._held += size

    def give(self, size: int) -> None:
        """Subtracts bytes."""
        self._held -= size
