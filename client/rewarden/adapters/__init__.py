"""Adapters that implement the reward interface of a trainer with Rewarden. One module per trainer.

    from rewarden.adapters.trl import reward
    trainer = GRPOTrainer(reward_funcs=reward("math", target="http://127.0.0.1:8080"), …)

Adapters contain no server code, and import their trainer only when it is used. `Settings` documents their options. For
trainers that load a reward from a file, `python -m rewarden.adapters NAME` prints the file's path. Each module
documents how unscored samples and groups are handled; docs/trainers compares all trainers.
"""

from __future__ import annotations

from rewarden.adapters.scoring import NoScore, Scorer
from rewarden.adapters.settings import Settings

__all__ = ["NoScore", "Scorer", "Settings"]
