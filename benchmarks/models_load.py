"""Inputs of the reward models in the benchmark: texts of mixed lengths, and groups that share a prompt."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

_WORDS = [
    "the",
    "a",
    "of",
    "and",
    "in",
    "to",
    "it",
    "was",
    "is",
    "that",
    "for",
    "on",
    "with",
    "as",
    "they",
    "at",
    "by",
    "this",
    "from",
    "had",
    "were",
    "which",
    "one",
    "all",
    "when",
    "there",
    "can",
    "more",
    "water",
    "house",
    "number",
    "seven",
    "answer",
    "therefore",
    "because",
    "river",
    "small",
    "equal",
    "proof",
    "machine",
    "letter",
    "green",
    "night",
    "result",
    "step",
]


def text(tokens: int, draw: random.Random) -> str:
    """Returns a text of about so many tokens: each of these words is one."""
    return " ".join(draw.choices(_WORDS, k=tokens))


def mixed(count: int, seed: int = 0, median: float = 160, sigma: float = 1.1, most: int = 2048) -> list[str]:
    """Returns texts with log-normal lengths, from 16 tokens to `most`, in random order: few are long."""
    draw = random.Random(seed)
    lengths = [min(most, max(16, round(math.exp(draw.gauss(math.log(median), sigma))))) for _ in range(count)]
    return [text(length - 2, draw) for length in lengths]


def groups(count: int, siblings: int, prompt: int, longest: int, seed: int = 0) -> Sequence[str]:
    """Returns `count` prompts of so many tokens, each with so many continuations of 16 to `longest` tokens."""
    draw = random.Random(seed)
    starts = [text(prompt, draw) for _ in range(count)]
    return [f"{start} {text(draw.randint(16, longest), draw)}" for start in starts for _ in range(siblings)]
