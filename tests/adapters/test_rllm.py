"""rLLM's evaluator: what it reads of an episode, and what rLLM's own code makes of it."""

from __future__ import annotations

import asyncio
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from rewarden.adapters import NoScore, Settings
from rewarden.adapters.rllm import episode_sample, response_of, reward
from rewarden.errors import InvalidRequest
from tests.adapters.conftest import Start

WHY = "rLLM is not on PyPI; put a checkout on the path"


def episode(*said: Any, output: Any = None, reason: str | None = None, **artifacts: Any) -> Any:
    """An episode whose last trajectory has steps with these messages of the model."""
    steps = [SimpleNamespace(output=None, model_response=text) for text in said]
    last = SimpleNamespace(output=output, steps=steps)
    ended = None if reason is None else SimpleNamespace(value=reason)
    return SimpleNamespace(artifacts=artifacts, trajectories=[last], termination_reason=ended)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (episode("first", "last"), "last"),
        (episode("last", ""), "last"),  # a turn that only called a tool
        (episode("said", output="output"), "output"),
        (episode("said", answer=72), "72"),
        (SimpleNamespace(artifacts={}, trajectories=[]), ""),
    ],
)
def test_the_response_is_the_one_that_rllm_reads(given: Any, text: str) -> None:
    assert response_of(given) == text


def test_a_task_sends_its_instruction_and_metadata() -> None:
    task = SimpleNamespace(instruction="8·9?", metadata={"ground_truth": "72", "data_source": "sums", "level": 3})
    sample = episode_sample(task, episode("\\boxed{72}"), Settings.read(metadata=["level"]))
    assert (sample.response, sample.prompt, sample.reference) == ("\\boxed{72}", "8·9?", "72")
    assert (sample.data_source, sample.metadata, sample.finish_reason) == ("sums", {"level": 3}, None)
    cut = episode_sample(task, episode("7", reason="max_response_length_exceeded"), Settings.read())
    assert cut.finish_reason == "length"


def test_groups_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="one episode"):
        reward("math", group="uid")


async def test_rllms_own_code_evaluates_with_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator of a dataset's `import_path`, and of an instance that a trainer is given."""
    resolution = pytest.importorskip("rllm.eval._resolution", reason=WHY)
    from rllm.types import Episode, Step, Task, Trajectory

    monkeypatch.setenv("REWARDEN_TARGET", (await start()).serving.http)
    monkeypatch.setenv("REWARDEN_USE", "math")
    monkeypatch.setenv("REWARDEN_PATIENCE_S", "0")
    named = {"import_path": "rewarden.adapters.rllm:evaluate"}
    given = pickle.loads(pickle.dumps(reward()))  # noqa: S301 - written here
    task = Task(id="1", instruction="8·9?", metadata={"ground_truth": "72"})
    for evaluator in (resolution._resolve_evaluator(task, None, "import", named), given):
        for text, score in (("\\boxed{72}", 1.0), ("\\boxed{71}", 0.0)):
            ended = Episode(trajectories=[Trajectory(steps=[Step(model_response=text)])])
            found = await asyncio.to_thread(evaluator.evaluate, task, ended)
            assert (found.reward, found.is_correct) == (score, score == 1.0)
            assert {each.name: each.value for each in found.signals}["accuracy"] == score
        bad = Task(id="2", instruction="", metadata={"ground_truth": "\\frac{"})
        with pytest.raises(NoScore):
            await asyncio.to_thread(evaluator.evaluate, bad, ended)


async def test_rllms_workflows_take_it_as_a_reward_function(start: Start) -> None:
    """The call of `SimpleWorkflow`, whose tasks are dictionaries."""
    types = pytest.importorskip("rllm.rewards.reward_types", reason=WHY)
    from rllm.types import Action

    score = reward("math", target=(await start()).serving.http, patience_s=0)
    task = {"question": "8·9?", "ground_truth": "72"}
    for action in ("\\boxed{72}", Action(action="\\boxed{72}")):
        found = await asyncio.to_thread(score, task, action)
        assert isinstance(found, types.RewardOutput)
        assert (found.reward, found.is_correct) == (1.0, True)
