"""The checkers by id: 25 of IFEval, 58 of IFBench, 28 more that IF-RLVR trains on, Tulu 3's 25, and aliases."""

from __future__ import annotations

from collections.abc import Mapping

from rewarden_verifiers.structure.instructions import (  # noqa: F401 - the families enter their checkers
    counts,
    custom,
    detectable,
    ends,
    formats,
    keywords,
    lengths,
    letters,
    repeats,
    training,
    tulu,
    words,
)
from rewarden_verifiers.structure.instructions.checker import CHECKERS, Checker

ALIASES: Mapping[str, str] = {
    # open-instruct's IFEvalG, which IF-RLVR trains on, uses its own name for this one.
    "letters:letter_counting2": "keywords:letter_frequency",
}


def find(name: str) -> Checker | None:
    """Returns the checker with this id, or None."""
    return CHECKERS.get(ALIASES.get(name, name))
