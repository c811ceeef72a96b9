"""The supervisor's zygotes: the bare one, and those of other tiers when they are first wanted."""

from __future__ import annotations

import array
import os
import socket

from rewarden_sandboxes.agent import zygote


class Broken(Exception):
    """A room could not be made: ours, and nothing about the program."""


class Zygotes:
    """Made before the supervisor holds anything that a fork could inherit. `alone`: rooms have no namespaces here."""

    def __init__(self, host: socket.socket, counters: list[int], *, alone: bool) -> None:
        self.missing: dict[str, list[str]] = {}
        self._alone = alone
        self._channels: dict[str, socket.socket] = {}
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            # Neither the host's socket nor the counters' descriptors, some of which can be written to.
            for end in (near, host):
                end.close()
            for number in counters:
                os.close(number)
            zygote.main(far, os.getuid(), os.getgid(), "bare")
        far.close()
        self._await(near, "bare")

    @property
    def tiers(self) -> list[str]:
        """The tiers that are warm."""
        return sorted(self._channels)

    def warm(self, tier: str) -> None:
        """Have a zygote of this tier. Raises Broken."""
        if tier in self._channels:
            return
        if tier not in zygote.TIERS:
            raise Broken(f"no tier {tier!r}")
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The bare one forks it, not the supervisor, which has read requests.
        self._ask("bare", b"T" + tier.encode(), [far.fileno()])
        far.close()
        self._await(near, tier)

    def room(self, tier: str, mask: str, numbers: list[int]) -> int:
        """The process number of a new room's init, our child. `mask`: a letter for each descriptor. Raises Broken."""
        return self._ask(tier, (b"A" if self._alone else b"R") + mask.encode(), numbers)

    def _await(self, channel: socket.socket, tier: str) -> None:
        message = channel.recv(4096)
        if not message.startswith(b"M"):
            raise Broken(f"the {tier} zygote died while it was warming")
        self._channels[tier] = channel
        missing = message[1:].decode().split()
        if missing:
            self.missing[tier] = missing

    def _ask(self, tier: str, message: bytes, numbers: list[int]) -> int:
        channel = self._channels[tier]
        try:
            channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", numbers))])
            answer = channel.recv(4096)
        except OSError as error:
            raise Broken(f"a zygote is gone: {error}") from None
        if not answer.startswith(b"P"):
            raise Broken(answer[1:].decode("utf-8", "replace") or "a zygote is gone")
        return int(answer[1:])
