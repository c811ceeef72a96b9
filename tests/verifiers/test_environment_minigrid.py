"""`minigrid`: all rooms that are offered, what of them is seen, and their ways to the goal."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest

from rewarden.errors import InvalidReference, MissingDependency
from rewarden_verifiers.environments.episode import MOST_SEED, Episode, Start
from tests.verifiers.test_environment import judged

minigrid = pytest.importorskip("minigrid", reason="minigrid is not installed")

from rewarden_verifiers.environments.minigrid import ids  # noqa: E402

WORDS = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
EMPTY = {"environment": "minigrid", "options": {"id": "MiniGrid-Empty-5x5-v0"}, "seed": 0}
WAY = ["forward", "forward", "right", "forward", "forward"]


def begun(id: str, seed: int = 0) -> Episode:
    return Start(environment="minigrid", options={"id": id}, seed=seed).begin()


def walked(id: str, seed: int) -> list[Any]:
    episode, choose = begun(id, seed), random.Random(seed)
    seen: list[Any] = [episode.first]
    while episode.ended is None and len(seen) < 60:
        seen.append(episode.act(choose.choice(WORDS)))
    return seen


@pytest.mark.parametrize("id", ids())
def test_equal_seeds_make_equal_walks_in_every_room(id: str) -> None:
    for seed in (0, MOST_SEED):
        walk = walked(id, seed)
        assert walk == walked(id, seed)
        assert walk[0].fields["mission"]
        json.dumps(walk[0].fields)


def test_walks_side_by_side_do_not_disturb_each_other() -> None:
    id = "MiniGrid-Dynamic-Obstacles-8x8-v0"
    both = [begun(id, 3), begun(id, 4)]
    for _ in range(5):
        for episode in both:
            if episode.ended is None:
                episode.act("left")
    alone = begun(id, 3)
    for _ in range(5):
        alone.act("left")
    assert alone.steps == both[0].steps


def test_the_goal_is_reached_and_the_reward_is_the_librarys() -> None:
    outcome = judged(json.dumps(WAY), EMPTY, actions="json", score="return")
    assert (outcome.passed, outcome.raw) == (True, pytest.approx(1 - 0.9 * 5 / 100))
    assert judged(json.dumps(WAY), EMPTY, actions="json").score == 1.0
    assert judged(json.dumps(WAY[:-1]), EMPTY, actions="json").reason == "unfinished"


def test_lava_ends_the_episode_without_its_goal() -> None:
    episode = begun("MiniGrid-DistShift1-v0")
    for action in ("forward", "forward", "right", "forward"):
        episode.act(action)
    assert (episode.ended, episode.steps[-1].why, episode.total) == ("rules", "loss", 0.0)


def test_the_librarys_own_limit_ends_the_episode() -> None:
    outcome = judged(json.dumps(["left"] * 999), EMPTY, actions="json", score="return", unfinished="return")
    assert (outcome.score, outcome.reason, outcome.evidence["steps"]) == (0.0, "too_many_steps", 100)


def test_the_view_is_drawn_and_told() -> None:
    episode = begun("MiniGrid-DoorKey-5x5-v0")
    text = episode.first.text
    assert text.startswith("Mission: use the key to open the door and then get to the goal.")
    assert "yellow key" in text
    rows = [line for line in text.split("\n") if set(line) <= set("?.#^abcdefgh")]
    assert [len(row) for row in rows] == [7] * 7
    assert rows[-1][3] == "^"


def test_what_is_behind_a_wall_is_not_seen() -> None:
    """The goal of the other room is in no observation before its door is open."""
    for seed in range(10):
        episode = begun("MiniGrid-DoorKey-8x8-v0", seed)
        for _ in range(4):
            assert "goal, " not in episode.act("left").turn.observation.text


@pytest.mark.parametrize(
    "text", ["", "forward forward", "forward,forward", "2", "Actions.forward", "fly", "forward\nleft"]
)
def test_an_action_is_one_word(text: str) -> None:
    assert begun("MiniGrid-Empty-5x5-v0").act(text).turn.why == "malformed"


@pytest.mark.parametrize(
    "id",
    [
        "",
        "MiniGrid-Playground-v0",
        "MiniGrid-WFC-MazeSimple-v0",
        "BabyAI-GoToObj-v0",
        "CartPole-v1",
        "MiniGrid-ObstructedMaze-Full-v0",
        "os:system",
    ],
)
def test_an_id_that_is_not_offered_is_refused(id: str) -> None:
    with pytest.raises(InvalidReference, match="there is no") as error:
        begun(id)
    assert error.value.details["path"] == "reference.options.id"


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)
    ids.cache_clear()
    with pytest.raises(MissingDependency, match=r"rewarden-server\[minigrid\]"):
        begun("MiniGrid-Empty-5x5-v0")
