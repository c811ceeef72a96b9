"""`novelty` against archives that the server keeps by name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.archives import kept
from rewarden_verifiers.archives.by_name import ArchiveResources
from rewarden_verifiers.archives.kept import Keeper
from rewarden_verifiers.registry import Registry

pytestmark = pytest.mark.needs_server

FOX = "The fox crossed the frozen river at night to reach the henhouse."
BOAT = "A small boat drifted past the lighthouse before dawn."


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[Engine]:
    """An engine whose archives lie in a folder."""
    resources = {"novelty": ArchiveResources(keeper=Keeper(folder))}
    made = Engine(Registry(), EngineSettings(workers=1), warm=(), resources=resources)
    await made.start()
    try:
        yield made
    finally:
        await made.close(drain_s=0)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with started(tmp_path / "archives") as made:
        yield made


async def judged(engine: Engine, response: str, id_: str | None, name: str = "runs", **params: Any) -> Verdict:
    use = Use(name="novelty", params={"name": name, **params})
    result = await engine.verify(Batch(samples=[Sample(id=id_, response=response)], use=use))
    return result.verdicts[0]


async def test_a_response_is_known_to_those_after_it(engine: Engine) -> None:
    first, other, copy = [
        await judged(engine, text, id_) for text, id_ in ((FOX, "a"), (BOAT, "b"), (FOX.upper(), "c"))
    ]
    assert first.score == 1
    assert other.score is not None
    assert other.score > 0.8
    assert (copy.score, copy.reason) == (0, "known")


async def test_a_verdict_says_that_it_depends_on_what_was_judged_before(engine: Engine) -> None:
    first, second = [await judged(engine, FOX, id_) for id_ in ("a", "b")]
    assert "kept_archive" in first.flags
    assert "kept_archive" in second.flags
    archives = [verdict.evidence["archive"] for verdict in (first, second)]
    assert [archive["size"] for archive in archives] == [0, 1]
    assert archives[0]["digest"] != archives[1]["digest"]
    assert archives[0]["name"] == "runs"
    assert not second.cached


async def test_a_retry_is_not_its_own_copy(engine: Engine) -> None:
    verdicts = [await judged(engine, FOX, "a") for _ in range(3)]
    assert [verdict.score for verdict in verdicts] == [1, 1, 1]
    assert verdicts[2].evidence["archive"]["size"] == 0


async def test_archives_of_other_names_are_apart(engine: Engine) -> None:
    verdicts = [await judged(engine, FOX, id_, name) for id_, name in (("a", "one"), ("b", "two"))]
    assert [verdict.score for verdict in verdicts] == [1, 1]


async def test_what_scores_nothing_is_not_kept(engine: Engine) -> None:
    for place, text in enumerate(["", "Thought process:", "zor blim frot snarl " * 9, "<think>never closed"]):
        await judged(engine, text, f"bad-{place}")
    assert (await judged(engine, FOX, "a")).evidence["archive"]["size"] == 0


async def test_a_sample_without_an_id_is_refused(engine: Engine) -> None:
    verdict = await judged(engine, FOX, None)
    assert (verdict.status, verdict.fault, verdict.reason) == ("error", "caller", "invalid_sample")


async def test_a_folder_that_cannot_be_used_is_nobodys_score(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with started(tmp_path / "file" / "archives") as engine:
        verdict = await judged(engine, FOX, "a")
    assert (verdict.status, verdict.fault, verdict.score) == ("error", "infra", None)


def test_an_archive_forgets_its_oldest_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_TEXTS", 3)
    keeper = Keeper(tmp_path)
    for place in range(5):
        keeper.add("runs", f"{place}", f"text {place}")
    assert keeper.texts("runs", "", "") == ["text 2", "text 3", "text 4"]
    monkeypatch.setattr(kept, "MOST_CHARACTERS", 12)
    keeper.add("runs", "5", "text 5")
    assert keeper.texts("runs", "", "") == ["text 4", "text 5"]


def test_a_server_forgets_the_archive_that_was_added_to_longest_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_ARCHIVES", 2)
    keeper = Keeper(tmp_path)
    for archive, text in (("one", "a"), ("two", "b"), ("one", "c"), ("three", "d")):
        keeper.add(archive, text, text)
    assert [keeper.texts(archive, "", "") for archive in ("one", "two", "three")] == [["a", "c"], [], ["d"]]


def test_the_same_sample_with_another_text_is_another_entry(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.add("runs", "a", "one")
    keeper.add("runs", "a", "one")
    keeper.add("runs", "a", "two")
    assert keeper.texts("runs", "a", "two") == ["one"]
    assert keeper.texts("runs", "b", "two") == ["one", "two"]
