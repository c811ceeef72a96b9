"""A page that workers write and the engine reads: which item a worker processes, and since when.

A worker that is stuck in C code or dead cannot answer; the page still shows which item is to blame.
"""

from __future__ import annotations

import mmap
import os
import struct

_ROW = struct.Struct("<QQddd")
_UNTIL = struct.Struct("<dd")
_UNTIL_AT = 24
_PHASE = struct.Struct("<Q")
_PHASE_AT = 8
_STRIDE = 64

PHASES = ("none", "prepare", "run")


class SharedProgress:
    """Rows of (item, phase, CPU seconds at its start, limits that the item set itself). Each row has one writer. Torn
    reads are harmless, because the engine polls again."""

    def __init__(self, descriptor: int, rows: int) -> None:
        self._map = mmap.mmap(descriptor, rows * _STRIDE)
        self.descriptor = descriptor

    @classmethod
    def make(cls, rows: int) -> SharedProgress:
        """Makes a new page in memory, which is inherited or passed on by its descriptor."""
        descriptor = os.memfd_create("rewarden-progress", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, rows * _STRIDE)
        return cls(descriptor, rows)

    def write(self, row: int, item: int, phase: int, cpu_s: float) -> None:
        """Records that this row's worker processes an item; item 0 and phase 0 mean that it waits."""
        _ROW.pack_into(self._map, row * _STRIDE, item, phase, cpu_s, 0.0, 0.0)

    def phase(self, row: int, phase: int) -> None:
        """Records a new phase of the same item."""
        _PHASE.pack_into(self._map, row * _STRIDE + _PHASE_AT, phase)

    def limit(self, row: int, cpu_s: float, monotonic_s: float) -> None:
        """Requests the worker's end at a reading of its CPU clock, or of the monotonic clock; 0: no such limit."""
        _UNTIL.pack_into(self._map, row * _STRIDE + _UNTIL_AT, cpu_s, monotonic_s)

    def read(self, row: int) -> tuple[int, str, float]:
        """Returns (item, phase, CPU seconds at its start); item 0 if the worker waits."""
        item, phase, cpu_s, _, _ = _ROW.unpack_from(self._map, row * _STRIDE)
        return item, PHASES[phase] if phase < len(PHASES) else "none", cpu_s

    def until(self, row: int) -> tuple[float, float]:
        """Returns the last arguments of `limit`."""
        cpu_s, monotonic_s = _UNTIL.unpack_from(self._map, row * _STRIDE + _UNTIL_AT)
        return cpu_s, monotonic_s

    def close(self) -> None:
        """Releases the page and its descriptor."""
        self._map.close()
        os.close(self.descriptor)
