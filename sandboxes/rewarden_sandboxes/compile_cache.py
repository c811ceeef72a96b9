"""The programs that were compiled, by all that they were compiled from: kept while there is room, and made once for
all who want them at the same time.

Only the host can write an entry, and only from the working folder of the compilation that its key names. Whoever finds
one gets the bytes: each slot has a copy of its own, and each run a copy of that.
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
"""The part of the whole, as a divisor, that one entry can take. Attack: programs of many megabytes, so that what others
share is dropped."""
_BESIDE = 1024
"""Bytes that an entry costs beside its own."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The end of a compilation. `files`: what it left in its working folder, as `agent.snapshot` writes it; empty where
    it failed.
    """

    report: Report
    files: bytes

    @property
    def is_certain(self) -> bool:
        """Returns whether the next compilation of the same is sure to end like this one. Failures never count: a
        compiler can also fail because of this machine, and that must not last.
        """
        return self.report.status == "ok" and not self.report.flags

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.files) + len(self.report.stdout) + len(self.report.stderr) + _BESIDE


class CompileCache:
    """See the module. `most`: bytes that it can hold, 0 for none at all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[bytes, Compiled] = OrderedDict()
        self._under_way: dict[bytes, asyncio.Future[bool]] = {}
        self._hits = self._misses = self._evictions = 0

    def __contains__(self, key: bytes) -> bool:
        return key in self._kept

    def find(self, key: bytes) -> Compiled | None:
        """Returns what was compiled under a key, or None; counts either."""
        found = self._kept.get(key)
        if found is None:
            self._misses += 1
            return None
        self._hits += 1
        self._kept.move_to_end(key)
        return found

    def keep(self, key: bytes, compiled: Compiled) -> None:
        """Keep what was compiled, if the next compilation is sure to end alike. What was used least recently goes."""
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
        """Waits while others compile any of these. Within, it is known that we do, so that others wait for us.

        Where a compilation failed, those who waited compile for themselves, all at the same time: its end may not be
        theirs, and one after the other they would wait for the sum of all. Where one was given up, the next takes over.
        """
        failed: set[bytes] = set()
        while busy := [(key, self._under_way[key]) for key in keys if self._is_awaited(key) and key not in failed]:
            # All at once, and nothing is held meanwhile: two who want the same two never wait for each other.
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
        """JSON-ready."""
        return {
            "hits": self._hits,
            "misses": self._misses,
            "evictions": self._evictions,
            "entries": len(self._kept),
            "bytes": self._size,
            "most_bytes": self._most,
        }
