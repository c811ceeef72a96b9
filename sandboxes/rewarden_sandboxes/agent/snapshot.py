"""Snapshots, which carry the files of a compilation from one room to the next: the regular files of a working folder in
one memory file.

Format: the files' bytes, concatenated; a JSON index of (path, mode, offset, length); the length of the index as `>Q`.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import struct
from collections.abc import Iterator, Sequence

_FILES = 4096
_DEPTH = 16
_FOLDERS = 256


def take(folder: int, paths: Sequence[str], most: int) -> int:
    """Copies the regular files below an open folder, or only those named, into a memory file; `name/` names a folder
    with all its content. Returns the descriptor. Raises OSError.

    The room must be dead: its files were made by hostile code, which must not swap a file for a link during the copy.
    Links, devices and pipes are skipped, and no link is followed. `most`: the most bytes of all files together.
    """
    entries: list[tuple[str, int, int, int]] = []
    body = os.memfd_create("kept", os.MFD_CLOEXEC)
    size = 0
    try:
        for path, number in _regular(folder, paths):
            try:
                about = os.fstat(number)
                length = about.st_size
                if size + length > most or len(entries) >= _FILES:
                    raise OSError(errno.EFBIG, f"the files to keep are more than {most} bytes or {_FILES} files")
                offset = 0
                while offset < length:
                    offset += os.sendfile(body, number, offset, length - offset) or length
                entries.append((path, about.st_mode & 0o777, size, length))
                size += length
            finally:
                os.close(number)
        index = json.dumps(entries).encode("utf-8", "surrogateescape")
        os.write(body, index)
        os.write(body, struct.pack(">Q", len(index)))
    except BaseException:
        os.close(body)
        raise
    return body


def _regular(root: int, paths: Sequence[str]) -> Iterator[tuple[str, int]]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    wanted = set(paths)
    folders = tuple(path for path in paths if path.endswith("/"))
    pending: list[tuple[str, int, int]] = [("", os.dup(root), 0)]
    while pending:
        prefix, folder, depth = pending.pop()
        try:
            for entry in sorted(os.listdir(folder)):
                path = prefix + entry
                try:
                    path.encode()
                    number = os.open(entry, flags, dir_fd=folder)
                except (OSError, UnicodeEncodeError):
                    continue
                mode = os.fstat(number).st_mode
                if stat.S_ISDIR(mode) and depth < _DEPTH and len(pending) < _FOLDERS:
                    pending.append((path + "/", number, depth + 1))
                elif stat.S_ISREG(mode) and (not wanted or path in wanted or path.startswith(folders)):
                    yield path, number
                else:
                    os.close(number)
        except FileNotFoundError:
            continue  # the program removed the folder
        finally:
            os.close(folder)


def index(number: int) -> list[tuple[str, int, int, int]]:
    """Returns the index of a memory file that `take` made: (path, mode, offset, length)."""
    end = os.fstat(number).st_size
    (length,) = struct.unpack(">Q", os.pread(number, 8, end - 8))
    entries = json.loads(os.pread(number, length, end - 8 - length))
    return [(path, mode, offset, size) for path, mode, offset, size in entries]


def unpack(number: int) -> None:
    """Writes the files of a memory file that `take` made into the current folder. Raises OSError."""
    for path, mode, offset, length in index(number):
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode | 0o600)
        try:
            end = offset + length
            while offset < end:
                sent = os.sendfile(made, number, offset, end - offset)
                if not sent:
                    raise OSError(errno.ENOSPC, "the kept files do not fit")
                offset += sent
        finally:
            os.close(made)
