"""Blobs: content that requests refer to by its SHA-256 instead of sending it again (tests, long references, images).

A value of `Batch.shared` may be `{"$blob": "<sha256>"}`: the blob's content, read as JSON. An item of `Sample.media`
may name a blob: its bytes. When the store is full, the least recently used blob is evicted, so a caller must expect
that a blob is missing (404 for the request that needs it), and send it again.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import re
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewarden.errors import InvalidRequest, NotFound, StorageFull, TooLarge
from rewarden.types import BadSample, Media, Sample
from rewarden_server.folder_sync import sync_folder
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.intake.settings import LimitSettings
from rewarden_server.observe.logs import get_logger

MARK = "$blob"
_NAME = re.compile(r"[0-9a-f]{64}")

_log = get_logger("blobs")


def check_name(name: Any, path: str) -> str:
    """Returns the name if it can be a blob's. Raises InvalidRequest."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequest(f"{path}: a blob's name must be its SHA-256: 64 lowercase hex digits", path=path)
    return name


class Blobs:
    """The store: in memory, or as files in a folder, which outlive the process. Limited in bytes. Thread-safe enough:
    concurrent writers of one name are harmless, because equal names mean equal bytes."""

    def __init__(self, *, max_blob_bytes: int, max_bytes: int, folder: Path | None = None) -> None:
        self.max_blob_bytes = max_blob_bytes
        self._max_bytes = max_bytes
        self._folder = folder
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._memory: dict[str, bytes] = {}
        self._total = 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            found = [(path.stat().st_mtime, path) for path in folder.iterdir() if _NAME.fullmatch(path.name)]
            for _, path in sorted(found):
                self._note(path.name, path.stat().st_size)

    def __contains__(self, name: str) -> bool:
        return name in self._sizes

    def put(self, name: str, data: bytes | bytearray) -> bool:
        """Stores a blob; returns True if it is new. Raises InvalidRequest if its SHA-256 differs, TooLarge,
        StorageFull."""
        if len(data) > min(self.max_blob_bytes, self._max_bytes):
            raise TooLarge(
                f"the blob has more than {self.max_blob_bytes} bytes", limit="max_blob_bytes", most=self.max_blob_bytes
            )
        digest = hashlib.sha256(data).hexdigest()
        if digest != name:
            raise InvalidRequest(f"the content's SHA-256 is {digest}, not {name} as in the URL", sha256=digest)
        if name in self._sizes:
            self._sizes.move_to_end(name)
            return False
        if self._folder is None:
            self._memory[name] = bytes(data)
        else:
            _write(self._folder / name, data)
        self._note(name, len(data))
        return True

    def get(self, name: str) -> bytes | None:
        """Returns a blob's bytes, or None if it is not here (any more)."""
        if name not in self._sizes:
            return None
        self._sizes.move_to_end(name)
        if self._folder is None:
            return self._memory[name]
        try:
            data = (self._folder / name).read_bytes()
        except FileNotFoundError:  # somebody cleaned up the folder
            self._forget(name)
            return None
        if hashlib.sha256(data).hexdigest() != name:
            # A failing disk, or another program, changed the bytes, so they are no longer what the caller asked for.
            _log.error(
                "a blob was damaged on disk and has been removed: its content does not match its name", blob=name
            )
            self._forget(name)
            return None
        return data

    def _forget(self, name: str) -> None:
        self._total -= self._sizes.pop(name, 0)
        if self._folder is not None:
            (self._folder / name).unlink(missing_ok=True)

    def _note(self, name: str, size: int) -> None:
        self._sizes[name] = size
        self._total += size
        while self._total > self._max_bytes:
            old, freed = self._sizes.popitem(last=False)
            self._total -= freed
            self._memory.pop(old, None)
            if self._folder is not None:
                (self._folder / old).unlink(missing_ok=True)


def _write(path: Path, data: bytes | bytearray) -> None:
    """Writes a file atomically: after a power cut it is complete or absent. Raises StorageFull if the disk is full, and
    then leaves nothing behind.
    """
    written: Path | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        written = Path(temporary)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        written = written.replace(path)
        sync_folder(path.parent)  # the name is part of the folder's content, which a power cut can lose like a file's
    except OSError as error:
        if written is not None:
            written.unlink(missing_ok=True)
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise StorageFull("the disk of limits.blob_dir is full: nothing was stored; free some space") from None


def fill_shared(shared: Mapping[str, Any], blobs: Blobs, limits: LimitSettings) -> Mapping[str, Any]:
    """Returns `shared` with each `{"$blob": sha256}` replaced by that blob's JSON. Raises RequestError."""
    named = {key: value[MARK] for key, value in shared.items() if type(value) is dict and value.keys() == {MARK}}
    if not named:
        return shared
    filled = dict(shared)
    for key, name in named.items():
        path = f"shared.{key}.{MARK}"
        data = blobs.get(check_name(name, path))
        if data is None:
            raise NotFound(f"{path}: unknown blob {name}; PUT it to /v1/blobs/{name} and retry", blob=name)
        try:
            filled[key] = read_json(data, limits)
        except InvalidRequest as error:
            raise InvalidRequest(f"{path}: the blob's content is not valid: {error.message}", path=path) from None
    return filled


def fill_media(sample: Sample, blobs: Blobs) -> Sample | BadSample:
    """Returns the sample with its media's blobs filled in; a `BadSample` if one is missing."""
    media: list[Media] = []
    for index, item in enumerate(sample.media or ()):
        if item.blob is not None:
            path = f"media[{index}].blob"
            data = blobs.get(item.blob)
            if data is None:
                message = f"{path}: unknown blob {item.blob[:64]!r}; PUT it to /v1/blobs/<sha256> and retry"
                return BadSample(message=message, path=path, id=sample.id)
            item = replace(item, blob=None, base64=base64.b64encode(data).decode())
        media.append(item)
    return replace(sample, media=tuple(media))
