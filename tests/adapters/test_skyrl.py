"""SkyRL's environment, stepped by skyrl-gym itself as SkyRL's generator does it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.errors import InvalidRequest
from tests.adapters.conftest import Running, Start

PROMPT = [{"role": "user", "content": "Which letter comes second?"}]


def test_the_module_needs_no_skyrl() -> None:
    """SkyRL's workers import it, and so do programs that never see SkyRL."""
    code = "import sys, rewarden.adapters.skyrl; sys.exit('skyrl_gym' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def gym() -> Iterator[Any]:
    """skyrl-gym, with nothing of ours registered afterwards."""
    module = pytest.importorskip("skyrl_gym", reason="skyrl-gym is not installed")
    from skyrl_gym.envs.registration import registry

    registry.pop("rewarden", None)  # another file's
    yield module
    registry.pop("rewarden", None)


def row(ground_truth: Any = "B", **columns: Any) -> dict[str, Any]:
    """The extras of a row of SkyRL's data sets, with the limit that its generator adds."""
    spec = {"method": "rule", "ground_truth": ground_truth}
    return {"reward_spec": spec, "data_source": "letters", "extra_info": {"split": "train"}, "max_turns": 5, **columns}


def made(gym: Any, server: Running, extras: dict[str, Any], env_config: Any = None, **settings: Any) -> Any:
    """An environment, by the way that SkyRL's generator takes."""
    kwargs = {"use": "choice", "target": server.serving.http, "patience_s": 0, **settings}
    gym.register(id="rewarden", entry_point="rewarden.adapters.skyrl:RewardenEnv", kwargs=kwargs)
    return gym.make("rewarden", env_config={} if env_config is None else env_config, extras=extras)


async def stepped(env: Any, *actions: str) -> list[dict[str, Any]]:
    """The outputs of steps, taken on another thread, as SkyRL's executor does."""
    chat, _ = await asyncio.to_thread(env.init, PROMPT)
    assert chat == PROMPT
    found = [await asyncio.to_thread(env.step, action) for action in actions]
    await asyncio.to_thread(env.close)
    return found


async def test_a_step_is_a_verdict(start: Start, gym: Any) -> None:
    server = await start()
    right = made(gym, server, row())
    assert isinstance(right, gym.Env)
    (output,) = await stepped(right, "\\boxed{B}")
    assert (output["reward"], output["done"], output["observations"]) == (1.0, True, [])
    assert output["metadata"]["verdict"]["data_source"] == "letters"
    assert right.get_metrics() == {
        "rewarden_turns": 1,
        "rewarden_unscored": 0.0,
        "rewarden_excluded": 0.0,
        "rewarden_passed": 1.0,
    }
    from skyrl_gym.metrics import aggregate_for_environment

    assert aggregate_for_environment("rewarden", [right.get_metrics()])["rewarden_passed"] == 1.0
    del gym.envs.registration.registry["rewarden"]
    (wrong,) = await stepped(made(gym, server, row(), {"max_turns": 1}), "\\boxed{C}")
    assert (wrong["reward"], wrong["done"]) == (0.0, True)


async def test_turns_go_on_until_one_passes(start: Start, gym: Any) -> None:
    server = await start()
    outputs = await stepped(made(gym, server, row(), {"max_turns": 3}), "\\boxed{C}", "\\boxed{B}")
    first, second = outputs
    assert (first["reward"], first["done"]) == (0.0, False)
    assert first["observations"][0]["role"] == "user"
    assert (second["reward"], second["done"], second["observations"]) == (1.0, True, [])
    # The generator's own limit is not passed, whatever the environment's is.
    del gym.envs.registration.registry["rewarden"]
    (only,) = await stepped(made(gym, server, row(max_turns=1), {"max_turns": 3}), "\\boxed{C}")
    assert only["done"] is True


async def test_feedback_is_what_the_next_turn_is_told(start: Start, gym: Any) -> None:
    server = await start()
    template = {"name": "format", "params": {"template": "think_answer"}}
    env = made(gym, server, row(), use=template, max_turns=2)
    (first,) = await stepped(env, "B")
    told = first["metadata"]["verdict"]["feedback"]
    assert told
    assert first["observations"] == [{"role": "user", "content": told}]


async def test_no_score_ends_the_run_unless_a_number_stands_for_it(start: Start, gym: Any) -> None:
    server = await start()
    bad = row(ground_truth={"no": "letter"})
    env = made(gym, server, bad, max_turns=3)
    with pytest.raises(NoScore):
        await stepped(env, "\\boxed{B}")
    assert env.get_metrics()["rewarden_unscored"] == 1.0
    del gym.envs.registration.registry["rewarden"]
    (output,) = await stepped(made(gym, server, bad, unscored=-1), "\\boxed{B}")
    assert (output["reward"], output["done"]) == (-1.0, True)


async def test_settings_name_columns_and_are_checked(start: Start, gym: Any) -> None:
    server = await start()
    extras = row(ground_truth="C", extra_info={"letter": "B"})
    (output,) = await stepped(made(gym, server, extras, reference="letter"), "\\boxed{B}")
    assert output["reward"] == 1.0
    del gym.envs.registration.registry["rewarden"]
    with pytest.raises(InvalidRequest, match="usee"):
        made(gym, server, extras, usee="choice")
