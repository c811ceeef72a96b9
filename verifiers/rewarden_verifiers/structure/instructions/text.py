"""A response as the checkers read it. Each kind of part is computed only once."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cached_property

from rewarden_verifiers.structure import languages
from rewarden_verifiers.structure.instructions.ruled_sentences import ruled_sentences
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.tokens import tokens

STRIPPED = string.punctuation + " "
"""Characters that checkers strip from a word."""
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DETECTED = 20_000
"""The number of characters used to detect the language; langdetect uses half as many, after removing addresses."""


def bare(text: str) -> str:
    """Removes ASCII punctuation."""
    return text.translate(_NO_PUNCTUATION)


class Text:
    """A response, or a loose variant of one."""

    def __init__(self, value: str) -> None:
        self.value = value

    @cached_property
    def lower(self) -> str:
        """The text in lower case."""
        return self.value.lower()

    @cached_property
    def words(self) -> Sequence[str]:
        """The parts between white space."""
        return self.value.split()

    @cached_property
    def bare(self) -> str:
        """The text without punctuation."""
        return bare(self.value)

    @cached_property
    def lines(self) -> Sequence[str]:
        """The parts between line feeds."""
        return self.value.split("\n")

    @cached_property
    def sentences(self) -> Sequence[str]:
        """The sentences."""
        return sentences(self.value)

    @cached_property
    def ruled_sentences(self) -> Sequence[str]:
        """The sentences as IF-RLVR's checkers split them."""
        return ruled_sentences(self.value)

    @cached_property
    def tokens(self) -> Sequence[str]:
        """The tokens by the Treebank's rules."""
        return tokens(self.sentences)

    @cached_property
    def language(self) -> str | None:
        """The code of the most likely language; None if the text does not suffice."""
        return next(iter(languages.probabilities(self.value[:_DETECTED])), None)
