"""A bounded store for a worker's results from earlier samples. The least recently used entry is dropped first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Values by key. `size` measures a value (by default as 1); `most` limits the total, and `largest` a single value,
    so that a huge one does not evict all others.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda value: 1, *, largest: int | None = None) -> None:
        self._most = most
        self._size = size
        self._largest = most if largest is None else largest
        self._held = 0
        self._kept: OrderedDict[tuple[str, ...] | str, tuple[T, int]] = OrderedDict()

    def get(self, key: tuple[str, ...] | str) -> T | None:
        """Returns a stored value, or None."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: tuple[str, ...] | str, value: T) -> None:
        """Stores a value, unless it alone is too large."""
        size = self._size(value)
        if size > self._largest:
            return
        before = self._kept.pop(key, None)
        self._held += size - (before[1] if before is not None else 0)
        self._kept[key] = (value, size)
        while self._held > self._most:
            self._held -= self._kept.popitem(last=False)[1][1]
