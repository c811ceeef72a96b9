"""The set-up for a first try: what the page says to paste, and what small models make of it."""

from __future__ import annotations

import json
from itertools import chain
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
LACKING = real.lacking("minilm", "smollm2", "minilm-tone")


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
    assert config.models.named.keys() == {"vectors", "words", "tone"}
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
@pytest.mark.skipif(bool(LACKING), reason=str(LACKING))
async def test_small_models_give_numbers_that_are_marked_as_theirs() -> None:
    folders = {"vectors": "minilm", "words": "smollm2", "tone": "minilm-tone"}
    named = {name: real.settings(folder, weak=True) for name, folder in folders.items()}
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
    assert (found["praise"].score or 0) > 0.6
    assert (found["complaint"].score or 1) < 0.4
    weak = {name for name, one in found.items() if "weak_model" in one.flags}
    assert weak == {"meaning", "other meaning", "yes or no", "praise", "complaint"}


HELD: dict[str, list[str]] = {
    "positive": [
        "The hotel was splendid and the breakfast generous.",
        "I really like how light this laptop is.",
        "Our teacher is kind and makes hard things simple.",
        "The concert was a triumph, and the crowd cheered.",
        "My order arrived quickly and was well packed.",
        "The view from the tower is breathtaking.",
        "Your advice saved me hours, thank you!",
        "The app works without a hitch and looks good.",
        "A moving story, beautifully told.",
        "The tomatoes were ripe and sweet.",
        "I was pleased to see how much he had improved.",
        "They fixed the heating the same day, and it was cheap.",
    ],
    "negative": [
        "The hotel was shabby and the breakfast stale.",
        "I really dislike how heavy this laptop is.",
        "Our teacher is impatient and makes simple things hard.",
        "The concert was a disaster, and the crowd booed.",
        "My order never arrived and nobody replied.",
        "The view from the tower is ruined by smog.",
        "Your advice cost me hours, and it was wrong.",
        "The app freezes and looks ugly.",
        "A tiresome story, badly told.",
        "The tomatoes were rotten and bitter.",
        "I was upset to see how much he had declined.",
        "They left the heating broken for weeks, and charged a fortune.",
    ],
}
"""Sentences that the head for the tone was not fitted on; the page says how many of them it gets right."""


def test_the_tone_is_held_against_sentences_that_it_was_not_fitted_on() -> None:
    fitted = json.loads((ROOT / "scripts/tone.json").read_text(encoding="utf-8"))
    assert not set(chain(*fitted.values())) & set(chain(*HELD.values()))
    assert {label: len(texts) for label, texts in fitted.items()} == {"positive": 30, "negative": 30}


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason=str(LACKING))
async def test_the_tone_of_plain_sentences_is_mostly_told_apart() -> None:
    named = {"tone": real.settings("minilm-tone", weak=True)}
    engine = Engine(settings=EngineSettings(workers=1), models=ModelSettings(named=named, default="tone"))
    await engine.start()
    try:
        right = 0
        for label, texts in HELD.items():
            use = Use(name="style_metric", params={"label": label})
            batch = Batch(samples=[Sample(response=text) for text in texts], use=use)
            right += sum((one.score or 0) > 0.5 for one in (await engine.verify(batch)).verdicts)
    finally:
        await engine.close(drain_s=0)
    assert right >= 19, "20 of 24, but for a sentence on the edge"
