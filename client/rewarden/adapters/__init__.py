"""Adapters: a trainer's own reward interface in front, Rewarden behind. One module for each trainer.

    from rewarden.adapters.trl import reward
    trainer = GRPOTrainer(reward_funcs=reward("math", target="http://127.0.0.1:8080"), …)

No adapter holds server code, and none imports its trainer before it is used. `Settings` says what each can be told.
For trainers that load a reward from a file, `python -m rewarden.adapters NAME` prints the file's path. Whether a
trainer can leave a sample without a score, what stands for it by default, and whether groups are judged whole, is told
by each module, and for all of them in docs/trainers.
"""

from __future__ import annotations

from rewarden.adapters.scoring import NoScore, Scorer
from rewarden.adapters.settings import Settings

__all__ = ["NoScore", "Scorer", "Settings"]
