"""A cache of compiled programs, keyed by everything that they were compiled from. Entries are kept while there is
space, and concurrent jobs share one compilation.

Only the host can write an entry, and only from the working folder of the compilation that its key names. A hit returns
bytes: each slot gets a copy of its own, and each run a copy of that.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rewarden_sandboxes.job import Report
from rewarden_sandboxes.slot import SlotLost

_LARGEST = 8
"""One entry can take at most the cache's size divided by this. Attack: programs of many megabytes, so that entries
which others share are evicted."""
_BESIDE = 1024
"""The overhead of an entry, in bytes."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The result of a compilation. `files`: the snapshot of its working folder, as `agent.snapshot` writes it; empty if
    it failed.
    """

    report: Report
    files: bytes

    @property
    def is_certain(self) -> bool:
        """Returns whether another compilation of the same source is sure to end like this one. Failures never count: a
        compiler can also fail because of this machine, and such a failure must not be cached.
        """
        return self.report.status == "ok" and not self.report.flags

    @property
    def size(self) -> int:
        """Returns the bytes that it takes in the cache."""
        return len(self.files) + len(self.report.stdout) + len(self.report.stderr) + _BESIDE


class CompileCache:
    """See the module. `most`: the capacity in bytes; 0 disables the cache."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[bytes, Compiled] = OrderedDict()
        self._under_way: dict[bytes, asyncio.Future[bool]] = {}
        self._hits = self._misses = self._evictions = 0

    def __contains__(self, key: bytes) -> bool:
        return key in self._kept

    def find(self, key: bytes) -> Compiled | None:
        """Returns the entry of a key, or None; counts the hit or miss."""
        found = self._kept.get(key)
        if found is None:
            self._misses += 1
            return None
        self._hits += 1
        self._kept.move_to_end(key)
        return found

    def keep(self, key: bytes, compiled: Compiled) -> None:
        """Store a result, if another compilation is sure to end alike. Evicts the least recently used entries."""
        if not compiled.is_certain or compiled.size > self._most // _LARGEST or key in self._kept:
            return
        self._kept[key] = compiled
        self._size += compiled.size
        while self._size > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size
            self._evictions += 1

    @asynccontextmanager
    async def turn(self, keys: Collection[bytes]) -> AsyncIterator[None]:
        """Wait while others compile any of these keys. Within the block, others wait for this caller's compilations.

        After a failed compilation, all who waited compile for themselves, concurrently: their result may differ, and in
        sequence each waits for all before it. After an abandoned one, the next in line takes over.
        """
        failed: set[bytes] = set()
        while busy := [(key, self._under_way[key]) for key in keys if self._is_awaited(key) and key not in failed]:
            # Wait for all at once, and hold nothing meanwhile: two callers with the same keys never deadlock.
            await asyncio.wait([future for _, future in busy])
            failed.update(key for key, future in busy if future.result())
        mine = {key for key in keys if key not in self._kept and key not in self._under_way}
        loop = asyncio.get_running_loop()
        self._under_way.update((key, loop.create_future()) for key in mine)
        tried = False
        try:
            yield
            tried = True
        except SlotLost:
            tried = True
            raise
        finally:
            for key in mine:
                self._under_way.pop(key).set_result(tried)

    def _is_awaited(self, key: bytes) -> bool:
        return key in self._under_way and key not in self._kept

    def status(self) -> dict[str, Any]:
        """Returns the cache's statistics, ready for JSON."""
        return {
            "hits": self._hits,
            "misses": self._misses,
            "evictions": self._evictions,
            "entries": len(self._kept),
            "bytes": self._size,
            "most_bytes": self._most,
        }
