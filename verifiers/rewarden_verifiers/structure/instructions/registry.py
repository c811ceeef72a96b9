"""The checkers by id: 25 of IFEval, 58 of IFBench, and other names for them."""

from __future__ import annotations

from collections.abc import Mapping

from rewarden_verifiers.structure.instructions import (
    counts,
    custom,
    detectable,
    ends,
    formats,
    keywords,
    lengths,
    letters,
    ratios,
    repeats,
    sentence_rules,
    tables,
    words,
)
from rewarden_verifiers.structure.instructions.checker import CHECKERS, Checker

FAMILIES = (
    keywords,
    lengths,
    detectable,
    letters,
    ends,
    counts,
    ratios,
    words,
    sentence_rules,
    formats,
    repeats,
    custom,
    tables,
)
"""The modules that enter the checkers; importing them is what fills the table."""

ALIASES: Mapping[str, str] = {
    # open-instruct's IFEvalG, which IF-RLVR trains on, has its own name for this one; its other ids check other things.
    "letters:letter_counting2": "keywords:letter_frequency",
}


def find(name: str) -> Checker | None:
    """The checker of an id, or None where there is none."""
    return CHECKERS.get(ALIASES.get(name, name))
