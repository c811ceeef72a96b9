"""The fixed cost of a pass through a model, in tokens that take as long.

On a CPU it is the weights' way through memory. On a GPU it is the launch of some thousand kernels, which takes 20 to
45 ms for a model of some thirty layers (an H100), as long as thousands of tokens of a small model: more passes over
fewer tokens (a shared beginning, a batch of like lengths) can then be slower than one pass over all.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

CPU = 128
"""Tokens on a CPU: groups of eight behind 512 tokens gain 2.4 to 3.2 times with it, see `benchmarks.models`."""

_FEW, _ROW = 16, 512
_ROUNDS = 3


def measure(model: Any, pad: int, most: int, context: int) -> int:
    """Times passes of few and of many tokens on the model's GPU, none longer than its `context`. Returns the tokens,
    `most` at most.

    Runs in the torch thread. Passes that fail, for want of memory say, tell nothing: then it is what it is on a CPU.
    """
    # A position beyond a model's table loses the whole device.
    length = min(_ROW, context)
    rows = max(2, most // length)
    try:
        few, many = _seconds(model, pad, 1, _FEW), _seconds(model, pad, rows, length)
    except RuntimeError:
        return CPU
    return tokens_of(few, many, rows * length - _FEW, most)


def tokens_of(few: float, many: float, further: int, most: int) -> int:
    """The tokens, CPU at least and `most` at most, that take as long as a pass of few tokens (`few` seconds), where
    `further` tokens more take `many` seconds in all.
    """
    token = (many - few) / further
    return min(most, max(CPU, round(few / token))) if token > 0 else most


def _seconds(model: Any, pad: int, rows: int, length: int) -> float:
    import torch

    ids = torch.full((rows, length), pad, device=model.device)
    taken = []
    with torch.inference_mode():
        for _ in range(1 + _ROUNDS):  # the first loads kernels
            torch.cuda.synchronize()
            start = time.perf_counter()
            model.base_model(input_ids=ids)
            torch.cuda.synchronize()
            taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])
