"""Paths that several processes can share a pattern of."""

from __future__ import annotations

import os
import socket


def place_of(pattern: str) -> str:
    """A path: `{host}`, `{pid}` and `{rank}` (torch's `RANK`, else 0) are those of this process."""
    values = {"host": socket.gethostname(), "pid": str(os.getpid()), "rank": os.environ.get("RANK", "0")}
    for name, value in values.items():
        pattern = pattern.replace("{" + name + "}", value)
    return pattern
