"""The choice of the next token: the same for the same seed, whatever else is in the batch."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import torch


def uniform(seed: int, number: int, position: int) -> float:
    """The draw, in [0, 1), that decides the token at `position` of sample `number` of a task with this seed. It depends
    on nothing else, so a sample that is set aside and resumed continues as it would have."""
    made = blake2b(f"{seed}/{number}/{position}".encode(), digest_size=4).digest()
    return (int.from_bytes(made, "big") >> 8) / 2**24  # 24 bits: exact as a float32, which the device gets


def choose(logits: Any, temperatures: Any, top_ps: Any, uniforms: Any) -> Any:
    """One token per row. All shapes [rows], logits [rows, vocabulary], float32.

    At temperature 0, the most probable token. Otherwise, take the fewest tokens whose probabilities at this temperature
    reach top_p together; the result is the one in whose share of their sum the draw falls. Control flow does not depend
    on values, so this can be part of a captured graph.
    """
    greedy = temperatures <= 0
    scaled = logits / torch.where(greedy, torch.ones_like(temperatures), temperatures)[:, None]
    ordered, tokens = torch.sort(scaled, dim=-1, descending=True, stable=True)
    # In float64: over a vocabulary of 260,000 the rounding of a float32 sum would move the draw to a neighbour.
    shares = torch.softmax(ordered, dim=-1).double()
    sums = shares.cumsum(dim=-1)
    kept = (sums - shares) < top_ps.double()[:, None]
    kept[:, 0] = True
    total = (shares * kept).sum(dim=-1)
    places = (sums <= (uniforms.double() * total)[:, None]).sum(dim=-1)
    places = torch.minimum(places, kept.sum(dim=-1) - 1)
    drawn = tokens.gather(-1, places[:, None])[:, 0]
    return torch.where(greedy, logits.argmax(dim=-1), drawn)
