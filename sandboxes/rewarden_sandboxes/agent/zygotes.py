"""The supervisor's namespace init and its zygotes: the bare one from the start, other tiers on first use."""

from __future__ import annotations

import os
import socket

from rewarden_sandboxes.agent import namespace_init, zygote


class Broken(Exception):
    """A room could not be made: our failure, which says nothing about the program."""


class Overfull(Broken):
    """The image's own files do not fit into a box."""


class Crowded(Broken):
    """The slot has as many processes as it may: in a box, whose programs count as its own, the box's."""


class Zygotes:
    """See the module. Created before the supervisor holds anything that a fork could inherit. `alone`: rooms have no
    namespaces on this machine.
    """

    def __init__(self, host: socket.socket, counters: list[int], *, alone: bool) -> None:
        self.missing: dict[str, list[str]] = {}
        self._alone = alone
        self._channels: dict[str, socket.socket] = {}
        self._keeper, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._keeper_pid = os.fork()
        if self._keeper_pid == 0:
            # It must not inherit the host's socket or the counters' descriptors, some of which are writable.
            for end in (self._keeper, host):
                end.close()
            for number in counters:
                os.close(number)
            namespace_init.main(far, alone=alone)
        far.close()
        self.warm("bare")

    @property
    def tiers(self) -> list[str]:
        """Returns the tiers that are warm."""
        return sorted(self._channels)

    @property
    def alive(self) -> bool:
        """Returns whether the namespace init is alive: without namespaces, a program can kill it."""
        return os.waitid(os.P_PID, self._keeper_pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def warm(self, tier: str) -> None:
        """Starts a zygote of this tier, unless there is one. Raises Broken."""
        if tier in self._channels:
            return
        if tier not in zygote.TIERS:
            raise Broken(f"no tier {tier!r}")
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        _send(self._keeper, b"T" + tier.encode(), [far.fileno()])
        far.close()
        message = near.recv(4096)
        if not message.startswith(b"M"):
            raise Broken(message[1:].decode("utf-8", "replace") or f"the {tier} zygote died while it was warming")
        self._channels[tier] = near
        missing = message[1:].decode().split()
        if missing:
            self.missing[tier] = missing

    def init(self) -> int:
        """Makes a new room's init. Returns the pid of this child, 0 if rooms have no namespaces. Raises Broken."""
        if self._alone:
            return 0
        return _made(self._keeper, b"I", [])

    def program(self, tier: str, init: int, mask: str, numbers: list[int]) -> int:
        """Clones a program into the room of this init, or with 0 beside the zygote. Returns the pid of this child.
        `mask`: a letter for each descriptor. Raises Broken.
        """
        return _made(self._channels[tier], (mask if self._alone else f"{mask}/{init}").encode(), numbers)


def _send(channel: socket.socket, message: bytes, numbers: list[int]) -> None:
    try:
        socket.send_fds(channel, [message], numbers)
    except OSError as error:
        raise Broken(f"a zygote is gone: {error}") from None


def _made(channel: socket.socket, message: bytes, numbers: list[int]) -> int:
    """Requests a process, and returns its pid."""
    _send(channel, message, numbers)
    try:
        answer = channel.recv(4096)
    except OSError as error:
        raise Broken(f"a zygote is gone: {error}") from None
    if answer == zygote.CROWDED:
        raise Crowded("the slot has as many processes as it may have")
    if not answer.startswith(b"P"):
        raise Broken(answer[1:].decode("utf-8", "replace") or "a zygote is gone")
    return int(answer[1:])
