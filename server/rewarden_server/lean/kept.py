"""The results of compilations: kept while there is room, and made once for all who want it at the same time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from rewarden_verifiers.provers import Compiled


@dataclass(eq=False, slots=True)
class _UnderWay:
    task: asyncio.Task[Compiled]
    callers: int = 0


class Kept:
    """Compilations by key, `most` bytes of them; what was used longest ago goes first. Used on one loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._kept: OrderedDict[bytes, Compiled] = OrderedDict()
        self._under_way: dict[bytes, _UnderWay] = {}

    async def get(self, key: bytes, make: Callable[[], Coroutine[Any, Any, Compiled]]) -> Compiled:
        """Returns the compilation kept under the key, or else the result of `make`. Only finished compilations are
        kept.

        `make` continues when one of its callers leaves, until the last has left. Raises what it raises.
        """
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        under_way = self._under_way.get(key)
        if under_way is None:
            under_way = self._under_way[key] = _UnderWay(asyncio.ensure_future(make()))
            under_way.task.add_done_callback(partial(self._done, key, under_way))
        under_way.callers += 1
        try:
            return await asyncio.shield(under_way.task)
        finally:
            under_way.callers -= 1
            if not under_way.callers:
                under_way.task.cancel()
                self._forget(key, under_way)  # who comes now must not join what is being called off

    def _done(self, key: bytes, under_way: _UnderWay, task: asyncio.Task[Compiled]) -> None:
        self._forget(key, under_way)
        if not task.cancelled() and task.exception() is None and task.result().status == "ok":
            self._keep(key, task.result())

    def _forget(self, key: bytes, under_way: _UnderWay) -> None:
        if self._under_way.get(key) is under_way:
            del self._under_way[key]

    def _keep(self, key: bytes, made: Compiled) -> None:
        size = _size(made)
        if size > self._most or key in self._kept:
            return
        self._kept[key] = made
        self._bytes += size
        while self._bytes > self._most:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= _size(dropped)


def _size(made: Compiled) -> int:
    return len(made.module or b"") + sum(len(message.text) + 100 for message in made.messages) + 200
