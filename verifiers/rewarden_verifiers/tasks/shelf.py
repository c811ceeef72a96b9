"""A cache folder, limited in size. Its files can be made again, and the least recently used ones are removed first."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 10 * 1024**3
"""The default size of the folder."""

_MOST_FILES = 20_000
_OURS = re.compile(r"[0-9a-f]{64}\.(json|tar)")
"""Only such files are ever deleted: the folder can contain others."""
_NEW = ".new-"
_ABANDONED_S = 86_400.0
"""Seconds after which an unfinished file counts as abandoned."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The cache folder, with one level of subfolders. All methods block. most_bytes: its size. Attack: requests that
    each bring a different task.
    """

    folder: Path
    most_bytes: int = MOST_BYTES

    def open(self, path: Path) -> BinaryIO | None:
        """Opens a file and marks it as used; None if it does not exist."""
        try:
            file = path.open("rb")
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return file

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[BinaryIO]:
        """Yields a file that atomically replaces `path` at the end."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
        try:
            with os.fdopen(number, "wb") as file:
                yield file
                file.flush()
                os.fsync(number)  # after a power failure, the file is complete or absent
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        self._forget(path)

    def _forget(self, newest: Path) -> None:
        """Deletes the least recently used files until the rest fits. The newest is kept: somebody is waiting for it."""
        kept: list[tuple[float, int, str]] = []
        for place in self.folder.iterdir():
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):  # another server may be deleting, too
                        about = entry.stat(follow_symlinks=False)
                        abandoned = entry.name.startswith(_NEW) and time.time() - about.st_mtime > _ABANDONED_S
                        if abandoned or _OURS.fullmatch(entry.name):
                            kept.append((about.st_mtime, about.st_blocks * 512, entry.path))
        size, count = sum(each for _, each, _ in kept), len(kept)
        for _, bytes_, name in sorted(kept):
            if size <= self.most_bytes and count <= _MOST_FILES:
                break
            if name != str(newest):
                with contextlib.suppress(OSError):
                    os.unlink(name)
                size, count = size - bytes_, count - 1
