"""The changes of a policy's box that the verifier's box gets, as a filter of tar streams.

Attack: what runs the tests was replaced: `/bin/sh` or `/bin` itself, `/etc/ld.so.preload`, `~/.bashrc`, git's settings,
`usercustomize` in the user's packages. In the mode `separate` all of that comes from the task's environment.
"""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Callable, Sequence
from typing import BinaryIO

END = ".wh..wh..end"
"""The name of the last member of a stream of changes."""

_WHITEOUT = ".wh."

SYSTEM = frozenset({"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "boot"})
"""Top-level folders that hold what runs the tests."""

OURS = frozenset({"tests", "solution", "rewarden"})
"""Top-level folders that are the task's alone."""

_LOGS = ("agent", "artifacts")
"""The folders of /logs that are the policy's to write."""

_HOMES = {"root": 1, "tmp": 1, "home": 2}
"""Top-level folders to the number of parts in the path of a home there. Boxes have theirs in /tmp."""
_STARTUP = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshenv",
    ".zshrc",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".inputrc",
    ".pythonrc",
    ".pythonrc.py",
    ".pdbrc",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/pip",
    ".config/python",
    ".local/bin",
    ".local/lib",
    ".npmrc",
    ".node_modules",
)
"""Files below a home that shells, Python, Node.js and git read by themselves when they start."""

_NOTED = 20


class Carried:
    """Decides member by member. dropped: the first names that were not carried."""

    def __init__(self, keep: Sequence[str], *, shared: bool) -> None:
        self._keep = [path.strip("/") for path in keep]
        self._shared = shared
        self.dropped: list[str] = []

    def of_policy(self, name: str) -> bool:
        """Returns whether a change of the policy's is carried."""
        path = named(name)
        if path == ".":
            return False  # the root itself: its permissions decide whether anything can be put there
        if self._kept(path):
            return True
        ours = _is_ours(path)
        if ours or (not self._shared and is_system(path)):
            # Every stream has the folders of the root, and all of /etc, which is a copy in each box.
            if not ours and "/" in path and not path.startswith("etc/") and len(self.dropped) < _NOTED:
                self.dropped.append("/" + path)
            return False
        return True

    def of_environment(self, name: str) -> bool:
        """Returns whether a change that the environment made is carried beside those of the policy, which began with
        all of them."""
        path = named(name)
        return not self._shared and is_system(path) and not self._kept(path)

    def _kept(self, path: str) -> bool:
        return any(path == kept or path.startswith(kept + "/") for kept in self._keep)


def named(name: str) -> str:
    """Returns the path that a member is about, without the mark of what is gone."""
    path = posixpath.normpath(name).lstrip("/")
    folder, last = posixpath.split(path)
    if last in (".wh..wh..opq", END):
        return folder
    return posixpath.join(folder, last.removeprefix(_WHITEOUT))


def is_system(path: str) -> bool:
    """Returns whether a path holds what runs the tests, or is read by it when it starts."""
    parts = path.split("/")
    if parts[0] in SYSTEM:
        return True
    depth = _HOMES.get(parts[0])
    inner = "/".join(parts[depth:]) if depth is not None else ""
    return any(inner == name or inner.startswith(name + "/") for name in _STARTUP)


def _is_ours(path: str) -> bool:
    parts = path.split("/")
    return parts[0] in OURS or (parts[0] == "logs" and (len(parts) < 2 or parts[1] not in _LOGS))


def merge(streams: Sequence[tuple[BinaryIO, Callable[[str], bool]]], out: BinaryIO) -> None:
    """Writes the chosen members of several streams of changes as one. Raises tarfile.TarError for a stream that is cut
    off."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        ends: list[tarfile.TarInfo] = []
        for stream, chosen in streams:
            ended = False
            with tarfile.open(fileobj=stream, mode="r:") as given:
                for member in given:
                    if posixpath.normpath(member.name) == END:
                        ends.append(member)
                        ended = True
                    elif chosen(member.name) and not (member.islnk() and not chosen(member.linkname)):
                        made.addfile(member, given.extractfile(member) if member.isreg() else None)
            if not ended:
                raise tarfile.ReadError("the changes of a box were cut off")
        made.addfile(ends[-1])
