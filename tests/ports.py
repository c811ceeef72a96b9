"""Ports for servers whose address must be known before they listen."""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _SLICES, _SIZE = 20_000, 120, 100
_numbers = itertools.count()


def free_port() -> int:
    """Returns a port of this machine's loopback at which nobody listens.

    Flake: a port that the kernel gave out and took back may go to somebody else before it is bound. These are below
    those that the kernel gives out unasked, and each process takes them from a slice of its own.
    """
    first = _FIRST + os.getpid() % _SLICES * _SIZE
    for _ in range(_SIZE):
        port = first + next(_numbers) % _SIZE
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("all ports of this process's slice are taken")
