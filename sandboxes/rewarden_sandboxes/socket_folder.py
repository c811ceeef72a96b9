"""The folder of a host's sockets: its own while it lives, and removed by the next one when it was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

PREFIX = "rewarden-slots-"
OWNER = "owner"
"""The file of a host's folder that its process holds locked, and that holds its number."""


class SocketFolder:
    """A folder that is made now. Raises OSError."""

    def __init__(self, base: Path) -> None:
        base.mkdir(parents=True, exist_ok=True)
        # Its name is seen from inside (/proc/net/unix), so it tells nothing of the host.
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._lock = -1
        try:
            # Locked before it can be found by its name: whoever sees an owner that nobody holds may remove it.
            part = self.path / f"{OWNER}.part"
            self._lock = os.open(part, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            os.write(self._lock, str(os.getpid()).encode())
            part.rename(self.path / OWNER)
            self.path.chmod(0o711)  # slots' users pass through, and list nothing
        except OSError:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove it. Twice is once."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def clean(base: Path) -> list[str]:
    """Remove the folders of hosts that are dead; says what was removed.

    Dead is whose lock is free: process numbers are used again, and a host in a container has one of its own counting.
    """
    said = []
    for path in sorted(base.glob(f"{PREFIX}*")):
        # The folder of temporary files is everybody's: only what a host of this user made is removed.
        with contextlib.suppress(OSError):
            about = path.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and _is_left(path / OWNER):
                shutil.rmtree(path, ignore_errors=True)
                said.append(f"removed the folder {path}")
    return said


def _is_left(owner: Path) -> bool:
    """Returns whether it is a host's, and nobody holds it."""
    lock = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.read(lock, 32).strip().isdigit()
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
