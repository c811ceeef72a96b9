"""Scores three responses with Tunix's own reward manager, without a model: `python check.py http://127.0.0.1:8080`.

Needs google-tunix and a server (`rewarden serve`). Ran with google-tunix 0.1.7.
"""

from __future__ import annotations

import sys

import numpy as np
from tunix.rl.algorithm_config import AlgorithmConfig
from tunix.rl.reward_manager import SequenceRewardManager

from rewarden.adapters.plain import reward

RESPONSES = ["So it is \\boxed{72}.", "So it is \\boxed{71}.", "It is seventy-"]


def main(target: str) -> None:
    """Print what Tunix makes of each response."""
    manager = SequenceRewardManager(reward("math", target=target), AlgorithmConfig())
    answers = np.array(["72"] * len(RESPONSES))
    told = manager(["What is 8 times 9?"] * len(RESPONSES), RESPONSES, answer=answers)
    for text, number in zip(RESPONSES, told["rewards"].tolist(), strict=True):
        print(f"{number:5.2f}  {text!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
