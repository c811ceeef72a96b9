"""Replies that are remembered, least recently used ones forgotten first."""

from __future__ import annotations

from collections import OrderedDict

from rewarden_verifiers.chat import Reply

_OVERHEAD = 600


class Replies:
    """Replies by key, bounded in bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[bytes, Reply] = OrderedDict()

    def get(self, key: bytes) -> Reply | None:
        """The reply under a key, or None."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: bytes, reply: Reply) -> None:
        """Remember a reply."""
        if key in self._kept:
            self._size -= _weight(self._kept.pop(key))
        self._kept[key] = reply
        self._size += _weight(reply)
        while self._size > self._limit and self._kept:
            self._size -= _weight(self._kept.popitem(last=False)[1])

    def __len__(self) -> int:
        return len(self._kept)


def _weight(reply: Reply) -> int:
    return _OVERHEAD + 2 * len(reply.text) + 100 * len(reply.alternatives)
