"""Weights that do not fit beside the old ones: these are dropped first, and come back if the new ones cannot be loaded.

The engines are scripted; what waits, ends and is loaded in which order is `HostedModel`'s.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest
import pytest_asyncio

from rewarden_models import room
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.hosted_model import HostedModel
from rewarden_models.room import fits_beside
from rewarden_verifiers.inference import About, Task

NO_TASK: Any = object()


def weights(folder: Path, dtype: str = "F32", numbers: int = 1000) -> str:
    """A folder with one tensor, whose bytes take no room on the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    size = numbers * {"F32": 4, "BF16": 2, "U8": 1}[dtype]
    header = json.dumps({"w": {"dtype": dtype, "shape": [numbers], "data_offsets": [0, size]}}).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)
    return str(folder)


class TestWhatFits:
    """1,000 float32 numbers take 4,000 bytes."""

    @pytest.mark.parametrize(
        ("free", "dtype", "setting", "fits"),
        [
            (4000, "F32", "auto", True),
            (3999, "F32", "auto", False),
            (3999, "BF16", "auto", False),  # float32 on a CPU
            (2000, "F32", "bfloat16", True),
            (1000, "U8", "float32", True),  # integers stay what they are
            (None, "F32", "auto", True),
        ],
    )
    def test_by_the_bytes_that_the_numbers_take_once_loaded(
        self, free: int | None, dtype: str, setting: Any, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(room, "available", lambda device: free)
        before = ModelEndpoint(model=weights(tmp_path / "old"))
        new = ModelEndpoint(model=weights(tmp_path / "new", dtype), dtype=setting, device="cpu")
        assert fits_beside("m", before, new) is fits

    def test_what_does_not_fit_in_the_place_of_the_old_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(room, "available", lambda device: 1000)
        before = ModelEndpoint(model=weights(tmp_path / "old"), device="cpu")
        new = ModelEndpoint(model=weights(tmp_path / "new", numbers=1251), device="cpu")
        with pytest.raises(Failure, match="the old ones are kept") as found:
            fits_beside("m", before, new)
        assert (found.value.kind, found.value.details) == ("memory", {"needed": 5004, "free": 1000})

    def test_another_engine_keeps_its_weights_itself(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(room, "available", lambda device: 0)
        settings = ModelEndpoint(model=weights(tmp_path / "new"), backend="vllm", address="http://127.0.0.1:1")
        assert fits_beside("m", settings, settings)

    def test_a_damaged_file_counts_by_its_size(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(room, "available", lambda device: 99)
        (tmp_path / "model.safetensors").write_bytes(b"x" * 100)
        settings = ModelEndpoint(model=str(tmp_path), device="cpu")
        assert not fits_beside("m", settings, settings)


class Scripted:
    """An engine of the weights called `loaded`, whose tasks end when they are told to."""

    alive: ClassVar[list[str]] = []
    kinds: Sequence[str] = ("classify",)

    def __init__(self, name: str, settings: ModelEndpoint, loaded: str) -> None:
        self.loaded = loaded
        self.end = asyncio.Event()
        self.alive.append(loaded)
        if loaded == "worse":
            self.kinds = ("embed",)

    async def run(self, task: Task[Any]) -> Any:
        await self.end.wait()
        return self.loaded

    def about(self) -> About:
        return About(model="m", version=self.loaded, kinds=self.kinds, context=10)

    def swap(self, loaded: Any) -> None:
        raise AssertionError("there is no room for both")

    def status(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self.alive.remove(self.loaded)


class Loads:
    """Notes which weights were in memory at each load; fails for those in `broken`."""

    def __init__(self) -> None:
        self.beside: list[tuple[str, list[str]]] = []
        self.broken: set[str] = set()

    def __call__(self, name: str, settings: ModelEndpoint) -> str:
        loaded = Path(settings.model).name
        self.beside.append((loaded, list(Scripted.alive)))
        if loaded in self.broken:
            raise Failure("loading", f"{loaded} is broken")
        return loaded


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    monkeypatch.setattr(Scripted, "alive", [])
    monkeypatch.setattr(room, "available", lambda device: 0)
    return Loads()


@pytest_asyncio.fixture
async def hosted(loads: Loads, tmp_path: Path) -> AsyncIterator[HostedModel]:
    """A model `old` that is loaded, on a machine with room for one."""
    settings = ModelEndpoint(model=weights(tmp_path / "old"), reload_from=(str(tmp_path),), device="cpu")
    with ThreadPoolExecutor(1) as thread:
        made = HostedModel("m", settings, thread, load=loads, make=Scripted)
        made.start()
        while made.loading:
            await asyncio.sleep(0)
        yield made


def engine_of(hosted: HostedModel) -> Scripted:
    assert isinstance(hosted._engine, Scripted)
    return hosted._engine


async def test_work_under_way_ends_with_the_old_weights_and_what_comes_waits_for_the_new(
    hosted: HostedModel, loads: Loads, tmp_path: Path
) -> None:
    old = engine_of(hosted)
    early = asyncio.create_task(hosted.run(NO_TASK))
    await asyncio.sleep(0)  # it has begun
    reload = asyncio.create_task(hosted.reload(weights(tmp_path / "new"), None))
    while not hosted.loading:
        await asyncio.sleep(0)
    late = asyncio.create_task(hosted.run(NO_TASK))
    assert hosted.status() == {"state": "loading"}
    old.end.set()
    assert await early == "old"
    assert (await reload).version == "new"
    engine_of(hosted).end.set()
    assert await late == "new"
    assert loads.beside == [("old", []), ("new", [])]
    assert Scripted.alive == ["new"]
    assert hosted.place.model == str(tmp_path / "new")


async def test_the_old_weights_come_back_if_the_new_ones_cannot_be_loaded(
    hosted: HostedModel, loads: Loads, tmp_path: Path
) -> None:
    loads.broken = {"new"}
    with pytest.raises(Failure, match="new is broken; the old weights were loaded again") as found:
        await hosted.reload(weights(tmp_path / "new"), None)
    assert found.value.kind == "loading"
    engine_of(hosted).end.set()
    assert await hosted.run(NO_TASK) == "old"
    assert hosted.status()["state"] == "ready"


async def test_the_old_weights_come_back_if_the_new_ones_can_do_less(hosted: HostedModel, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="could classify; the new one can embed; the old weights were loaded") as found:
        await hosted.reload(weights(tmp_path / "worse"), None)
    assert found.value.kind == "unsupported"
    assert Scripted.alive == ["old"]
    assert hosted.status()["about"].version == "old"


async def test_whoever_waits_is_told_if_neither_can_be_loaded(
    hosted: HostedModel, loads: Loads, tmp_path: Path
) -> None:
    old, loads.broken = engine_of(hosted), {"new", "old"}
    early = asyncio.create_task(hosted.run(NO_TASK))
    await asyncio.sleep(0)  # it has begun
    reload = asyncio.create_task(hosted.reload(weights(tmp_path / "new"), None))
    while not hosted.loading:
        await asyncio.sleep(0)
    late = asyncio.create_task(hosted.run(NO_TASK))
    await asyncio.sleep(0)  # it waits
    old.end.set()
    assert await early == "old"
    for asked, said in ((reload, "new is broken"), (late, "old is broken")):
        with pytest.raises(Failure, match=said):
            await asked
    assert hosted.status()["state"] == "failed"


async def test_weights_that_fit_beside_the_old_are_swapped_without_a_pause(
    hosted: HostedModel, loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "available", lambda device: 4000)
    monkeypatch.setattr(Scripted, "swap", lambda self, loaded: setattr(self, "loaded", loaded))
    assert (await hosted.reload(weights(tmp_path / "new"), None)).version == "new"
    assert loads.beside == [("old", []), ("new", ["old"])]
