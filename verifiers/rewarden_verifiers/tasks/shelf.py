"""A folder of files that can be made again: bounded in size; the least recently used is removed first."""

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
"""The size of the folder, where nothing else is configured."""

_MOST_FILES = 20_000
_OURS = re.compile(r"[0-9a-f]{64}\.(json|tar)")
"""The folder can contain files of others: none of them is deleted."""
_NEW = ".new-"
_ABANDONED_S = 86_400.0
"""Seconds after which a file that was never finished is nobody's any more."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The folder, and folders of one level in it. All methods block. most_bytes: its size. Attack: requests that each
    bring another task."""

    folder: Path
    most_bytes: int = MOST_BYTES

    def open(self, path: Path) -> BinaryIO | None:
        """Returns a file that stands there, which counts as used, or None."""
        try:
            file = path.open("rb")
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return file

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[BinaryIO]:
        """Yields a file that takes the place of the path's at the end, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
        try:
            with os.fdopen(number, "wb") as file:
                yield file
                file.flush()
                os.fsync(number)  # a machine that loses power leaves the whole file or none
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        self._forget(path)

    def _forget(self, newest: Path) -> None:
        """Deletes what was used longest ago, until the rest fits. The newest stays: somebody waits for it."""
        kept: list[tuple[float, int, str]] = []
        for place in self.folder.iterdir():
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):  # another server deletes as well
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
