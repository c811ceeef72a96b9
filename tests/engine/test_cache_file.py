"""The cache's file: it saves work, and nothing that becomes of it costs a verdict."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from rewarden_server.engine import cache
from tests.engine.conftest import Make, Recorder, verdicts_of


class Failures(Recorder):
    """Counts what the cache's file did not take."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[str] = []

    def cache_failed(self, place: str) -> None:
        self.failures.append(place)


@pytest.fixture
def make(make_engine: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr("tests.engine.conftest.Recorder", Failures)
    monkeypatch.setattr(cache._Disk, "_BATCH", 1)
    return make_engine


async def test_a_file_that_another_process_writes_costs_no_verdict(make: Make, tmp_path: Path) -> None:
    engine = await make(cache_dir=tmp_path)
    other = sqlite3.connect(tmp_path / "outcomes.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert (await verdicts_of(engine, ["yes while it is locked"]))[0].score == 1.0
    assert isinstance(engine.observer, Failures)
    assert engine.observer.failures == ["file"]
    other.execute("ROLLBACK")
    await verdicts_of(engine, ["yes, free again"])
    assert other.execute("SELECT count(*) FROM outcomes").fetchone() == (1,)
    other.close()


async def test_nobody_else_on_the_machine_reads_the_file(make: Make, tmp_path: Path) -> None:
    first = await make(cache_dir=tmp_path / "new")
    await verdicts_of(first, ["yes"])
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert modes == dict.fromkeys(("outcomes.sqlite", "outcomes.sqlite-wal", "outcomes.sqlite-shm"), 0o600)
    (tmp_path / "outcomes.sqlite").touch(mode=0o644)  # as it was made before
    await make(cache_dir=tmp_path)
    assert not (tmp_path / "outcomes.sqlite").stat().st_mode & stat.S_IRWXO


async def test_a_file_that_is_full_costs_no_verdict(make: Make, tmp_path: Path) -> None:
    engine = await make(cache_dir=tmp_path)
    assert engine.dispatch.cache is not None
    assert engine.dispatch.cache._disk is not None
    engine.dispatch.cache._disk._base.execute("PRAGMA max_page_count=1")
    for number in range(3):
        (verdict,) = await verdicts_of(engine, [f"yes {number} " + "x" * 10_000])
        assert verdict.score == 1.0


@pytest.mark.parametrize("damage", [b"", b"\xff", b"[1]", b'{"status": "scored", "score": "much"}', "no bytes", None])
async def test_an_outcome_that_cannot_be_read_is_not_known(make: Make, tmp_path: Path, damage: object) -> None:
    first = await make(cache_dir=tmp_path)
    await verdicts_of(first, ["yes"])
    await first.close()
    with sqlite3.connect(tmp_path / "outcomes.sqlite") as base:
        assert base.execute("UPDATE outcomes SET outcome = ?", (damage,)).rowcount == 1
    base.close()
    (verdict,) = await verdicts_of(await make(cache_dir=tmp_path), ["yes"])
    assert (verdict.score, verdict.cached) == (1.0, False)
