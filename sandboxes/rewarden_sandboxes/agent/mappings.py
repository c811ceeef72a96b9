"""The files that the interpreter is mapped from: a fork copies their pages, and they stay in memory.

They are to be copied, instead of found again by a hundred page faults. A fork copies the page table of a mapping only
where the mapping has a page of its own, that is, one that was written to (`vma_needs_copy` in the kernel's
`mm/memory.c`). So one byte of each is written over with itself, once, in the namespace init. Each run is then some 6 %
cheaper. Only what every program uses is treated so: of other libraries most pages would be copied for nothing.

They are to stay, because a kernel whose group is at its memory limit takes pages of files away before it kills, and
the supervisor's own code is among them, which the next instruction reads again. A program that took too much then had
its slot for up to two minutes, and the supervisor no moment to look. A page that one process has locked is taken from
none.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

from rewarden_sandboxes.agent.filters import LIBC

_USED_BY_ALL = ("python", "libpython", "libc.", "libc-", "ld-")
_READ, _WRITE, _EXECUTE = 1, 2, 4
_ON_FAULT = 1
"""mlock2's flag: what is in memory stays, and so does what comes; nothing is read in for it."""


def own() -> None:
    """Give the mappings a page of their own. Where that is not allowed, they stay as they are."""
    LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for name, low, high, allowed in list(_read_only()):
        if name.startswith(_USED_BY_ALL) and LIBC.mprotect(low, high - low, allowed | _WRITE) == 0:
            byte = ctypes.c_char.from_address(low)
            byte.value = byte.value
            LIBC.mprotect(low, high - low, allowed)


def keep() -> None:
    """Lock in memory what this process is mapped from, the interpreter and the C library first: as much as a process
    may lock (8 MiB by default, which is nearly all of it). Called in the supervisor, for a lock is not inherited. Pages
    that it never uses stay out: the kernel counts them, when it looks for the largest process to kill.
    """
    LIBC.mlock2.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint)
    for _, low, high, _ in sorted(_read_only(), key=lambda each: not each[0].startswith(_USED_BY_ALL)):
        LIBC.mlock2(low, high - low, _ON_FAULT)


def _read_only() -> Iterator[tuple[str, int, int, int]]:
    """File name, bounds and protection of each mapping of a file that is not written to."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split(None, 5)
            allowed = {"r--p": _READ, "r-xp": _READ | _EXECUTE}.get(fields[1])
            if len(fields) == 6 and fields[5].startswith("/") and allowed is not None:
                low, high = (int(number, 16) for number in fields[0].split("-"))
                yield os.path.basename(fields[5].strip()), low, high, allowed
