"""IFEval's `keywords:*`: required, permitted and forbidden words.

A keyword is literal text here. In the official code it is a regular expression: "C++" raises an error, and "U.S."
matches "UXSX". Without guards, it is one here, too.
"""

from __future__ import annotations

import re

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker
from rewarden_verifiers.structure.instructions.patterns import counted


@checker("keywords:existence", official=lambda arguments: counted(arguments.texts("keywords"), all))
def existence(arguments: Arguments) -> Check:
    """Each of `keywords` occurs, ignoring case, even within a word."""
    patterns = [re.compile(re.escape(word), re.IGNORECASE) for word in arguments.texts("keywords")]
    return lambda text: all(pattern.search(text.value) for pattern in patterns)


def _frequency(arguments: Arguments) -> Check:
    fits = arguments.compared("frequency")
    return counted([arguments.word("keyword")], lambda found: fits(found[0]))


@checker("keywords:frequency", official=_frequency)
def frequency(arguments: Arguments) -> Check:
    """`keyword` occurs "at least" or "less than" (`relation`) `frequency` times, ignoring case."""
    pattern = re.compile(re.escape(arguments.word("keyword")), re.IGNORECASE)
    fits = arguments.compared("frequency")
    return lambda text: fits(sum(1 for _ in pattern.finditer(text.value)))


def _forbidden(arguments: Arguments) -> Check:
    return counted(arguments.texts("forbidden_words"), lambda found: not any(found), words=True)


@checker("keywords:forbidden_words", official=_forbidden)
def forbidden_words(arguments: Arguments) -> Check:
    """None of `forbidden_words` occurs as a whole word, ignoring case."""
    words = "|".join(re.escape(word) for word in dict.fromkeys(arguments.texts("forbidden_words")))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    return lambda text: pattern.search(text.value) is None


@checker("keywords:letter_frequency")
def letter_frequency(arguments: Arguments) -> Check:
    """`letter` occurs "at least" or "less than" (`let_relation`) `let_frequency` times, ignoring case."""
    letter = arguments.letter("letter")
    fits = arguments.compared("let_frequency", "let_relation")
    return lambda text: fits(text.lower.count(letter))
