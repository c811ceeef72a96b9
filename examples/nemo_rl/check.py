"""Steps the environment with NeMo RL's own code, without a model and without a GPU.

    PYTHONPATH=RL python check.py http://127.0.0.1:8080

`RL` is a checkout of NeMo RL. Needs a server (`rewarden serve`). Ran with NeMo RL of 2026-08-22 (7ea279a).
"""

from __future__ import annotations

import sys

import ray
from nemo_rl.environments.utils import create_env
from nemo_rl.experience.rollouts import calculate_rewards

from rewarden.adapters.nemo_rl import register

RESPONSES = ["So it is \\boxed{72}.", "So it is \\boxed{71}.", "It is seventy-"]


def main(target: str) -> None:
    """Print the reward of each response, and the message that NeMo RL appends to it."""
    ray.init(num_cpus=1, include_dashboard=False)
    register()
    env = create_env("rewarden", {"use": "math", "target": target})
    question = {"role": "user", "content": "What is 8 times 9?"}
    batch = {
        "message_log": [[question, {"role": "assistant", "content": text}] for text in RESPONSES],
        "extra_env_info": [{"ground_truth": "72"}] * len(RESPONSES),
        "task_name": ["math"] * len(RESPONSES),
    }
    result = calculate_rewards(batch, {"math": env})
    for text, reward, said in zip(RESPONSES, result.rewards.tolist(), result.observations, strict=True):
        print(f"{reward:5.2f}  {text!r}  {said['content']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
