"""The file mappings of the interpreter: forks copy their page tables, and the supervisor locks their pages in memory.

Copying saves each child about 100 page faults. A fork copies the page table of a file mapping only if the mapping has
an anonymous page, that is, one that was written to (`vma_needs_copy` in the kernel's `mm/memory.c`). So the namespace
init overwrites one byte of each with itself, once, which makes each run about 6 % cheaper. This covers only the files
that every program uses: for other libraries, most of the copied entries are never used.

Locking prevents thrashing. When a group is at its memory limit, the kernel evicts page cache before it kills a process.
The supervisor's own code is among those pages, and its next instruction reads it back. A program over its limit then
kept its slot for up to two minutes, while the supervisor had no chance to check. A page that one process has locked is
evicted from none.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

from rewarden_sandboxes.agent.filters import LIBC

_USED_BY_ALL = ("python", "libpython", "libc.", "libc-", "ld-")
_READ, _WRITE, _EXECUTE = 1, 2, 4
_ON_FAULT = 1
"""mlock2's flag MLOCK_ONFAULT: locks pages that are resident, and others once they are; reads none in."""


def own() -> None:
    """Gives each mapping an anonymous page. Mappings that cannot be changed stay as they are."""
    LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for name, low, high, allowed in list(_read_only()):
        if name.startswith(_USED_BY_ALL) and LIBC.mprotect(low, high - low, allowed | _WRITE) == 0:
            byte = ctypes.c_char.from_address(low)
            byte.value = byte.value
            LIBC.mprotect(low, high - low, allowed)


def keep() -> None:
    """Locks the files that this process has mapped in memory, the interpreter and the C library first, up to the limit
    of locked memory (8 MiB by default, which covers nearly all of it). Called in the supervisor, because children do
    not inherit locks. Unused pages are not read in, because the kernel counts resident ones when it picks the largest
    process to kill.
    """
    LIBC.mlock2.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint)
    for _, low, high, _ in sorted(_read_only(), key=lambda each: not each[0].startswith(_USED_BY_ALL)):
        LIBC.mlock2(low, high - low, _ON_FAULT)


def _read_only() -> Iterator[tuple[str, int, int, int]]:
    """Yields file name, bounds and protection of each read-only mapping of a file."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split(None, 5)
            allowed = {"r--p": _READ, "r-xp": _READ | _EXECUTE}.get(fields[1])
            if len(fields) == 6 and fields[5].startswith("/") and allowed is not None:
                low, high = (int(number, 16) for number in fields[0].split("-"))
                yield os.path.basename(fields[5].strip()), low, high, allowed
