"""Questions to the judges in the benchmarks: all texts differ, so no cache has an answer to them."""

from __future__ import annotations

from rewarden.types import Batch, Sample, Use

MODEL = "same"
REPLY = '{"reason": "The response names the same number.", "verdict": "correct"}'
TOKENS = 110
"""Tokens of each call, as the server counts them."""


def samples(count: int, first: int = 0, size: int = 500) -> list[Sample]:
    """Returns samples with responses of about so many bytes."""
    filling = "We add what was given to what was asked for, step by step, and look at it again. "
    return [
        Sample(
            prompt=f"What is {number} plus 1?",
            response=f"{(filling * (size // len(filling) + 1))[:size]} The answer is {number + 1}.",
            reference=str(number + 1),
        )
        for number in range(first, first + count)
    ]


def judged(count: int, first: int = 0, judge: str | None = None) -> Batch:
    """Returns a batch for `judge`."""
    return Batch(samples=samples(count, first), use=Use(name="judge", params={"judge": judge} if judge else {}))


def beside(count: int, first: int = 0) -> list[Batch]:
    """Returns samples without judges: half of them for `math`, half for a recipe."""
    return [
        Batch(
            samples=[
                Sample(
                    response=f"<think>We add one.</think><answer>\\boxed{{{number + 1}}}</answer>",
                    reference=str(number + 1),
                )
                for number in range(start, start + count // 2)
            ],
            use=Use(name=name),
        )
        for name, start in (("math", first), ("accuracy_format", first + count // 2))
    ]
