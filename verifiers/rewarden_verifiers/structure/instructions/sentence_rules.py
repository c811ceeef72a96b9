"""IFBench's `sentence:*`: what a sentence must be beside the one before it."""

from __future__ import annotations

import re
from itertools import pairwise

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.text import STRIPPED, Text, bare

_ONE = "the official checker passes a single sentence, which has none to follow"


def _several(text: Text) -> bool:
    return len(text.sentences) > 1


def _alliterative(sentence: str) -> int:
    """Returns how many words stand in runs of the same first letter."""
    words = [word for raw in sentence.lower().split() if (word := raw.lstrip(STRIPPED))]
    number = 0
    running = False
    for one, other in pairwise(words):
        same = one[0] == other[0]
        number += same * (1 if running else 2)
        running = same
    return number


@plain("sentence:alliteration_increment", guard=_several, why=_ONE)
def alliteration_increment(text: Text) -> bool:
    """Each sentence has more alliterative words than the one before it."""
    numbers = [_alliterative(sentence) for sentence in text.sentences]
    return all(one < other for one, other in pairwise(numbers))


@checker("sentence:keyword")
def keyword(arguments: Arguments) -> Check:
    """`word` is there in the `N`-th sentence, as a whole word in any case."""
    pattern = re.compile(rf"\b{re.escape(arguments.text('word'))}\b", re.IGNORECASE)
    place = arguments.count("N", 1)
    return lambda text: len(text.sentences) >= place and pattern.search(text.sentences[place - 1]) is not None


@checker("sentence:increment", guard=lambda arguments: _several, why=_ONE)
def increment(arguments: Arguments) -> Check:
    """Each sentence has exactly `small_n` words more than the one before it."""
    more = arguments.count("small_n")

    def check(text: Text) -> bool:
        numbers = [len(bare(sentence).split()) for sentence in text.sentences]
        return all(one + more == other for one, other in pairwise(numbers))

    return check
