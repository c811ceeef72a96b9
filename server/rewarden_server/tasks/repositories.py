"""The repositories that references of `swe` name: folders, Git repositories and archives on the server's disk."""

from __future__ import annotations

import os
import posixpath
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rewarden.errors import InvalidReference
from rewarden_verifiers.repositories.tree import Blob, Tree

MOST_BYTES = 512 * 1024**2
"""Bytes of a repository."""
_SYMLINK, _SUBMODULE = "120000", "160000"
_GIT = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True)
class Repositories:
    """A `rewarden_verifiers.repositories.tree.Repositories`. base: the folder below which they lie."""

    base: Path

    def read(self, name: str, commit: str | None) -> Tree:
        """See the protocol."""
        base = self.base.expanduser().resolve()
        try:
            place = (base / name).resolve()
            # Attack: a row that comes with a request reads the server's files.
            there = place != base and base in place.parents and place.exists()
        except (OSError, ValueError):  # attack: a name that is too long for a file, or contains a NUL
            there = False
        if not there:
            raise InvalidReference(f"there is no {name[:100]!r} below tasks.repositories", path="reference.folder")
        if commit is not None and place.is_dir():
            return _at_commit(place, commit)
        return _checked(dict(_members(place) if place.is_file() else _walked(place)))


@lru_cache(maxsize=2)
def _at_commit(folder: Path, commit: str) -> Tree:
    """Returns the files of a commit. They are read object by object, so that none of the repository's attributes,
    filters and hooks takes effect."""
    listed = _git(folder, "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
    rows = [entry.split(b"\t", 1) for entry in listed.split(b"\0") if entry]
    wanted = [(*head.decode().split(), os.fsdecode(path)) for head, path in rows]
    blobs = [row for row in wanted if row[0] != _SUBMODULE]
    _check_size(MOST_BYTES - sum(int(size) for _, _, _, size, _ in blobs))
    data = _git(folder, "cat-file", "--batch", given="".join(f"{row[2]}\n" for row in blobs).encode())
    made: dict[str, Blob] = {}
    at = 0
    for mode, _, _, _, path in blobs:
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        content = data[end + 1 : end + 1 + size]
        at = end + 2 + size
        made[path] = Blob(content, mode == "100755", mode == _SYMLINK)
    return _checked(made)


def _git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            input=given,
            capture_output=True,
            env={**_GIT, "GIT_CEILING_DIRECTORIES": str(folder.parent)},  # do not use a repository in a parent folder
            check=True,
            timeout=300,
        )
    except FileNotFoundError:
        raise InvalidReference("a commit needs git, which is missing on the server", path="reference.commit") from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = (error.stderr or b"").decode(errors="replace").strip()[-300:]
        raise InvalidReference(f"git cannot read the commit: {said}", path="reference.commit") from None
    return done.stdout


def _walked(folder: Path) -> Iterator[tuple[str, Blob]]:
    left = MOST_BYTES
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*names, *(name for name in folders if os.path.islink(os.path.join(place, name)))):
            path = os.path.join(place, name)
            relative = os.path.relpath(path, folder)
            if os.path.islink(path):
                yield relative, Blob(os.fsencode(os.readlink(path)), link=True)
            elif os.path.isfile(path):
                left -= os.path.getsize(path)
                _check_size(left)
                yield relative, Blob(Path(path).read_bytes(), os.access(path, os.X_OK))


def _members(path: Path) -> Iterator[tuple[str, Blob]]:
    left = MOST_BYTES
    try:
        with tarfile.open(path) as given:
            for member in given:
                name = posixpath.normpath(member.name)
                if member.issym():
                    yield name, Blob(os.fsencode(member.linkname), link=True)
                elif member.isreg():
                    left -= member.size
                    _check_size(left)
                    content = given.extractfile(member)
                    assert content is not None
                    yield name, Blob(content.read(), bool(member.mode & 0o100))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InvalidReference(f"the archive cannot be read: {error}", path="reference.folder") from None


def _check_size(left: int) -> None:
    if left < 0:
        raise InvalidReference(f"the repository has more than {MOST_BYTES} bytes", path="reference.folder")


def _checked(tree: dict[str, Blob]) -> Tree:
    """Returns the files. Raises InvalidReference if a path or a link points outside the repository."""
    for path, blob in tree.items():
        target = (
            posixpath.normpath(posixpath.join(posixpath.dirname(path), os.fsdecode(blob.data))) if blob.link else ""
        )
        outside = path.startswith("/") or ".." in path.split("/") or path.split("/")[0] == ".git"
        if outside or target.startswith(("/", "../")) or target == "..":
            raise InvalidReference(f"{path[:100]!r} leads out of the repository", path="reference.folder")
    return tree
