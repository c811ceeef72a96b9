"""Evaluates three episodes of rLLM, without a model: `PYTHONPATH=rllm python check.py http://127.0.0.1:8080`.

`rllm` is a checkout of rLLM. Needs a server (`rewarden serve`). Ran with rLLM of 2026-08-15 (9beb6e0).
"""

from __future__ import annotations

import sys

from rllm.types import Episode, Step, Task, Trajectory

from rewarden.adapters.rllm import reward

RESPONSES = ["So it is \\boxed{72}.", "So it is \\boxed{71}.", "It is seventy-"]


def main(target: str) -> None:
    """Print what rLLM gets for each response."""
    evaluator = reward("math", target=target)
    task = Task(id="1", instruction="What is 8 times 9?", metadata={"ground_truth": "72"})
    for text in RESPONSES:
        found = evaluator.evaluate(task, Episode(trajectories=[Trajectory(steps=[Step(model_response=text)])]))
        print(f"{found.reward:5.2f}  {found.is_correct}  {text!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
