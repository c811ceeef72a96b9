"""A response as the checkers read it: split into the parts that they need, each only once."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cached_property

from rewarden_verifiers.structure import languages
from rewarden_verifiers.structure.instructions.ruled_sentences import ruled_sentences
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.tokens import tokens

STRIPPED = string.punctuation + " "
"""Characters that checkers take off a word's ends."""
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DETECTED = 20_000
"""Characters that the language is told from; langdetect looks at half as many, after it took addresses out."""


def bare(text: str) -> str:
    """A text without ASCII's punctuation marks."""
    return text.translate(_NO_PUNCTUATION)


class Text:
    """A response, or a loose variant of one."""

    def __init__(self, value: str) -> None:
        self.value = value

    @cached_property
    def lower(self) -> str:
        """The text in small letters."""
        return self.value.lower()

    @cached_property
    def words(self) -> Sequence[str]:
        """Returns what blanks part."""
        return self.value.split()

    @cached_property
    def bare(self) -> str:
        """The text without punctuation marks."""
        return bare(self.value)

    @cached_property
    def lines(self) -> Sequence[str]:
        """Returns what line feeds part."""
        return self.value.split("\n")

    @cached_property
    def sentences(self) -> Sequence[str]:
        """The sentences."""
        return sentences(self.value)

    @cached_property
    def ruled_sentences(self) -> Sequence[str]:
        """The sentences as IF-RLVR's checkers cut them."""
        return ruled_sentences(self.value)

    @cached_property
    def tokens(self) -> Sequence[str]:
        """The words and marks, as the Treebank parts them."""
        return tokens(self.sentences)

    @cached_property
    def language(self) -> str | None:
        """The code of the likeliest language; None if there is nothing to tell it from."""
        return next(iter(languages.probabilities(self.value[:_DETECTED])), None)
