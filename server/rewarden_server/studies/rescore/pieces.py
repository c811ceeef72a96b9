"""A stream of samples, cut into pieces that travel as bytes. The members of a group are never parted."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from rewarden.types import Sample
from rewarden.wire.json import dumps, sample_to_json

_AHEAD = 512
"""Samples that lie ready before `put` waits."""

_PIECE_BYTES = 1024**2
"""A piece ends here, but for a group that is larger."""


@dataclass(slots=True, eq=False)
class Piece:
    """Samples `first`, `first + 1` … of the stream, as one JSON list. `losses`: engines that died with it in hand."""

    first: int
    count: int
    data: bytes
    losses: int = 0


@dataclass(slots=True, eq=False)
class _Block:
    """Samples that stay together."""

    samples: list[bytes] = field(default_factory=list)
    size: int = 0


class Pieces:
    """One task puts samples in, many take pieces; nothing is cut before a piece is asked for, so that the first to ask
    is served at once."""

    def __init__(self) -> None:
        self._blocks: deque[_Block] = deque()
        self._again: deque[Piece] = deque()
        self._group: str | None = None
        self._open = _Block()
        self._waiting = 0
        self._first = 0
        self._work = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def count(self) -> int:
        """Samples put so far."""
        return self._first + self._waiting

    async def put(self, sample: Sample) -> None:
        """Take one more sample; waits while many lie ready. Members of a group that tell its size (`group_size`) come
        one after the other, and travel together."""
        group = sample.group if sample.group_size is not None else None
        if self._open.samples and group != self._group:
            self._close()
        data = dumps(sample_to_json(sample))
        self._open.samples.append(data)
        self._open.size += len(data)
        self._group = group
        self._waiting += 1
        if group is None or len(self._open.samples) == sample.group_size:
            self._close()
        # A group larger than that must come in whole before anybody can take it.
        while self._waiting >= _AHEAD and self._blocks:
            self._room.clear()
            await self._room.wait()

    def finish(self) -> None:
        """No more samples come."""
        if self._open.samples:
            self._close()

    def give_back(self, piece: Piece) -> None:
        """Takes back a piece that was not judged; it is the next to be taken."""
        self._again.append(piece)
        self._work.set()

    async def take(self, size: int) -> Piece:
        """Returns about `size` samples, or as many as are ready; waits for the first."""
        while not self._again and not self._blocks:
            self._work.clear()
            await self._work.wait()
        if self._again:
            return self._again.popleft()
        samples: list[bytes] = []
        weight = 0
        while self._blocks and (not samples or (len(samples) < size and weight < _PIECE_BYTES)):
            block = self._blocks.popleft()
            samples += block.samples
            weight += block.size
        piece = Piece(self._first, len(samples), b"[%b]" % b",".join(samples))
        self._first += len(samples)
        self._waiting -= len(samples)
        self._room.set()
        return piece

    def _close(self) -> None:
        self._blocks.append(self._open)
        self._open = _Block()
        self._work.set()
