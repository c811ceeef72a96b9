"""Rows for comparing rewards of formal proofs, whose outcome stands in the row instead of a prover's."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.parity_rows import Row

_TACTICS = (
    "simp", "ring", "linarith", "intro h", "exact h", "norm_num", "rw [add_comm]", "refine ⟨_, ?_⟩", "omega",
    "apply Nat.le_of_lt_succ", "simp only [Finset.sum_range_succ, Finset.sum_range_zero, zero_add]",
    "rcases h with ⟨x, hx, y, hy⟩", "nlinarith [sq_nonneg (a - b), sq_nonneg (b - c), mul_pos ha hb]",
)  # fmt: skip
_STOPPED = {
    "error": "LeanError: unsolved goals",
    "timeout": "TimeoutError",
    "given up": "ProofGivenUp",
    "empty": "LeanError: expected tactic",
    "open": "a b : ℝ\n⊢ a + b = b + a",
}


def trajectories() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with the tactics of a proof and the states between them. The reference is `proved` if the
    last state has no goals."""

    def make(rng: random.Random) -> Row:
        kind = rng.choice(("proved", "proved", *_STOPPED))
        tactics = [""] if kind == "empty" else rng.choices(_TACTICS, k=rng.choice((1, 1, 2, 3, 5)))
        states = [f"state {place}" for place in range(len(tactics))]
        states.append("no goals" if kind == "proved" else _STOPPED[kind])
        mean = sum(len(tactic.encode()) + 1 for tactic in tactics) / len(tactics)
        fields = {"tactics": tactics, "states": states, "signals": {"tactic_tokens": mean}}
        return Row(kind, "\n".join(tactics), "proved" if kind == "proved" else "open", fields)

    return make
