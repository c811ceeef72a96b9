"""Snapshots of boxes on the server's disk. Content is stored once, under its SHA-256; a record per snapshot says whose
it is and when it expires."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from rewarden.boxes.types import BoxSnapshot
from rewarden.errors import InternalError, NotFound, StorageFull, TooLarge
from rewarden_server.boxes.settings import BoxSettings

_BLOCK = 1024**2
_ID = re.compile(r"snap-[0-9a-f]{24}\Z")
_SWEEP_S = 60.0
_ORPHANED_S = 3600.0
"""The age at which a file without a snapshot counts as orphaned, in seconds; another server may still be writing a
younger one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A snapshot. expires: seconds since the epoch."""

    id: str
    owner: str
    sha256: str
    bytes: int
    image_id: str | None
    expires: float

    def told(self) -> BoxSnapshot:
        """The snapshot as callers see it."""
        return BoxSnapshot(snapshot=self.id, bytes=self.bytes, image_id=self.image_id, expires_at=self.expires)


class Snapshots:
    """The folder is created with the first snapshot. wall: seconds since the epoch."""

    def __init__(self, settings: BoxSettings, wall: Callable[[], float]) -> None:
        self._settings = settings
        self._wall = wall
        self._writing: dict[str, dict[Path, int]] = {}
        self._swept = 0.0
        self._changing = asyncio.Lock()
        """Held while records and content change together, so that both stay consistent."""

    @property
    def _folder(self) -> Path:
        return self._settings.folder / "snapshots"

    async def keep(self, pieces: AsyncIterable[bytes], owner: str, image_id: str | None) -> BoxSnapshot:
        """Stores a snapshot. Raises TooLarge beyond the key's quota, StorageFull."""
        kept = [each for each in await asyncio.to_thread(self._records) if each.owner == owner]
        if len(kept) + len(self._writing.get(owner, ())) >= self._settings.snapshots:
            most = self._settings.snapshots
            raise TooLarge(f"the key {owner!r} has {most} snapshots (boxes.snapshots); delete one", most=most)
        used = sum(each.bytes for each in kept)
        draft = self._folder / f".draft-{secrets.token_hex(8)}"
        self._writing.setdefault(owner, {})[draft] = 0
        try:
            size, digest = await self._write(draft, pieces, owner, used)
            made = Kept(
                id=f"snap-{secrets.token_hex(12)}",
                owner=owner,
                sha256=digest,
                bytes=size,
                image_id=image_id,
                expires=self._wall() + self._settings.snapshot_s,
            )
            async with self._changing:
                others = sum(each.bytes for each in await asyncio.to_thread(self._records) if each.owner == owner)
                if others + size > self._settings.snapshot_bytes:  # another one ended meanwhile
                    raise _over_quota()
                await asyncio.to_thread(self._commit, draft, made)
        except OSError as error:
            raise StorageFull(f"the snapshot cannot be stored: {error.strerror}") from None
        finally:
            del self._writing[owner][draft]
            with suppress(FileNotFoundError):
                draft.unlink()
        return made.told()

    async def find(self, id: str, owner: str) -> Kept:
        """Returns a snapshot of the owner's. Raises NotFound."""
        found = await asyncio.to_thread(self._record, id) if _ID.match(id) else None
        if found is None or found.owner != owner or found.expires <= self._wall():
            raise NotFound(f"unknown snapshot {id[:100]!r}")
        return found

    async def listed(self, owner: str) -> list[BoxSnapshot]:
        """Returns the owner's snapshots."""
        records = await asyncio.to_thread(self._records)
        now = self._wall()
        return [each.told() for each in records if each.owner == owner and each.expires > now]

    async def content(self, kept: Kept) -> AsyncGenerator[bytes, None]:
        """Yields a snapshot's bytes. Raises InternalError at the end if they differ from what was stored."""
        digest = hashlib.sha256()
        try:
            file = await asyncio.to_thread(self._blob(kept.sha256).open, "rb")
        except OSError:
            raise NotFound(f"unknown snapshot {kept.id!r}") from None
        try:
            while data := await asyncio.to_thread(file.read, _BLOCK):
                digest.update(data)
                yield data
        finally:
            file.close()
        if digest.hexdigest() != kept.sha256:
            raise InternalError(f"the snapshot {kept.id} is damaged on the server's disk")

    async def delete(self, id: str, owner: str) -> None:
        """Deletes a snapshot. Raises NotFound."""
        found = await self.find(id, owner)
        async with self._changing:
            await asyncio.to_thread(self._remove, [found])

    async def sweep(self) -> None:
        """Deletes expired snapshots, and the leftovers of a killed server; runs at most once a minute."""
        now = self._wall()
        if abs(now - self._swept) < _SWEEP_S:
            return
        self._swept = now
        records = await asyncio.to_thread(self._records)
        over = [each for each in records if each.expires <= now]
        if over:
            async with self._changing:
                await asyncio.to_thread(self._remove, over)
        async with self._changing:
            await asyncio.to_thread(self._remove_orphans, now - _ORPHANED_S)

    async def _write(self, draft: Path, pieces: AsyncIterable[bytes], owner: str, used: int) -> tuple[int, str]:
        """Attack: many snapshots at once, each of which would fit alone. Snapshots that are being written therefore
        count too."""
        size, digest = 0, hashlib.sha256()
        await asyncio.to_thread(self._folder.mkdir, 0o700, parents=True, exist_ok=True)
        writing = self._writing[owner]
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            async for piece in pieces:
                size += len(piece)
                writing[draft] = size
                if used + sum(writing.values()) > self._settings.snapshot_bytes:
                    raise _over_quota()
                digest.update(piece)
                await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(_flush, file.fileno(), file)
        return size, digest.hexdigest()

    # --- on a thread ---

    def _commit(self, draft: Path, made: Kept) -> None:
        draft.replace(self._blob(made.sha256))
        path = self._folder / f"{made.id}.json"
        half = path.with_suffix(".half")
        half.write_text(json.dumps(asdict(made)), encoding="utf-8")
        half.replace(path)

    def _remove(self, gone: list[Kept]) -> None:
        for each in gone:
            with suppress(FileNotFoundError):
                (self._folder / f"{each.id}.json").unlink()
        used = {each.sha256 for each in self._records()}
        for sha256 in {each.sha256 for each in gone} - used:
            with suppress(FileNotFoundError):
                self._blob(sha256).unlink()

    def _remove_orphans(self, before: float) -> None:
        """Deletes drafts, and content without a record, that have not been written to since then."""
        known = {f"{each.sha256}.tar" for each in self._records()}
        with suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                if path.name not in known and path.suffix != ".json":
                    with suppress(FileNotFoundError):
                        if path.stat().st_mtime < before:
                            path.unlink()

    def _record(self, id: str) -> Kept | None:
        try:
            return Kept(**json.loads((self._folder / f"{id}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _records(self) -> list[Kept]:
        return list(self._read_all())

    def _read_all(self) -> Iterator[Kept]:
        for path in self._folder.glob("snap-*.json"):
            found = self._record(path.stem)
            if found is not None:
                yield found

    def _blob(self, sha256: str) -> Path:
        return self._folder / f"{sha256}.tar"


def _over_quota() -> TooLarge:
    return TooLarge("the snapshot exceeds the key's boxes.snapshot_bytes; delete others", limit="snapshot_bytes")


def _flush(number: int, file: object) -> None:
    file.flush()  # type: ignore[attr-defined]
    os.fsync(number)
