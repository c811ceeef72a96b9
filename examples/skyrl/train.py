"""SkyRL's GRPO trainer with Rewarden as its environment (skyrl 0.3.0); see run.sh beside it.

Rows need `reward_spec.ground_truth` and `env_class: rewarden`, as SkyRL's own data sets have them.
"""

from __future__ import annotations

import os
import sys

import ray
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp
from skyrl.train.utils import validate_cfg
from skyrl.train.utils.utils import initialize_ray
from skyrl_gym.envs import register


@ray.remote(num_cpus=1)
def entrypoint(cfg: SkyRLTrainConfig) -> None:
    """The task that makes environments, and so the one that registers ours."""
    register(
        id="rewarden",
        entry_point="rewarden.adapters.skyrl:RewardenEnv",
        kwargs={"use": "math", "target": os.environ.get("REWARDEN_TARGET", "http://127.0.0.1:8080")},
    )
    BasePPOExp(cfg).run()


def main() -> None:
    """Read SkyRL's configuration from the command line, and train."""
    cfg = SkyRLTrainConfig.from_cli_overrides(sys.argv[1:])
    validate_cfg(cfg)
    initialize_ray(cfg)
    ray.get(entrypoint.remote(cfg))


if __name__ == "__main__":
    main()
