"""The symbolic links in a box's changes, and their targets.

Attack: an answer that links to the expected one, which is in /tests when the tests read it; also through other links,
`/proc/self/root`, `/dev/fd/3` (the expected answer, if a test has just opened it), or `..` after one of the image's
links.
"""

from __future__ import annotations

import posixpath
import tarfile
from collections import deque
from collections.abc import Callable, Mapping
from typing import BinaryIO

_MOST_HOPS = 40
"""The same limit as the kernel's."""
_DEEPEST = 200
"""The maximum depth of folders in a box's changes."""
_DEVICES = frozenset({"null", "zero", "full", "random", "urandom", "tty", "stdout", "stderr", "shm"})
"""Names in /dev that do not lead to a file that a process has open for reading."""
_MOST_NAMES = 2_000_000
"""The maximum number of path components to process. Attack: a hundred thousand links, each to a long path over forty
others.
"""


class Links:
    """The links in a box's changes: a path (from the root, without a slash) to a target."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self._targets = targets
        self._names = 0

    @classmethod
    def of_stream(cls, stream: BinaryIO) -> Links:
        """Reads the links from a change stream. Raises tarfile.TarError."""
        with tarfile.open(fileobj=stream, mode="r:") as given:
            return cls({posixpath.normpath(member.name): member.linkname for member in given if member.issym()})

    def astray(self, right: Callable[[str], bool]) -> frozenset[str]:
        """Returns the links with a forbidden target. right: returns whether links may point to a path, which need not
        exist.
        """
        return frozenset(path for path in self._targets if (end := self._end(path)) is None or not right(end))

    def _end(self, path: str) -> str | None:
        """Resolves a link; None if that needs the image, takes too long, or leads to the files of processes."""
        left = deque(path.split("/"))
        at: list[str] = []
        hops = 0
        while left:
            part = left.popleft()
            if part == "..":  # only at the beginning of a target, where `at` contains only folders of the box
                del at[-1:]
                continue
            at.append(part)
            self._names += 1
            if _of_processes(at) or len(at) > _DEEPEST or self._names > _MOST_NAMES:
                return None
            target = self._targets.get("/".join(at))
            if target is None:
                continue
            hops += 1
            self._names += target.count("/")
            parts = [name for name in target.split("/") if name not in ("", ".")]
            head = next((place for place, name in enumerate(parts) if name != ".."), len(parts))
            if hops > _MOST_HOPS or ".." in parts[head:]:
                return None
            at = [] if target.startswith("/") else at[:-1]
            left.extendleft(reversed(parts))
        return "/".join(at)


def _of_processes(at: list[str]) -> bool:
    """Returns whether a path leads to a process's files, which include /dev/fd and /dev/stdin."""
    return at[0] == "proc" or (at[0] == "dev" and len(at) > 1 and at[1] not in _DEVICES)
