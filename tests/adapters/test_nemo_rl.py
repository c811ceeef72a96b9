"""NeMo RL's environment: what its messages become, and what they get."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters.nemo_rl import Environment
from rewarden.errors import InvalidRequest
from rewarden.types import Sample, Verdict
from tests.adapters.conftest import Start
from tests.client.servers import Script

FAULTS = {"odd": ("undecided", "invalid_reference", "reference"), "broken": ("error", "sandbox_failed", "infra")}


def faulty(sample: Sample, index: int) -> Verdict:
    """A judge that cannot score the responses "odd" and "broken", and excludes "long"."""
    text = sample.response[-1]["content"]  # type: ignore[index]
    if text in FAULTS:
        status, reason, fault = FAULTS[text]
        return Verdict(status=status, reason=reason, fault=fault, index=index)  # type: ignore[arg-type]
    score = float(text == sample.reference)
    return Verdict(status="scored", score=score, index=index, exclude=text == "long")


def log(response: str, question: str = "1+1?") -> list[dict[str, str]]:
    """The messages of a rollout, as NeMo RL hands them to an environment."""
    return [{"role": "user", "content": question}, {"role": "assistant", "content": response}]


async def rewards(target: str, logs: list[Any], rows: list[Any] | None = None, **cfg: Any) -> list[float]:
    """The rewards of a step, from a thread, as in the actor."""
    environment = Environment({"target": target, "patience_s": 0, **cfg})
    given = [{"ground_truth": "2"}] * len(logs) if rows is None else rows
    return (await asyncio.to_thread(environment.judged, logs, given))[1]


def test_the_module_needs_no_nemo_rl() -> None:
    code = "import sys, rewarden.adapters.nemo_rl; sys.exit('torch' in sys.modules or 'nemo_rl' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_right_and_wrong(start: Start) -> None:
    target = (await start()).serving.http
    rows = [{"ground_truth": "72"}] * 3
    logs = [log("So it is \\boxed{72}."), log("So it is \\boxed{71}."), log("It is seventy-")]
    assert await rewards(target, logs, rows, use="math") == [1.0, 0.0, 0.0]


async def test_a_row_sends_its_prompt_and_columns(target: str, script: Script) -> None:
    script.judge = faulty
    rows = [{"ground_truth": "2", "level": 3, "data_source": "sums"}]
    assert await rewards(target, [log("2")], rows, metadata=["level"]) == [1.0]
    (sample,) = script.streams[0]
    assert isinstance(sample, Sample)
    assert sample.prompt == [{"role": "user", "content": "1+1?"}]
    assert sample.response == [{"role": "assistant", "content": "2"}]
    assert (sample.reference, sample.metadata, sample.data_source) == ("2", {"level": 3}, "sums")


async def test_a_sample_without_a_score_ends_the_step(target: str, script: Script) -> None:
    script.judge = faulty
    with pytest.raises(NoScore, match="invalid_reference"):
        await rewards(target, [log("2"), log("odd")])
    assert await rewards(target, [log("2"), log("odd")], unscored=-1) == [1.0, -1.0]


async def test_a_fault_of_the_infrastructure_is_one_that_nemo_rl_dispatches_again(target: str, script: Script) -> None:
    script.judge = faulty
    with pytest.raises(ConnectionError, match="sandbox_failed"):
        await rewards(target, [log("broken")])
    with pytest.raises(ConnectionError):
        await rewards("http://127.0.0.1:9", [log("2")])


async def test_the_mean_of_the_siblings_moves_no_baseline(target: str, script: Script) -> None:
    script.judge = faulty
    logs = [log("2"), log("odd"), log("3"), log("2", "another?"), log("2"), log("long"), log("2", "another?")]
    found = await rewards(target, logs, unscored="siblings")
    assert found == pytest.approx([1.0, 2 / 3, 0.0, 1.0, 1.0, 2 / 3, 1.0])
    group = [found[place] for place in (0, 1, 2, 4, 5)]
    assert sum(group) / len(group) == pytest.approx(2 / 3)  # the mean of the three that have a score


async def test_a_group_without_any_score_is_level(target: str, script: Script) -> None:
    script.judge = faulty
    assert await rewards(target, [log("odd"), log("broken")], unscored="siblings") == [0.0, 0.0]


async def test_without_siblings_in_the_step_there_is_no_mean(target: str, script: Script) -> None:
    script.judge = faulty
    with pytest.raises(NoScore):
        await rewards(target, [log("odd")], unscored="siblings")


async def test_samples_with_the_same_prompt_are_a_group(target: str, script: Script) -> None:
    script.judge = faulty
    await rewards(target, [log("2"), log("2", "another?"), log("3")], group="prompt")
    groups = [(sample.group, sample.group_size) for sample in script.batches[0].samples]  # type: ignore[union-attr]
    assert groups == [("0", 2), ("1", 1), ("0", 2)]


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidRequest, match="usee"):
        Environment({"usee": "math"})


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Ray, with NeMo RL on the path."""
    pytest.importorskip("nemo_rl.environments.utils", reason="NeMo RL is not on PyPI; put a checkout on the path")
    ray = pytest.importorskip("ray", reason="the package ray is not installed")
    ray.init(num_cpus=1, include_dashboard=False)
    yield ray
    ray.shutdown()


async def test_nemo_rls_own_rollout_steps_it(start: Start, cluster: Any) -> None:
    """`register_env`, `create_env`, and `calculate_rewards` of a checkout; its advantages, and what it retries."""
    from nemo_rl.algorithms.utils import calculate_baseline_and_std_per_prompt
    from nemo_rl.environments.utils import ENV_REGISTRY, create_env
    from nemo_rl.experience.failures import FailureClass, classify_rollout_failure
    from nemo_rl.experience.rollouts import calculate_rewards

    from rewarden.adapters.nemo_rl import register

    torch = pytest.importorskip("torch")
    ENV_REGISTRY.pop("rewarden", None)
    register()
    target = (await start()).serving.http
    cfg = {"use": "math", "target": target, "patience_s": 0, "unscored": "siblings"}
    env = create_env("rewarden", cfg)
    answers = ["\\boxed{72}", "\\boxed{71}", "\\boxed{72}", "\\boxed{72}"]
    batch = {
        "message_log": [log(answer) for answer in answers],
        "extra_env_info": [{"ground_truth": "72"}] * 3 + [{"ground_truth": "\\frac{"}],
        "task_name": ["sums"] * 4,
    }
    result = await asyncio.to_thread(calculate_rewards, batch, {"sums": env})
    assert result.rewards.tolist() == pytest.approx([1.0, 0.0, 1.0, 2 / 3])
    assert result.terminateds.tolist() == [1.0] * 4
    contents = [each["content"] for each in result.observations]
    assert contents == [f"Environment: {word}" for word in ("correct", "incorrect", "correct", "unscored")]
    for leave_one_out in (False, True):
        baseline, _ = calculate_baseline_and_std_per_prompt(
            torch.zeros(4, 1), result.rewards, torch.ones(4), leave_one_out_baseline=leave_one_out
        )
        advantages = result.rewards - baseline
        assert advantages[3].item() == pytest.approx(0.0, abs=1e-6)
        assert advantages[:3].sum().item() == pytest.approx(0.0, abs=1e-6)
    down = create_env("rewarden", {**cfg, "target": "http://127.0.0.1:9"})
    with pytest.raises(ConnectionError) as raised:
        await asyncio.to_thread(calculate_rewards, batch, {"sums": down})
    assert classify_rollout_failure(raised.value) is FailureClass.INFRA
