"""The namespace init: makes what rooms are made from, and never sees a request.

It owns a user namespace in which it has every capability, and hides in it what no room may see. It forks the zygotes,
and it makes each room's init: a process that only waits, in a new pid namespace, in the namespace init's own memory, so
that it costs no copy of anything. Orphans of the room go to that init, which reaps them unseen; when it is killed, the
kernel kills all that is in its namespace. A program is forked from a zygote into that namespace (`room`); it has a user
namespace below the namespace init's and no capability in either, so that it can open nothing of init's.
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
"""Bytes of an init's stack, and how many there are: many more than rooms that a slot has at once."""


def main(channel: socket.socket, *, alone: bool) -> None:
    """Serve until the supervisor is gone. Never returns. `alone`: there are no namespaces here."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the inits' as well: orphans are reaped by the kernel
    uid, gid = os.getuid(), os.getgid()
    trouble = ""
    if alone:
        LIBC.prctl(room.SET_DUMPABLE, 0, 0, 0, 0)  # nor any zygote's memory: a program has the same user here
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
    """/sys tells of the machine, and /run held the slot's socket."""
    for hidden in (b"/sys", b"/run"):
        if os.path.isdir(hidden):
            flags = room.NOSUID | room.NODEV | room.NOEXEC | room.READ_ONLY
            room.mount(b"tmpfs", hidden, b"tmpfs", flags, "size=4k,nr_inodes=2,mode=0555")


class _Inits:
    """Makes inits. The C library's `clone` starts a function of its own on a stack of ours: `pause`, which no signal
    ends that a room can send, and after which there is nothing but the process's end.
    """

    def __init__(self) -> None:
        LIBC.clone.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
        self._pause = ctypes.cast(LIBC.pause, ctypes.c_void_p)
        self._stacks = ctypes.create_string_buffer(_STACK * (_STACKS + 1))
        self._made = 0

    def make(self) -> int:
        """The process number of a new init, the supervisor's child. Raises OSError."""
        base = ctypes.addressof(self._stacks) & ~15
        self._made += 1
        return check(LIBC.clone(self._pause, base + _STACK * (1 + self._made % _STACKS), _INIT, None), "clone")
