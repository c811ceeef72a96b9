"""Snapshots on the server's disk: whole or not at all, whose they are, and how long they stay."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rewarden.errors import InternalError, NotFound, TooLarge
from rewarden_server.boxes.settings import BoxSettings
from rewarden_server.boxes.snapshots import Snapshots
from tests.server.clock import Clock


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    """A snapshot as a host sends it."""
    for each in data:
        yield each


def store(folder: Path, clock: Clock, **settings: int) -> Snapshots:
    """A store in a folder."""
    return Snapshots(BoxSettings(dir=folder, **settings), clock)  # type: ignore[arg-type]


async def content(snapshots: Snapshots, id: str, owner: str = "a") -> bytes:
    """A snapshot's bytes."""
    return b"".join([piece async for piece in snapshots.content(await snapshots.find(id, owner))])


async def test_a_snapshot_outlives_its_server_and_only_its_key_finds_it(tmp_path: Path) -> None:
    clock = Clock()
    made = await store(tmp_path, clock).keep(pieces(b"ab", b"c"), "a", "image-1")
    assert (made.bytes, made.image_id) == (3, "image-1")
    again = store(tmp_path, clock)
    assert await content(again, made.snapshot) == b"abc"
    with pytest.raises(NotFound):
        await again.find(made.snapshot, "b")
    assert [each.snapshot for each in await again.listed("a")] == [made.snapshot]
    assert await again.listed("b") == []


async def test_equal_content_is_stored_once_and_goes_with_the_last_snapshot(tmp_path: Path) -> None:
    snapshots = store(tmp_path, Clock())
    first = await snapshots.keep(pieces(b"abc"), "a", None)
    second = await snapshots.keep(pieces(b"a", b"bc"), "b", None)
    assert len(list(tmp_path.rglob("*.tar"))) == 1
    await snapshots.delete(first.snapshot, "a")
    assert await content(snapshots, second.snapshot, "b") == b"abc"
    await snapshots.delete(second.snapshot, "b")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_a_key_keeps_so_many_bytes_and_so_many_snapshots(tmp_path: Path) -> None:
    snapshots = store(tmp_path, Clock(), snapshot_bytes=10, snapshots=2)
    await snapshots.keep(pieces(b"123456"), "a", None)
    with pytest.raises(TooLarge, match="snapshot_bytes"):
        await snapshots.keep(pieces(b"1234", b"5"), "a", None)
    await snapshots.keep(pieces(b"1234"), "a", None)
    with pytest.raises(TooLarge, match=r"boxes\.snapshots"):
        await snapshots.keep(pieces(b""), "a", None)
    await snapshots.keep(pieces(b"1234567890"), "b", None)
    assert not list(tmp_path.rglob(".draft*"))


async def test_snapshots_that_are_taken_at_once_count_together(tmp_path: Path) -> None:
    half, go = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"123456"
        half.set()
        await go.wait()

    snapshots = store(tmp_path, Clock(), snapshot_bytes=10)
    first = asyncio.create_task(snapshots.keep(slow(), "a", None))
    await half.wait()
    with pytest.raises(TooLarge):
        await snapshots.keep(pieces(b"12345"), "a", None)
    go.set()
    assert (await first).bytes == 6


async def test_a_snapshot_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise RuntimeError("the host died")

    snapshots = store(tmp_path, Clock())
    with pytest.raises(RuntimeError):
        await snapshots.keep(broken(), "a", None)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_a_snapshot_expires(tmp_path: Path) -> None:
    clock = Clock()
    snapshots = store(tmp_path, clock, snapshot_s=100)
    made = await snapshots.keep(pieces(b"abc"), "a", None)
    assert made.expires_at == clock.now + 100
    clock.now += 99
    await snapshots.sweep()
    assert await content(snapshots, made.snapshot) == b"abc"
    clock.now += 61
    with pytest.raises(NotFound):
        await snapshots.find(made.snapshot, "a")
    await snapshots.sweep()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_what_a_killed_server_left_goes(tmp_path: Path) -> None:
    clock = Clock()
    snapshots = store(tmp_path, clock)
    made = await snapshots.keep(pieces(b"abc"), "a", None)
    (folder,) = {path.parent for path in tmp_path.rglob("*.tar")}
    for name, age in ((".draft-0", 7200), ("f" * 64 + ".tar", 7200), ("snap-0.half", 7200), (".draft-1", 60)):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (clock.now - age,) * 2)
    await snapshots.sweep()
    assert {path.name for path in folder.iterdir()} >= {".draft-1", f"{made.snapshot}.json"}
    assert len(list(folder.iterdir())) == 3
    assert await content(snapshots, made.snapshot) == b"abc"


async def test_damage_on_the_disk_is_noticed(tmp_path: Path) -> None:
    snapshots = store(tmp_path, Clock())
    made = await snapshots.keep(pieces(b"abc"), "a", None)
    (blob,) = tmp_path.rglob("*.tar")
    blob.write_bytes(b"abd")
    with pytest.raises(InternalError, match="damaged"):
        await content(snapshots, made.snapshot)


@pytest.mark.parametrize("id", ["", "snap-", "../secret", "snap-" + "0" * 24, "snap-" + "0" * 24 + "/../x", "snap-Z"])
async def test_an_id_that_is_none_is_not_found(tmp_path: Path, id: str) -> None:
    with pytest.raises(NotFound):
        await store(tmp_path, Clock()).find(id, "a")
