"""Sockets that killed processes left behind."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path


def remove_stale(path: Path) -> bool:
    """Remove a socket that no process serves. Returns False if one does. Leaves any other kind of file alone. Raises
    OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(str(path))
                except OSError:
                    path.unlink()
                else:
                    return False
    return True
