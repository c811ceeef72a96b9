"""The environment for Tinker's cookbook, stepped by the cookbook's own rollouts."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.errors import InvalidRequest
from tests.adapters.conftest import Start

WHY = "tinker-cookbook is not installed"


def test_the_module_needs_no_cookbook() -> None:
    code = "import sys, rewarden.adapters.tinker; sys.exit('tinker' in sys.modules or 'tinker_cookbook' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def cookbook() -> Any:
    """The cookbook's package."""
    pytest.importorskip("tinker_cookbook.rl.problem_env", reason=WHY)
    return pytest.importorskip("tinker_cookbook", reason=WHY)


class Letters:
    """A tokenizer of one token for each character, as a renderer needs it."""

    bos_token = None
    eos_token_id = 0

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


def renderer() -> Any:
    """The cookbook's plainest renderer."""
    from tinker_cookbook.renderers.role_colon import RoleColonRenderer

    return RoleColonRenderer(Letters())


def made(target: str, answer: str = "72", **settings: Any) -> Any:
    """A function that makes an environment, as `ProblemGroupBuilder` takes it."""
    from rewarden.adapters.tinker import RewardenEnv

    told = {"use": "math", "target": target, "patience_s": 0, **settings}
    return partial(RewardenEnv, renderer(), "8·9?", {"answer": answer}, **told)


async def test_a_step_is_a_verdict(start: Start, cookbook: Any) -> None:
    make = made((await start()).serving.http)
    env = make()
    observation, _ = await env.initial_observation()
    assert "8·9?" in "".join(map(chr, observation.to_ints()))
    right = await env.step(Letters().encode("\\boxed{72}\n\nUser:"), extra={"stop_reason": "stop"})
    assert (right.reward, right.episode_done, right.metrics["correct"], right.metrics["format"]) == (
        1.0,
        True,
        1.0,
        1.0,
    )
    wrong = await make().step(Letters().encode("It is seventy-"), extra={"stop_reason": "length"})
    assert (wrong.reward, wrong.metrics["correct"], wrong.metrics["format"]) == (0.0, 0.0, 0.0)
    assert wrong.logs["reference_answer"] == "72"


async def test_a_step_without_a_score_raises(start: Start, cookbook: Any) -> None:
    target = (await start()).serving.http
    with pytest.raises(NoScore):
        await made(target, "\\frac{")().step(Letters().encode("\\boxed{72}"))
    result = await made(target, "\\frac{", unscored=-1)().step(Letters().encode("\\boxed{72}"))
    assert (result.reward, result.metrics["rewarden_unscored"]) == (-1.0, 1.0)


async def test_the_cookbooks_group_goes_on_without_it(start: Start, cookbook: Any) -> None:
    """`MinViableGroup` keeps the siblings, and its advantages are computed from them alone."""
    from tinker_cookbook.completers import TokensWithLogprobs
    from tinker_cookbook.rl.data_processing import compute_advantages
    from tinker_cookbook.rl.problem_env import ProblemGroupBuilder
    from tinker_cookbook.rl.rollout_strategy import MinViableGroup
    from tinker_cookbook.rl.rollouts import do_group_rollout

    target = (await start()).serving.http
    envs = iter([("72", "\\boxed{72}"), ("72", "\\boxed{71}"), ("\\frac{", "\\boxed{72}")])
    said: list[str] = []

    def next_env() -> Any:
        answer, text = next(envs)
        said.append(text)
        return made(target, answer)()

    async def policy(observation: Any, stop: Any, *args: Any, **kwargs: Any) -> Any:
        tokens = Letters().encode(said.pop(0))
        return TokensWithLogprobs(tokens=tokens, maybe_logprobs=[0.0] * len(tokens))

    builder = ProblemGroupBuilder(env_thunk=next_env, num_envs=3)
    group = await do_group_rollout(builder, policy, strategy=MinViableGroup(min_successful=2, max_retries=0))
    assert sorted(group.get_total_rewards()) == [0.0, 1.0]
    assert sorted(compute_advantages([group])[0].tolist()) == [-0.5, 0.5]


def test_builders_can_be_pickled_and_settings_are_checked(cookbook: Any) -> None:
    from rewarden.adapters.tinker import RewardenEnv

    assert pickle.loads(pickle.dumps(RewardenEnv)) is RewardenEnv  # noqa: S301 - written here
    with pytest.raises(InvalidRequest, match="usee"):
        made("http://127.0.0.1:9", usee="math")()
