"""The set-up for a first try: what the page says to paste, and what small models make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden_server.config import load_config
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.models.settings import ModelSettings
from tests.models import real

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/small"


def rows() -> list[dict[str, Any]]:
    """The example's rollouts."""
    return [json.loads(line) for line in (EXAMPLE / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_page_says_what_the_example_has() -> None:
    page = (ROOT / "docs/small-models.md").read_text(encoding="utf-8")
    assert f"```toml\n{(EXAMPLE / 'rewarden.toml').read_text(encoding='utf-8')}```" in page


def test_all_that_the_example_configures_is_weak_and_on_the_cpu() -> None:
    """Flake: a first try that is taken for a reward."""
    config = load_config(EXAMPLE / "rewarden.toml", environ={})
    assert config.judges.named.keys() == {"small"}
    assert config.models.named.keys() == {"vectors", "words"}
    assert all(one.weak for one in config.judges.named.values())
    assert all(one.weak and one.device == "cpu" for one in config.models.named.values())


def test_each_row_names_what_is_configured() -> None:
    config = load_config(EXAMPLE / "rewarden.toml", environ={})
    for row in rows():
        params = row["use"]["params"]
        model = params.get("model") or params.get("embedding", {}).get("model")
        assert model is None or model in config.models.named
        assert params.get("judge") in (None, *config.judges.named)


@pytest.mark.slow
@real.needs_models
async def test_small_models_give_numbers_that_are_marked_as_theirs() -> None:
    named = {"vectors": real.settings("minilm", weak=True), "words": real.settings("smollm2", weak=True)}
    engine = Engine(settings=EngineSettings(workers=1), models=ModelSettings(named=named, default="vectors"))
    await engine.start()
    try:
        found = {}
        for row in rows():
            if row["use"]["name"] == "judge":
                continue
            sample = Sample(**{name: value for name, value in row.items() if name != "use"})
            result = await engine.verify(Batch(samples=[sample], use=Use(**row["use"])))
            found[row["id"]] = result.verdicts[0]
    finally:
        await engine.close(drain_s=0)
    assert {one.status for one in found.values()} == {"scored"}
    assert (found["meaning"].score or 0) > (found["other meaning"].score or 0) + 0.2
    assert found["language"].score == 1.0
    weak = {name for name, one in found.items() if "weak_model" in one.flags}
    assert weak == {"meaning", "other meaning", "yes or no"}
