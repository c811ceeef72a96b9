"""Tunix's reward manager calls the plain reward function."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters.plain import reward
from tests.adapters.conftest import Start


def test_it_has_a_name_and_takes_what_tunix_passes() -> None:
    """Tunix logs a function's rewards under its name, and reads its own settings from the signature."""
    score = reward("math")
    assert score.__name__ == "rewarden"
    assert [*inspect.signature(score).parameters] == ["prompts", "completions", "columns"]


@pytest.fixture
def managers() -> Any:
    """Tunix's reward managers, with the configuration of an algorithm."""
    return pytest.importorskip("tunix.rl.reward_manager", reason="google-tunix is not installed")


def manager(managers: Any, **settings: Any) -> Any:
    """A manager as the GRPO learner makes it."""
    from tunix.rl.algorithm_config import AlgorithmConfig

    return managers.SequenceRewardManager([reward("math", patience_s=0, **settings)], AlgorithmConfig())


async def test_tunix_own_manager_calls_it(start: Start, managers: Any) -> None:
    import numpy as np

    target = (await start()).serving.http
    prompts, completions = ["?"] * 3, ["\\boxed{72}", "\\boxed{71}", "It is seventy-"]
    answers = np.array(["72", b"72", "72"], dtype=object)
    told = await asyncio.to_thread(manager(managers, target=target), prompts, completions, answer=answers)
    assert told["rewards"].tolist() == [1.0, 0.0, 0.0]
    assert told["log_metrics"]["rewards/rewarden"][0].tolist() == [1.0, 0.0, 0.0]


async def test_a_sample_without_a_score_raises(start: Start, managers: Any) -> None:
    """Tunix sums rewards without NaN, so NaN is no way to leave one out."""
    target = (await start()).serving.http
    columns = {"answer": ["72", "\\frac{"]}
    with pytest.raises(NoScore):
        await asyncio.to_thread(manager(managers, target=target), ["?"] * 2, ["\\boxed{72}"] * 2, **columns)
