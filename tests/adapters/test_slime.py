"""slime's custom reward: what its samples become, and what they get."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters.slime import custom_rm, post_process
from rewarden.errors import InvalidRequest
from rewarden.types import Component, Verdict
from tests.adapters.conftest import Start
from tests.client.servers import Script, http_server

try:
    from slime.utils.types import Sample as Rollout
except ImportError:  # PyPI's `slime` is another project's placeholder; this has the fields that slime's own has

    class _Status(Enum):
        COMPLETED = "completed"
        TRUNCATED = "truncated"
        ABORTED = "aborted"

    @dataclass
    class Rollout:  # type: ignore[no-redef]
        """A rollout, as slime hands it over."""

        group_index: int | None = None
        index: int | None = None
        prompt: Any = ""
        response: str = ""
        response_length: int = 0
        label: Any = None
        reward: Any = None
        remove_sample: bool = False
        status: _Status = _Status.COMPLETED
        metadata: dict[str, Any] = field(default_factory=dict)
        Status = _Status

        def get_reward_value(self, args: Namespace) -> float:
            return self.reward if not args.reward_key else self.reward[args.reward_key]  # type: ignore[no-any-return]


POST = "rewarden.adapters.slime.post_process"


def arguments(target: str, use: Any = "choice", **more: Any) -> Namespace:
    """slime's arguments, as far as rewards are concerned, with a file of `--custom-config-path` in them."""
    known: dict[str, Any] = {
        "group_rm": False,
        "reward_key": None,
        "eval_reward_key": None,
        "advantage_estimator": "grpo",
        "rewards_normalization": True,
        "grpo_std_normalization": True,
        "custom_reward_post_process_path": POST,
        "rewarden": {"target": target, "use": use, "patience_s": 0, **more.pop("rewarden", {})},
    }
    return Namespace(**(known | more))


def rollout(response: str, label: Any = "2", **more: Any) -> Rollout:
    """A finished training sample."""
    known: dict[str, Any] = {"group_index": 0, "index": 0, "prompt": "1+1?", "status": Rollout.Status.COMPLETED}
    return Rollout(response=response, label=label, response_length=3, **(known | more))


async def test_right_wrong_and_unscored(start: Start) -> None:
    args = arguments((await start()).serving.http)
    right, wrong = rollout("✓ Answer: B", label="B"), rollout("Answer: C", label="B")
    bad = rollout("Answer: C", label="?!")
    rewards = await asyncio.gather(*(custom_rm(args, each) for each in (right, wrong, bad)))
    assert rewards == [1.0, 0.0, 0.0]
    assert [each.remove_sample for each in (right, wrong, bad)] == [False, False, True]
    assert bad.metadata["rewarden"]["fault"] == "reference"
    assert bad.metadata["rewarden"]["status"] != "scored"


async def test_everything_that_slime_knows_of_a_sample_is_sent() -> None:
    script = Script()
    async with http_server(script) as target:
        args = arguments(target, rewarden={"metadata": ["level"]})
        sample = rollout("x", index=7, status=Rollout.Status.TRUNCATED, metadata={"data_source": "gsm8k", "level": 3})
        await custom_rm(args, sample)
    (sent,) = script.streams[0]
    assert (sent.id, sent.finish_reason, sent.token_count, sent.prompt) == ("7", "length", 3, "1+1?")
    assert (sent.reference, sent.data_source, sent.metadata, sent.group) == ("2", "gsm8k", {"level": 3}, None)


async def test_the_run_is_named_as_for_w_and_b() -> None:
    script = Script()
    async with http_server(script) as target:
        await custom_rm(arguments(target, wandb_group="qwen-grpo"), rollout("x"))
        await custom_rm(arguments(target, wandb_group="qwen-grpo", rewarden={"run": "mine"}), rollout("x"))
    assert [sent.metadata for stream in script.streams for sent in stream] == [{"run": "qwen-grpo"}, {"run": "mine"}]


def unscored_at(*places: int) -> Script:
    """A server that has no score for samples whose response is one of these numbers."""

    def judge(sample: Any, index: int) -> Verdict:
        if sample.response in map(str, places):
            return Verdict(status="error", reason="sandbox_failed", fault="infra", index=index, group=sample.group)
        score = float(sample.response == sample.reference)
        return Verdict(status="scored", score=score, index=index, group=sample.group)

    return Script(judge=judge)


async def test_a_group_is_judged_in_one_request() -> None:
    script = unscored_at(5)
    async with http_server(script) as target:
        group = [rollout(str(place), index=place, group_index=4) for place in (1, 2, 5)]
        rewards = await custom_rm(arguments(target, group_rm=True), group)
    assert rewards == [0.0, 1.0, 0.0]
    assert [each.remove_sample for each in group] == [False, False, True]
    (batch,) = script.batches
    assert [(each.group, each.group_size) for each in batch.samples] == [("4", 3)] * 3  # type: ignore[union-attr]


