"""A task set of verifiers 0.4 whose reward is Rewarden's: `vf-eval sums`, or prime-rl's `env.taskset.id = "sums"`.

Copy the file to where verifiers finds its task sets: a folder on the module path.
"""

from __future__ import annotations

from collections.abc import Iterator

import verifiers.v1 as vf

from rewarden.adapters.verifiers import reward

__all__ = ["SumTaskset"]

score = reward("math")  # the server is told by REWARDEN_TARGET


class Sum(vf.TaskData):
    """A row: verifiers' own fields, and the reference."""

    answer: str


class SumTask(vf.Task[Sum]):
    """The task whose judged part is the trace of one rollout."""

    @vf.reward
    async def correct(self, task: Sum, trace: vf.Trace) -> float:
        """The verdict's score. Where there is none the trace fails, and is not trained on."""
        return await score(task, trace)


class SumTaskset(vf.Taskset[SumTask]):
    """A hundred sums."""

    def load(self) -> Iterator[SumTask]:
        """The tasks, in order."""
        for number in range(100):
            prompt = f"What is {number} + {number + 7}? Put the answer into \\boxed{{}}."
            yield SumTask(Sum(prompt=prompt, answer=str(2 * number + 7)), self.config.task)
