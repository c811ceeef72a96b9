"""The key file. `rewarden keys` replaces it as a whole, so that a server never reads a partial file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rewarden_server.access.key_record import KeyRecord
from rewarden_server.config import ConfigError

LOOK_S = 1.0
"""Seconds between two checks of the file by a server. The check happens at the next request, before its key is looked
up."""

Stamp = tuple[int, ...]
"""A file's identity, size and times. At least one of them changes when the file is written or replaced."""


class KeyFile:
    """A key file, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stamp(self) -> Stamp | None:
        """The file's stamp, or None if it has none. A pipe has none, because it can be read only once."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        if not stat.S_ISREG(found.st_mode):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def read(self) -> list[KeyRecord]:
        """Returns all keys, in order. Raises ConfigError, naming the line."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise ConfigError(f"keys.file: {self.path} cannot be read: {error.strerror}") from None
        return Draft(self.path, data).records

    @contextlib.contextmanager
    def edit(self, *, create: bool = False) -> Iterator[Draft]:
        """Yields the file's content. If the block changes it and ends without an exception, it replaces the file.

        A lock keeps other writers out. A new file belongs to its owner alone; an existing one keeps its owner and mode,
        because the server may run as another user and must be able to read which keys are revoked. Raises ConfigError,
        naming the line, or OSError.
        """
        # A symbolic link is kept.
        path = self.path.resolve()
        with _locked(path, create) as descriptor:
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data = file.read()
            draft = Draft(self.path, data)
            yield draft
            if draft.changed:
                _replace(path, draft.data(), os.fstat(descriptor))


class Draft:
    """The lines of a key file during a change. Comments and the order of lines are kept."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Raises ConfigError, naming the line."""
        self.changed = False
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            number = data.count(b"\n", 0, error.start) + 1
            raise ConfigError(f"{path}:{number}: is not UTF-8") from None
        # Not splitlines(): it also splits at characters that editors do not treat as line ends.
        self._lines = text.removesuffix("\n").split("\n") if text else []
        self._found = [KeyRecord.parse(line, f"{path}:{number}") for number, line in enumerate(self._lines, start=1)]

    @property
    def records(self) -> list[KeyRecord]:
        """Returns all keys, in order."""
        return [record for record in self._found if record is not None]

    def get(self, name: str) -> KeyRecord | None:
        """Returns the first key of that name, or None."""
        return next((record for record in self.records if record.name == name), None)

    def add(self, record: KeyRecord) -> None:
        """Adds a key after the others."""
        self._lines.append(record.line())
        self._found.append(record)
        self.changed = True

    def replace(self, record: KeyRecord, by: KeyRecord | None) -> None:
        """Replaces a key of `records` with another, or removes it."""
        index = next(index for index, found in enumerate(self._found) if found is record)
        self.changed = True
        if by is None:
            del self._lines[index], self._found[index]
            return
        _, mark, comment = self._lines[index].partition("#")
        self._lines[index] = by.line() + (f"  {mark}{comment}" if mark else "")
        self._found[index] = by

    def data(self) -> bytes:
        """Returns the file's bytes."""
        return "".join(f"{line}\n" for line in self._lines).encode()


@contextlib.contextmanager
def _locked(path: Path, create: bool) -> Iterator[int]:
    """Yields a descriptor of the file, under an exclusive lock. If the file was replaced while this waited for the
    lock, it locks the new file instead."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(descriptor, path):
                continue
            yield descriptor
            return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Returns whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _replace(path: Path, data: bytes, old: os.stat_result) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            fresh = os.fstat(file.fileno())
            if (fresh.st_uid, fresh.st_gid) != (old.st_uid, old.st_gid):
                try:
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                except PermissionError:
                    raise ConfigError(f"{path} belongs to user {old.st_uid}: run this as them, or as root") from None
            os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