async def test_fragments_of_one_rollout_are_no_group() -> None:
    script = Script()
    async with http_server(script) as target:
        await custom_rm(arguments(target), [rollout("1"), rollout("2")])
    assert [each.group for each in script.batches[0].samples] == [None, None]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({"custom_reward_post_process_path": None}, {}),  # slime would count its reward in the group's mean
        ({}, {"group_index": None}),  # an evaluation counts every sample
        ({"rewarden": {"unscored": "raise"}}, {}),
    ],
)
async def test_where_a_sample_cannot_be_left_out_it_raises(given: dict[str, Any], more: dict[str, Any]) -> None:
    async with http_server(unscored_at(5)) as target:
        with pytest.raises(NoScore, match="sandbox_failed"):
            await custom_rm(arguments(target, **given), rollout("5", **more))


async def test_without_normalisation_the_loss_mask_is_enough() -> None:
    async with http_server(unscored_at(5)) as target:
        args = arguments(target, custom_reward_post_process_path=None, advantage_estimator="ppo")
        sample = rollout("5")
        await custom_rm(args, sample)
    assert sample.remove_sample


async def test_a_number_of_the_users_stays_in_the_loss() -> None:
    async with http_server(unscored_at(5)) as target:
        sample = rollout("5")
        assert await custom_rm(arguments(target, rewarden={"unscored": -1}), sample) == -1.0
    assert not sample.remove_sample


def excluded(sample: Any, index: int) -> Verdict:
    """Scored, and to be left out."""
    parts = {"format": Component(status="scored", score=0.5), "judge": Component(status="error")}
    return Verdict(status="scored", score=1.0, index=index, exclude=True, components=parts)


async def test_excluded_samples_are_taken_out() -> None:
    async with http_server(Script(judge=excluded)) as target:
        sample, evaluated = rollout("2"), rollout("2", group_index=None)
        assert [await custom_rm(arguments(target), each) for each in (sample, evaluated)] == [1.0, 1.0]
    assert (sample.remove_sample, evaluated.remove_sample) == (True, False)


async def test_a_reward_key_takes_the_score_or_a_component() -> None:
    async with http_server(Script(judge=excluded)) as target:
        assert await custom_rm(arguments(target, reward_key="score"), rollout("2")) == {
            "score": 1.0,
            "format": 0.5,
            "judge": None,
        }
        assert (await custom_rm(arguments(target, reward_key="format"), rollout("2")))["format"] == 0.5
        assert (await custom_rm(arguments(target, reward_key="judge"), rollout("2")))["judge"] == 0.0
        with pytest.raises(InvalidRequest, match="'style'; it has score, format, judge"):
            await custom_rm(arguments(target, reward_key="style"), rollout("2"))


def judged(reward: float, group: int, out: bool = False) -> Rollout:
    """A sample with its reward."""
    return rollout("", group_index=group, reward=reward, metadata={"rewarden": {"out": out}})


def test_what_is_out_does_nothing_to_its_siblings() -> None:
    args = arguments("")
    siblings = [judged(1.0, 0), judged(0.0, 0), judged(1.0, 1), judged(1.0, 1)]
    alone = post_process(args, siblings)[1]
    among = post_process(args, [*siblings[:2], judged(0.0, 0, out=True), *siblings[2:], judged(0.0, 1, out=True)])[1]
    assert among == [*alone[:2], 0.0, *alone[2:], 0.0]
    assert alone == pytest.approx([0.70710, -0.70710, 0.0, 0.0], abs=1e-4)
    assert post_process(args, [judged(1.0, 0), judged(0.0, 0, out=True)])[1] == [0.0, 0.0]


def test_rewards_stay_raw_where_slime_does_not_normalise() -> None:
    args = arguments("", advantage_estimator="ppo")
    assert post_process(args, [judged(1.0, 0), judged(0.0, 0)]) == ([1.0, 0.0], [1.0, 0.0])


async def test_slimes_own_code_calls_it(start: Start) -> None:
    """`async_rm` and `batched_async_rm` of a checkout of slime, and `remote_rm` against its route."""
    hub = pytest.importorskip(
        "slime.rollout.rm_hub", reason="slime is not a package on PyPI; put a checkout on the path"
    )
    server = await start()
    args = arguments(server.serving.http, custom_rm_path="rewarden.adapters.slime.custom_rm", rm_type=None)
    samples = [rollout("Answer: B", label="B"), rollout("Answer: C", label="B")]
    assert [await hub.async_rm(args, each) for each in samples] == [1.0, 0.0]
    args.group_rm = True
    assert await hub.batched_async_rm(args, samples) == [1.0, 0.0]
    args = arguments("", custom_rm_path=None, rm_type="remote_rm")
    args.rm_url = f"{server.serving.http}/compat/slime/choice/rm"
    try:
        assert await hub.batched_async_rm(args, samples) == [1.0, 0.0]
        assert await hub.remote_rm(args, rollout("é 1 MB " * 125_000 + "\n\nAnswer: B", label="B")) == 1.0
        args.rm_url += "?unscored=-1"
        assert await hub.remote_rm(args, rollout("2", label="?!")) == -1.0
    finally:
        await hub._get_shared_session().close()
