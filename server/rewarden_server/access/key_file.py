"""The key file: read whole by the server, and replaced whole by `rewarden keys`: no server ever sees a part of it."""

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
"""Seconds between two looks of a server at the file. The next request looks, before its own key is checked."""

Stamp = tuple[int, ...]
"""A file's identity, size and times, of which one at least differs when it was written or replaced."""


class KeyFile:
    """A key file, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stamp(self) -> Stamp | None:
        """The file's stamp, or None where there is none to be had. A pipe has none: it can be read only once."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        if not stat.S_ISREG(found.st_mode):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def read(self) -> list[KeyRecord]:
        """Every key, in order. Raises ConfigError, naming the line."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise ConfigError(f"keys.file: {self.path} cannot be read: {error.strerror}") from None
        return Draft(self.path, data).records

    @contextlib.contextmanager
    def edit(self, *, create: bool = False) -> Iterator[Draft]:
        """The file's content, which takes its place when the block ends without an exception and has changed it.

        No other writer gets in between. A new file is its owner's alone; one that was there keeps its owner and its
        mode, since the server may be another user and must be able to read what is revoked. Raises ConfigError, naming
        the line; OSError.
        """
        # A link stays a link.
        path = self.path.resolve()
        with _locked(path, create) as descriptor:
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data = file.read()
            draft = Draft(self.path, data)
            yield draft
            if draft.changed:
                _replace(path, draft.data(), os.fstat(descriptor))


class Draft:
    """The lines of a key file while they are changed. Comments and the order of lines are kept."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Raises ConfigError, naming the line."""
        self.changed = False
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            number = data.count(b"\n", 0, error.start) + 1
            raise ConfigError(f"{path}:{number}: is not UTF-8") from None
        # Not splitlines(): it breaks lines at characters that editors do not count as line ends.
        self._lines = text.removesuffix("\n").split("\n") if text else []
        self._found = [KeyRecord.parse(line, f"{path}:{number}") for number, line in enumerate(self._lines, start=1)]

    @property
    def records(self) -> list[KeyRecord]:
        """Every key, in order."""
        return [record for record in self._found if record is not None]

    def get(self, name: str) -> KeyRecord | None:
        """The first key of that name."""
        return next((record for record in self.records if record.name == name), None)

    def add(self, record: KeyRecord) -> None:
        """Add a key behind the others."""
        self._lines.append(record.line())
        self._found.append(record)
        self.changed = True

    def replace(self, record: KeyRecord, by: KeyRecord | None) -> None:
        """Put a key in the place of one that `records` has, or nothing."""
        index = next(index for index, found in enumerate(self._found) if found is record)
        self.changed = True
        if by is None:
            del self._lines[index], self._found[index]
            return
        _, mark, comment = self._lines[index].partition("#")
        self._lines[index] = by.line() + (f"  {mark}{comment}" if mark else "")
        self._found[index] = by

    def data(self) -> bytes:
        """The file's bytes."""
        return "".join(f"{line}\n" for line in self._lines).encode()


@contextlib.contextmanager
def _locked(path: Path, create: bool) -> Iterator[int]:
    """A descriptor of the file, held by nobody else. A lock is one of the file that lies there now: who waited for that
    of one which was replaced meanwhile tries again."""
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
