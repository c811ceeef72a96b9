"""miles, a fork of slime, calls slime's adapter by its own code."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.adapters.conftest import Start
from tests.adapters.test_slime import arguments

WHY = "miles-rl is not installed"


def rollout(types: Any, response: str, label: str = "B", **more: Any) -> Any:
    """A finished training sample of miles."""
    known = {"group_index": 0, "index": 0, "prompt": "?", "status": types.Sample.Status.COMPLETED}
    return types.Sample(response=response, label=label, response_length=3, **(known | more))


async def test_miles_own_code_calls_slimes_adapter(start: Start) -> None:
    """`async_rm`, `batched_async_rm` and `remote_rm` of miles, and its conversion of rollouts to training data."""
    hub = pytest.importorskip("miles.rollout.rm_hub", reason=WHY)
    types = pytest.importorskip("miles.utils.types", reason=WHY)
    target = (await start()).serving.http
    args = arguments(target, custom_rm_path="rewarden.adapters.slime.custom_rm", rm_type=None)
    group = [rollout(types, "Answer: B"), rollout(types, "Answer: C"), rollout(types, "Answer: C", label="?!")]
    rewards = await asyncio.gather(*(hub.async_rm(args, each) for each in group))
    assert rewards == [1.0, 0.0, 0.0]
    assert [each.remove_sample for each in group] == [False, False, True]
    args.group_rm = True
    assert await hub.batched_async_rm(args, group[:2]) == [1.0, 0.0]
    args = arguments("", custom_rm_path=None, rm_type="remote_rm", rm_url=f"{target}/compat/slime/choice/rm")
    assert await hub.batched_async_rm(args, group[:2]) == [1.0, 0.0]


async def test_a_removed_sample_moves_no_sibling_and_no_loss(start: Start) -> None:
    hub = pytest.importorskip("miles.rollout.rm_hub", reason=WHY)
    types = pytest.importorskip("miles.utils.types", reason=WHY)
    conversion = pytest.importorskip("miles.ray.rollout.train_data_conversion", reason=WHY)
    from rewarden.adapters.slime import post_process

    target = (await start()).serving.http
    args = arguments(target, custom_rm_path="rewarden.adapters.slime.custom_rm", rm_type=None)
    group = [rollout(types, "Answer: B"), rollout(types, "Answer: C"), rollout(types, "Answer: C", label="?!")]
    for each in group:
        each.reward = await hub.async_rm(args, each)
    raw, normal = conversion._post_process_rewards(args, group, post_process)
    assert raw == [1.0, 0.0, 0.0]
    assert normal == pytest.approx([0.70710, -0.70710, 0.0], abs=1e-4)
