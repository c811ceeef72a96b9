"""The labelled sets: append-only, and judged at least as well as when they were last looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.scorecard import load_rows, score
from rewarden_verifiers.group.statistics import wilson
from tests.programs import SANDBOXED, no_sandbox
from tests.scorecard import manifest

FILES = sorted(manifest.FOLDER.glob("*.jsonl"))

LEAST = {"math": 150, "choice": 60, "format": 60, "group_stats": 60, "consensus": 60, "code": 60}
"""Rows that a labelled set has at least."""


def test_the_sets_are_append_only() -> None:
    assert manifest.moved(json.loads(manifest.MANIFEST.read_text(encoding="utf-8")), manifest.current()) == []


def test_every_row_is_in_the_manifest() -> None:
    assert json.loads(manifest.MANIFEST.read_text(encoding="utf-8")) == manifest.current()


@pytest.mark.parametrize("name", sorted(LEAST))
def test_every_verifier_has_its_labelled_rows(name: str) -> None:
    assert len(load_rows(manifest.FOLDER / f"{name}.jsonl")) >= LEAST[name]


@pytest.mark.needs_server
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_the_labelled_rows_are_judged_right(path: Path) -> None:
    if path.stem in SANDBOXED and (problem := no_sandbox()) is not None:
        pytest.skip(problem)
    engine = Engine(settings=EngineSettings(workers=2))
    await engine.start()
    try:
        card = await score(engine, path.stem, load_rows(path))
    finally:
        await engine.close()
    assert [(row, label, verdict.status, verdict.score) for row, label, verdict, _ in card.misses] == []


def test_the_interval_is_wilsons() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (0.0, 1.0)
