"""Blobs: content that requests name by its SHA-256."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from rewarden.errors import InvalidRequest, StorageFull, TooLarge
from rewarden.types import BadSample, Media, Sample
from rewarden_server.intake.blobs import Blobs, fill_media
from tests.server.conftest import Running, Start


def name_of(data: bytes) -> str:
    """A blob's name."""
    return hashlib.sha256(data).hexdigest()


def store(folder: Path | None, *, most: int = 100) -> Blobs:
    """A small store."""
    return Blobs(max_blob_bytes=60, max_bytes=most, folder=folder)


async def test_a_shared_value_may_be_a_blob(server: Running) -> None:
    data = json.dumps("A").encode()
    put = await server.http.put(f"/v1/blobs/{name_of(data)}", content=data)
    assert (put.status_code, put.json()) == (201, {"sha256": name_of(data), "bytes": 3})
    assert (await server.http.put(f"/v1/blobs/{name_of(data)}", content=data)).status_code == 200
    sample = {"response": "A", "reference_key": "k"}
    answer = await server.verify(sample, use="same", shared={"k": {"$blob": name_of(data)}})
    assert answer.json()["verdicts"][0]["score"] == 1.0


async def test_a_blob_that_is_not_here_is_404_and_named(server: Running) -> None:
    answer = await server.verify(use="same", shared={"k": {"$blob": "0" * 64}})
    assert (answer.status_code, answer.json()["error"]["details"]["blob"]) == (404, "0" * 64)


async def test_a_shared_blob_must_be_json(server: Running) -> None:
    await server.http.put(f"/v1/blobs/{name_of(b'{')}", content=b"{")
    answer = await server.verify(use="same", shared={"k": {"$blob": name_of(b"{")}})
    assert (answer.status_code, answer.json()["error"]["details"]["path"]) == (400, "shared.k.$blob")


async def test_a_shared_blob_may_not_nest_too_deep(start: Start) -> None:
    server = await start({"limits.max_depth": 8})
    data = b"[" * 20 + b"]" * 20
    await server.http.put(f"/v1/blobs/{name_of(data)}", content=data)
    assert (await server.verify(use="same", shared={"k": {"$blob": name_of(data)}})).status_code == 413


async def test_content_under_a_wrong_name_is_400(server: Running) -> None:
    for name in ("0" * 64, "x", "A" * 64):
        assert (await server.http.put(f"/v1/blobs/{name}", content=b"data")).status_code == 400


async def test_a_blob_over_the_limit_is_413(start: Start) -> None:
    server = await start({"limits.max_blob_bytes": 10})
    data = b"x" * 11
    assert (await server.http.put(f"/v1/blobs/{name_of(data)}", content=data)).status_code == 413


async def test_media_that_is_not_here_is_that_rows_error(server: Running) -> None:
    rows = [{"response": "A", "reference": "A", "media": [{"blob": "0" * 64}]}, {"response": "A", "reference": "A"}]
    verdicts = (await server.verify(*rows, use="same")).json()["verdicts"]
    assert [v["status"] for v in verdicts] == ["error", "scored"]
    assert verdicts[0]["evidence"]["path"] == "media[0].blob"


def test_media_are_filled_with_the_blobs_bytes() -> None:
    blobs = store(None)
    blobs.put(name_of(b"image"), b"image")
    filled = fill_media(Sample(response="A", media=(Media(blob=name_of(b"image")), Media(url="u"))), blobs)
    assert isinstance(filled, Sample)
    assert filled.media == (Media(base64=base64.b64encode(b"image").decode()), Media(url="u"))
    assert isinstance(fill_media(Sample(response="A", media=(Media(blob="?"),)), blobs), BadSample)


@pytest.mark.parametrize("on_disk", [False, True])
def test_the_least_recently_used_blob_goes_first(tmp_path: Path, on_disk: bool) -> None:
    blobs = store(tmp_path / "blobs" if on_disk else None)
    first, second, third = (letter * 40 for letter in (b"a", b"b", b"c"))
    blobs.put(name_of(first), first)
    blobs.put(name_of(second), second)
    assert blobs.get(name_of(first)) == first
    blobs.put(name_of(third), third)
    assert [blobs.get(name_of(data)) for data in (first, second, third)] == [first, None, third]
    if on_disk:
        assert {path.name for path in (tmp_path / "blobs").iterdir()} == {name_of(first), name_of(third)}


def test_blobs_on_disk_outlive_the_process(tmp_path: Path) -> None:
    store(tmp_path).put(name_of(b"data"), b"data")
    again = store(tmp_path)
    assert again.get(name_of(b"data")) == b"data"
    (tmp_path / name_of(b"data")).unlink()
    assert again.get(name_of(b"data")) is None
    assert name_of(b"data") not in again


def test_a_blob_must_be_what_its_name_says_and_fit() -> None:
    blobs = store(None)
    with pytest.raises(InvalidRequest):
        blobs.put("0" * 64, b"data")
    with pytest.raises(TooLarge):
        blobs.put(name_of(b"x" * 61), b"x" * 61)


@pytest.mark.parametrize("at", ["write", "fsync", "replace", "folder"])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    blobs = store(tmp_path)

    def full(*arguments: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        if at == "write":
            broken.setattr("tempfile.mkstemp", full)
        elif at == "folder":
            broken.setattr("rewarden_server.intake.blobs.sync_folder", full)
        else:
            broken.setattr(os, at, full)
        with pytest.raises(StorageFull, match="blob_dir"):
            blobs.put(name_of(b"data"), b"data")
    assert list(tmp_path.iterdir()) == []
    assert name_of(b"data") not in blobs
    assert blobs.put(name_of(b"data"), b"data")  # there is room again
    assert blobs.get(name_of(b"data")) == b"data"


def test_a_blob_is_on_disk_before_it_has_its_name_and_the_name_before_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("name"), replace(*paths)))
    store(tmp_path).put(name_of(b"data"), b"data")
    assert done == ["file", "name", "folder"]


async def test_a_full_disk_is_507(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await start({"limits.blob_dir": str(tmp_path / "blobs")})

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        answer = await server.http.put(f"/v1/blobs/{name_of(b'1')}", content=b"1")
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage_full")
    assert (await server.http.put(f"/v1/blobs/{name_of(b'1')}", content=b"1")).status_code == 201


async def test_a_blob_that_rotted_on_disk_is_absent_and_removed(start: Start, tmp_path: Path) -> None:
    server = await start({"limits.blob_dir": str(tmp_path)})
    sample = {"response": "A", "reference_key": "k"}
    name = name_of(b'"A"')
    for _ in range(2):
        assert (await server.http.put(f"/v1/blobs/{name}", content=b'"A"')).status_code == 201
        answer = await server.verify(sample, use="same", shared={"k": {"$blob": name}})
        assert answer.json()["verdicts"][0]["score"] == 1.0
        (tmp_path / name).write_bytes(b'"B"')
        answer = await server.verify(sample, use="same", shared={"k": {"$blob": name}})
        assert (answer.status_code, answer.json()["error"]["details"]["blob"]) == (404, name)
        assert not (tmp_path / name).exists()
