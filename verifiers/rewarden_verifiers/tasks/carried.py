"""Filters that decide which changes from a policy's box enter the verifier's box. They work on tar streams.

Attack: replacing what the tests run on: `/bin/sh` or `/bin` itself, `/etc/ld.so.preload`, `~/.bashrc`, git's settings,
`usercustomize` in the user's packages, `~/.sqliterc`, `/node_modules`. In the mode `separate` all of that comes from
the task's environment: system folders, and every name in a home that begins with a dot.
"""

from __future__ import annotations

import fnmatch
import posixpath
import tarfile
from collections.abc import Callable, Collection, Sequence
from typing import BinaryIO, Protocol

END = ".wh..wh..end"
"""The name of the last member of a stream of changes."""

_WHITEOUT = ".wh."

SYSTEM = frozenset({"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "boot"})
"""Top-level folders with the programs that run the tests."""

OURS = frozenset({"tests", "solution", "rewarden"})
"""Top-level folders that belong to the task alone."""

_ARTIFACTS = "/logs/artifacts"
"""The folder that is carried into the box of any tests."""

_LOGS = ("agent", "artifacts")
"""The folders of /logs that the policy may write to."""

_HOMES = ("/root", "/tmp", "/home/*")
"""Folders that programs may use as a home, as patterns. Homes in boxes are in /tmp."""

_ABOVE = (
    "node_modules",
    "package.json",
    "tsconfig.json",
    "jsconfig.json",
    "deno.json",
    "deno.jsonc",
    "bunfig.toml",
    "*.config.*",
    "conftest.py",
    "pytest.ini",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "go.mod",
    "go.work",
    "Cargo.toml",
    "Gemfile",
    "composer.json",
)
"""Names in the root folder, as patterns, that programs look for in every folder above /tests."""

_PASSING = ("cache", "_history")
"""Endings of names that programs leave in a home by themselves. Dropping such files is not reported."""

_NOTED = 20


class Filter(Protocol):
    """Decides which of a policy's files the tests see. dropped: the first names that were not carried over and might
    have mattered. astray: links to forbidden places (see `allows`), which are not carried over either.
    """

    dropped: list[str]
    astray: Collection[str]

    def allows(self, path: str) -> bool:
        """Returns whether a link of the policy may point to a path."""

    def of_policy(self, name: str, kind: bytes = tarfile.REGTYPE) -> bool:
        """Returns whether a change by the policy is carried over. kind: the type of its tar member."""

    def of_environment(self, name: str, kind: bytes = tarfile.REGTYPE) -> bool:
        """Returns whether a change by the environment of the tests' box is carried over."""

    def is_trusted(self, path: str) -> bool:
        """Returns whether programs at an absolute path are trusted."""


class Carried:
    """The filter for tests whose box starts like the policy's. homes: absolute paths of homes besides the usual
    ones.
    """

    def __init__(self, keep: Sequence[str], *, shared: bool, homes: Sequence[str] = ()) -> None:
        self._keep = [path.strip("/") for path in keep]
        self._shared = shared
        self._homes = [_parts(home) for home in (*_HOMES, *homes)]
        self.dropped: list[str] = []
        self.astray: Collection[str] = ()

    def allows(self, path: str) -> bool:
        """See `Filter.allows`: links must not point to the verifier's files."""
        return not is_ours(path)

    def of_policy(self, name: str, kind: bytes = tarfile.REGTYPE) -> bool:
        """See `Filter.of_policy`."""
        path = named(name)
        if path == ".":
            return False  # the root itself: its permissions decide whether files can be put there
        ours = is_ours(path)
        apart = not self._shared and (self._is_system(path) or self._moves_home(path, kind))
        astray = kind == tarfile.SYMTYPE and path in self.astray
        if astray or (not self._kept(path) and (ours or apart)):
            if not ours and self._is_news(path):
                _note(self.dropped, path)
            return False
        return True

    def of_environment(self, name: str, kind: bytes = tarfile.REGTYPE) -> bool:
        """See `Filter.of_environment`. The policy's changes include all of the environment's."""
        path = named(name)
        return not self._shared and self._is_system(path) and not self._kept(path)

    def is_trusted(self, path: str) -> bool:
        """See `Filter.is_trusted`: the policy could not write there, or the task carries over what it wrote."""
        inner = posixpath.normpath(path).lstrip("/")
        return path.startswith("/") and (self._shared or self._kept(inner) or self._is_system(inner))

    def _kept(self, path: str) -> bool:
        return any(_is_in(path, kept) for kept in self._keep)

    def _is_system(self, path: str) -> bool:
        """Returns whether a path holds programs that run the tests, or files that they read at startup."""
        parts = path.split("/")
        if parts[0] in SYSTEM or parts[0].startswith("."):
            return True
        if any(fnmatch.fnmatchcase(parts[0], pattern) for pattern in _ABOVE):
            return True
        return _starts_up(path, self._homes) is not None

    def _moves_home(self, path: str, kind: bytes) -> bool:
        return kind == tarfile.SYMTYPE and _holds_home(path, self._homes)

    def _is_news(self, path: str) -> bool:
        """Returns whether a dropped change is worth reporting. Every stream contains the folders of the root, and all
        of /etc, which is copied in each box.
        """
        parts = path.split("/")
        if parts[0] in SYSTEM:
            return len(parts) > 1 and parts[0] != "etc"
        return not _passes(path)


class Artifacts:
    """The filter for tests whose box has its own environment: only what the task declares is carried over. homes:
    absolute paths of homes besides the usual ones.

    Attacks: files next to the declared ones, such as programs and startup files; and startup files in a home that is
    declared as a whole, as is /root for tasks that work in it.
    """

    def __init__(self, paths: Sequence[str], *, homes: Sequence[str] = ()) -> None:
        self._paths = [path.strip("/") for path in (*paths, _ARTIFACTS)]
        self._homes = [_parts(home) for home in (*_HOMES, *homes)]
        self.dropped: list[str] = []
        self.astray: Collection[str] = ()

    def allows(self, path: str) -> bool:
        """See `Filter.allows`: links may only point to artifacts."""
        return any(_is_in(path, own) for own in self._paths)

    def of_policy(self, name: str, kind: bytes = tarfile.REGTYPE) -> bool:
        """See `Filter.of_policy`."""
        if posixpath.basename(posixpath.normpath(name)).startswith(_WHITEOUT) or not self.allows(named(name)):
            return False  # deleted files never existed in that box
        path = named(name)
        link = kind == tarfile.SYMTYPE and (path in self.astray or _holds_home(path, self._homes))
        if link or self._starts_up(path):
            if not _passes(path):
                _note(self.dropped, path)
            return False
        return True

    def _starts_up(self, path: str) -> bool:
        """Returns whether a path is a dot file in a home, or inside one, that the task does not declare explicitly."""
        start = _starts_up(path, self._homes)
        return start is not None and not any(_is_in(path, own) and _is_in(own, start) for own in self._paths)

    def of_environment(self, name: str, kind: bytes = tarfile.REGTYPE) -> bool:
        """See `Filter.of_environment`."""
        return True

    def is_trusted(self, path: str) -> bool:
        """See `Filter.is_trusted`: everything but the artifacts comes from the environment."""
        return path.startswith("/") and not self.allows(posixpath.normpath(path).lstrip("/"))


def _is_in(path: str, folder: str) -> bool:
    """Returns whether a path equals a folder or lies below it."""
    return path == folder or path.startswith(folder + "/")


def _starts_up(path: str, homes: Sequence[Sequence[str]]) -> str | None:
    """Returns the dot file or dot folder of a home that a path equals or lies in, or None."""
    parts = path.split("/")
    for home in homes:
        if len(parts) > len(home) and parts[len(home)].startswith(".") and _match(parts, home):
            return "/".join(parts[: len(home) + 1])
    return None


def _holds_home(path: str, homes: Sequence[Sequence[str]]) -> bool:
    """Returns whether a path is a home, or a folder above one.

    Attack: a link in its place that points to a folder of the policy with startup files.
    """
    parts = path.split("/")
    return any(len(parts) <= len(home) and _match(parts, home[: len(parts)]) for home in homes)


def _passes(path: str) -> bool:
    """Returns whether programs leave such a path behind by themselves."""
    return any(part.startswith(".") and part.endswith(_PASSING) for part in path.split("/"))


def _note(dropped: list[str], path: str) -> None:
    if len(dropped) < _NOTED:
        dropped.append("/" + path)


def named(name: str) -> str:
    """Returns the path that a tar member refers to, without the mark of a deletion."""
    path = posixpath.normpath(name).lstrip("/")
    folder, last = posixpath.split(path)
    if last in (".wh..wh..opq", END):
        return folder
    return posixpath.join(folder, last.removeprefix(_WHITEOUT))


def _parts(path: str) -> list[str]:
    return [part for part in posixpath.normpath(path).split("/") if part]


def _match(parts: Sequence[str], home: Sequence[str]) -> bool:
    """Returns whether a path begins with that of a home."""
    return all(fnmatch.fnmatchcase(part, pattern) for part, pattern in zip(parts, home, strict=False))


def is_ours(path: str) -> bool:
    """Returns whether a path (from the root, without a leading slash) belongs to the task or the verifier alone."""
    parts = path.split("/")
    return parts[0] in OURS or (parts[0] == "logs" and (len(parts) < 2 or parts[1] not in _LOGS))


def _file(given: tarfile.TarFile, link: tarfile.TarInfo) -> tarfile.TarInfo:
    """Returns the target of a hard link under the link's name. Raises ReadError."""
    try:
        target = given.getmember(link.linkname)
    except KeyError:
        raise tarfile.ReadError("the changes of a box hold a link to nothing") from None
    made = target.replace(name=link.name)
    made.pax_headers = {name: value for name, value in made.pax_headers.items() if name != "path"}
    return made


def merge(streams: Sequence[tuple[BinaryIO, Callable[[str, bytes], bool]]], out: BinaryIO) -> None:
    """Merges the chosen members of several change streams into one. Raises tarfile.TarError if a stream is
    truncated.
    """
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        ends: list[tarfile.TarInfo] = []
        for stream, chosen in streams:
            ended = False
            moved: dict[str, str] = {}
            with tarfile.open(fileobj=stream, mode="r:") as given:
                for member in given:
                    if posixpath.normpath(member.name) == END:
                        ends.append(member)
                        ended = True
                    elif not chosen(member.name, member.type):
                        continue
                    elif not member.islnk() or chosen(member.linkname, tarfile.REGTYPE):
                        made.addfile(member, given.extractfile(member) if member.isreg() else None)
                    elif member.linkname in moved:
                        made.addfile(member.replace(linkname=moved[member.linkname]))
                    else:  # the file's first name was not chosen, for example in a package manager's cache
                        moved[member.linkname] = member.name
                        made.addfile(_file(given, member), given.extractfile(member))
            if not ended:
                raise tarfile.ReadError("the changes of a box were cut off")
        made.addfile(ends[-1])
