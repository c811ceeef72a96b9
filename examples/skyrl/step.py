"""Steps the environment as SkyRL's generator does, without a model: `python step.py`; it needs skyrl-gym."""

from __future__ import annotations

import os

import skyrl_gym

if __name__ == "__main__":
    skyrl_gym.register(
        id="rewarden",
        entry_point="rewarden.adapters.skyrl:RewardenEnv",
        kwargs={"use": "math", "target": os.environ.get("REWARDEN_TARGET", "http://127.0.0.1:8080")},
    )
    row = {"reward_spec": {"method": "rule", "ground_truth": "42"}, "data_source": "example", "max_turns": 2}
    env = skyrl_gym.make("rewarden", env_config={"max_turns": 2}, extras=row)
    env.init([{"role": "user", "content": "What is 6 times 7?"}])
    for response in ("\\boxed{41}", "\\boxed{42}"):
        output = env.step(response)
        print(output["reward"], output["done"], output["observations"])
    print(env.get_metrics())
