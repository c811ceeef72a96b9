"""OpenEnv: its own base classes, containers and environments with a verdict as their rubric."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters import openenv as adapter
from rewarden.errors import InvalidRequest
from tests.adapters.conftest import Start

ROW = {"answer": "B"}


@pytest.fixture
def rubrics() -> Any:
    """OpenEnv's rubrics."""
    return pytest.importorskip("openenv.core.rubrics", reason="openenv is not installed")


@pytest.fixture
def types(rubrics: Any) -> Any:
    """An action with one field of text, one with two, and an observation."""
    from openenv.core.env_server.types import Action, Observation

    class Say(Action):  # type: ignore[misc]
        message: str

    class Move(Action):  # type: ignore[misc]
        thought: str
        move: str

    class Seen(Observation):  # type: ignore[misc]
        text: str = ""

    return Say, Move, Seen


async def test_an_environment_is_rewarded_by_the_verdict(start: Start, rubrics: Any, types: Any) -> None:
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import State

    say, _, seen = types
    server = await start()
    made = await asyncio.to_thread(adapter.rubric, "choice", target=server.serving.http)
    assert isinstance(made, rubrics.Rubric)

    class Letters(Environment):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(rubric=made)

        def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Any:
            self._reset_rubric()
            self.rubric.begin(ROW, prompt="Which letter comes second?")
            return seen(text="Which letter comes second?")

        def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
            found = seen(done=True)
            found.reward = self._apply_rubric(action, found)
            return found

        @property
        def state(self) -> Any:
            return State()

    environment = Letters()
    for text, reward in ((r"\boxed{B}", 1.0), (r"\boxed{C}", 0.0)):
        assert "B" not in environment.reset().model_dump_json()
        observation = await asyncio.to_thread(environment.step, say(message=text))
        assert (observation.reward, environment.rubric.last_score) == (reward, reward)
    assert environment.rubric.last_verdict.verifier.name == "choice"


async def test_a_rubric_stands_in_openenvs_containers(start: Start, rubrics: Any, types: Any) -> None:
    say, _, seen = types
    server = await start()
    told = {"target": server.serving.http}
    judges = [adapter.arubric("choice", **told) for _ in range(2)]
    for judge, letter in zip(judges, "BC", strict=True):
        judge.begin({"answer": letter})
    whole = rubrics.WeightedSum(judges, weights=[0.75, 0.25])
    assert await whole(say(message=r"\boxed{B}"), seen()) == 0.75
    assert [name for name, _ in whole.named_rubrics()] == ["rubric_0", "rubric_1"]


async def test_a_rubric_without_a_score_raises(start: Start, rubrics: Any, types: Any) -> None:
    say, _, seen = types
    server = await start()
    told = {"target": server.serving.http, "patience_s": 0}
    bad = {"answer": {"no": "letter"}}
    judge = adapter.arubric("choice", **told)
    judge.begin(bad)
    with pytest.raises(NoScore):
        await judge(say(message="B"), seen())
    assert judge.last_verdict.fault == "reference"
    judge.reset()
    assert judge.last_verdict is None
    number = adapter.arubric("choice", unscored=-1, **told)
    number.begin(bad)
    assert await number(say(message="B"), seen()) == -1.0


def test_the_judged_field_is_the_only_text_or_named(rubrics: Any, types: Any) -> None:
    say, move, _ = types
    assert adapter.written(say(message="a"), None) == "a"
    assert adapter.written(move(thought="a", move="b"), "move") == "b"
    with pytest.raises(InvalidRequest, match="its fields of text are: thought, move"):
        adapter.written(move(thought="a", move="b"), None)
    with pytest.raises(InvalidRequest, match="no field 'step'"):
        adapter.written(move(thought="a", move="b"), "step")
