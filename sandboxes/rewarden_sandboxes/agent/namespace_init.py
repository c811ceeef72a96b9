"""The namespace init: makes the zygotes and the rooms' inits, and never sees a request.

It owns a user namespace in which it has every capability, and mounts over the folders that no room may see. It forks
the zygotes, and makes each room's init: a process in a new pid namespace that only waits. It shares the namespace
init's memory, so nothing is copied for it. Orphans of the room are reparented to that init, and the kernel reaps them;
when init is killed, the kernel kills every process of its namespace. A program is cloned from a zygote into that
namespace (`room`). It has a user namespace below the namespace init's and no capability in either, so it can open
nothing that belongs to init.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket

from rewarden_sandboxes.agent import mappings, room, zygote
from rewarden_sandboxes.agent.filters import LIBC, STANDING, check

_SHARED_MEMORY, _SHARED_FILES = 0x100, 0x400
_INIT = _SHARED_MEMORY | _SHARED_FILES | room.NEW_PID | room.SIBLING

_STACK, _STACKS = 16 * 1024, 16
"""Bytes of an init's stack, and the number of stacks: many more than the rooms that a slot has at once."""


def main(channel: socket.socket, *, alone: bool) -> None:
    """Serves until the supervisor is gone. Never returns. `alone`: there are no namespaces on this machine."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # inherited by the inits, so the kernel reaps orphans
    uid, gid = os.getuid(), os.getgid()
    trouble = ""
    if alone:
        LIBC.prctl(room.SET_DUMPABLE, 0, 0, 0, 0)  # programs share our user here: they must not open our memory
    else:
        try:
            room.unshare(room.NEW_USER | room.NEW_MOUNT | room.NEW_NET)
            room.own_namespace(uid, gid)
            _hide()
            room.open_network()
        except OSError as error:
            trouble = str(error)
    unsafe = ""
    try:
        STANDING.take()
    except OSError as error:
        unsafe = str(error)
    zygote.import_everyday()
    gc.collect()
    gc.freeze()
    mappings.own()
    inits = _Inits()

    def answer(asker: socket.socket, message: bytes) -> None:
        try:
            if unsafe:
                raise OSError(unsafe)
            if message != b"I":
                if room.clone(room.SIBLING) == 0:
                    channel.close()
                    gc.unfreeze()
                    zygote.main(asker, uid, gid, message[1:].decode())
            elif trouble:
                raise OSError(trouble)
            else:
                asker.send(b"P%d" % inits.make())
        except OSError as error:
            asker.send(f"X{error}".encode())

    while True:
        message, numbers, _, _ = socket.recv_fds(channel, 64, 1)
        if not message:
            os._exit(0)
        if numbers:
            with socket.socket(fileno=numbers[0]) as asker:
                answer(asker, message)
        else:
            answer(channel, message)


def _hide() -> None:
    """Mounts over /sys, which describes the machine, and /run, which held the slot's socket."""
    for hidden in (b"/sys", b"/run"):
        if os.path.isdir(hidden):
            flags = room.NOSUID | room.NODEV | room.NOEXEC | room.READ_ONLY
            room.mount(b"tmpfs", hidden, b"tmpfs", flags, "size=4k,nr_inodes=2,mode=0555")


class _Inits:
    """Makes inits. The C library's `clone` runs one of its own functions, `pause`, on a stack of ours. No signal that a
    room can send interrupts it, and when it returns, the process exits.
    """

    def __init__(self) -> None:
        LIBC.clone.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
        self._pause = ctypes.cast(LIBC.pause, ctypes.c_void_p)
        self._stacks = ctypes.create_string_buffer(_STACK * (_STACKS + 1))
        self._made = 0

    def make(self) -> int:
        """Makes an init. Returns the pid of this child of the supervisor. Raises OSError."""
        base = ctypes.addressof(self._stacks) & ~15
        self._made += 1
        return check(LIBC.clone(self._pause, base + _STACK * (1 + self._made % _STACKS), _INIT, None), "clone")
