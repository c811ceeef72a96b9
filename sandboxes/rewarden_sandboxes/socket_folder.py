"""The folder of a host's sockets. If the host is killed, the next one removes it."""

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
"""The file in a host's folder that its process keeps locked, and that contains its pid."""


class SocketFolder:
    """See the module. Makes the folder. Raises OSError."""

    def __init__(self, base: Path) -> None:
        base.mkdir(parents=True, exist_ok=True)
        # Its name is visible from inside (/proc/net/unix), so it reveals nothing about the host.
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._lock = -1
        try:
            # Lock it before it has its final name: other hosts remove a folder whose owner file is not locked.
            part = self.path / f"{OWNER}.part"
            self._lock = os.open(part, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            os.write(self._lock, str(os.getpid()).encode())
            part.rename(self.path / OWNER)
            self.path.chmod(0o711)  # slots' users can traverse it, but not list it
        except OSError:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove it. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def clean(base: Path) -> list[str]:
    """Remove the folders of dead hosts. Returns a line for each.

    A host is dead if its lock is free. Its pid proves nothing: pids are reused, and a host in a container has another
    pid namespace.
    """
    said = []
    for path in sorted(base.glob(f"{PREFIX}*")):
        # The temporary folder is shared: only folders that a host of this user made are removed.
        with contextlib.suppress(OSError):
            about = path.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and _is_left(path / OWNER):
                shutil.rmtree(path, ignore_errors=True)
                said.append(f"removed the folder {path}")
    return said


def _is_left(owner: Path) -> bool:
    """Returns whether the file is a host's, and no process holds its lock."""
    lock = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.read(lock, 32).strip().isdigit()
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
