"""Asks as slime does, for a right, a wrong and an unusable sample: `python examples/slime/check.py [http://…]`.

It needs a server (`rewarden serve`), and no slime: the samples have the fields of slime's that the adapter reads.
"""

import asyncio
import sys
from types import SimpleNamespace

from rewarden.adapters.slime import custom_rm, post_process

args = SimpleNamespace(
    group_rm=False,
    reward_key=None,
    eval_reward_key=None,
    advantage_estimator="grpo",
    rewards_normalization=True,
    grpo_std_normalization=True,
    custom_reward_post_process_path="rewarden.adapters.slime.post_process",
    rewarden={"target": sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080", "use": "math"},
)


class Sample(SimpleNamespace):
    """Stands for `slime.utils.types.Sample`."""

    def get_reward_value(self, args: SimpleNamespace) -> float:
        """The reward, as slime reads it."""
        return self.reward


def sample(index: int, response: str, label: str) -> Sample:
    """A finished sample of group 0."""
    status = SimpleNamespace(value="completed")
    return Sample(
        index=index,
        group_index=0,
        prompt="What is 6*7?",
        response=response,
        response_length=len(response),
        label=label,
        status=status,
        metadata={},
        remove_sample=False,
        reward=None,
    )


async def main() -> None:
    """Print what slime would train on."""
    group = [sample(0, "\\boxed{42}", "42"), sample(1, "\\boxed{41}", "42"), sample(2, "\\boxed{42}", "\\frac{")]
    for each in group:
        each.reward = await custom_rm(args, each)
    for each, normal in zip(group, post_process(args, group)[1], strict=True):
        print(each.response, each.reward, f"removed: {each.remove_sample}", f"normalised: {normal:.3f}")


asyncio.run(main())
