"""The fixed cost of a forward pass, as the number of tokens that take equally long.

On a CPU it is the time to read the weights from memory. On a GPU it is the launch of some thousand kernels: 20 to 45 ms
for a model of about thirty layers (on an H100), as long as thousands of tokens of a small model take. More passes over
fewer tokens (a shared prefix, a batch of similar lengths) can then be slower than one pass over all.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

CPU = 128
"""Tokens on a CPU: with it, groups of eight after 512 tokens gain 2.4 to 3.2 times, see `benchmarks.models`."""

_FEW, _ROW = 16, 512
_ROUNDS = 3


def measure(model: Any, pad: int, most: int, context: int) -> int:
    """Time passes of few and of many tokens on the model's GPU, none longer than its `context`. Returns the fixed cost
    in tokens, at most `most`.

    Runs in the torch thread. Passes that fail, for lack of memory say, tell nothing: the result is then that of a CPU.
    """
    # A position beyond a model's table would lose the whole device.
    length = min(_ROW, context)
    rows = max(2, most // length)
    try:
        few, many = _seconds(model, pad, 1, _FEW), _seconds(model, pad, rows, length)
    except RuntimeError:
        return CPU
    return tokens_of(few, many, rows * length - _FEW, most)


def tokens_of(few: float, many: float, further: int, most: int) -> int:
    """The tokens, between CPU and `most`, that take as long as a pass of few tokens (`few` seconds), given that a pass
    of `further` more tokens takes `many` seconds in all.
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
