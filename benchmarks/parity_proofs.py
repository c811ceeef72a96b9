"""Rows for comparing rewards of formal proofs, whose outcome stands in the row instead of a prover's."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.parity_rows import Row, drawn, thought

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


_STATEMENT = "theorem sum_of_two (a b : ℝ) (h : a + b = 3) : b = 3 - a := by"
_STEPS = (
    "  have h0 : a + b - a = 3 - a := by rw [h]", "  have h1 : b = a + b - a := by ring", "  rw [h1]", "  exact h0",
    "  norm_num", "  linarith", "  simp only [add_comm]", "  nlinarith [h, sq_nonneg a]",
)  # fmt: skip
_LOOP = "now multiply both sides by eleven, subtract seven, divide everything again, compare left hand side"
_VAGUE = "so it is as it was, and we are not there yet, but it is not far from that"


def reasoned_proofs() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with a proof after reasoning with its tactics. Lean's verdict is the reference."""

    def make(rng: random.Random) -> Row:
        steps = rng.sample(_STEPS, rng.randint(4, 8))
        proof = [_STATEMENT, *steps]
        middle = rng.randint(2, len(proof) - 2)
        kinds = {
            "all": (12, (proof[:middle], proof[middle:])),
            "most": (4, (proof[:-1][:middle], proof[:-1][middle:] or ["  skip"])),
            "half": (3, (proof[: len(proof) // 2], ["  skip"])),
            "other": (2, (["  intro x", "  omega"], ["  decide"])),
            "copied": (2, (proof, proof[:1])),
            "padded": (1, ([*proof[:middle], "", "-- nothing follows", ""], proof[middle:])),
            "commented": (2, ([f"{line} -- as planned" for line in proof[:middle]], ["/- a", "b -/", *proof[middle:]])),
            "indented": (1, ([f"    {line}" for line in proof[:middle]], [line.strip() for line in proof[middle:]])),
            "one block": (2, (proof[1:],)),
            "no tactics": (1, ()),
        }  # fmt: skip
        kind, blocks = drawn(rng, kinds)
        told = [f"{thought(rng)}\n```tactics\n" + "\n".join(block) + "\n```" for block in blocks]
        loops = {
            "": (14, []),
            ", loop": (2, [_LOOP] * rng.choice((5, 6, 9))),
            ", short loop": (1, ["So this must hold."] * 9),
            ", vague loop": (1, [_VAGUE] * rng.choice((5, 6))),
        }
        loop, lines = drawn(rng, loops)
        why = "\n".join([*lines, *told, thought(rng)])
        written = [line if rng.random() < 0.9 else f"{line} -- {thought(rng)}" for line in proof]
        code = "```lean4\n" + "\n".join(written) + "\n```"
        forms = {
            "plain": (14, f"<think>\n{why}\n</think>\n\n{code}"),
            "explained": (2, f"<think>\n{why}\n</think>\nHere is the proof.\n{code}\n"),
            "before": (1, f"I begin.\n<think>\n{why}\n</think>\n{code}"),
            "after": (1, f"<think>\n{why}\n</think>\n{code}\nThat proves it."),
            "no thought": (1, f"{why}\n{code}"),
            "thought twice": (1, f"<think>\n{why}\n</think>\n<think>again</think>\n{code}"),
            "opened": (1, f"{why}\n</think>\n{code}"),
            "two proofs": (1, f"<think>\n{why}\n</think>\n{code}\n{code}"),
            "in the thought": (1, f"<think>\n{why}\n{code}\n</think>"),
            "no proof": (1, f"<think>\n{why}\n</think>\nI cannot prove it."),
            "cut": (1, f"<think>\n{why}\n</think>\n{code[:-4]}"),
            "empty": (1, ""),
        }  # fmt: skip
        form, response = drawn(rng, forms)
        proved = rng.random() < 0.7
        return Row(f"{kind}{loop}, {form}", response, "proved" if proved else "open", {"statement": _STATEMENT})

    return make
