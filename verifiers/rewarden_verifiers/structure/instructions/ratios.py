"""IFBench's `ratio:*`: what is how much of what."""

from __future__ import annotations

from collections import Counter

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.lengths import words_of
from rewarden_verifiers.structure.instructions.stopwords import STOPWORDS
from rewarden_verifiers.structure.instructions.text import Text

_NEAR = 2
"""Points of a percentage by which an overlap may miss."""


@checker("ratio:stop_words")
def stop_words(arguments: Arguments) -> Check:
    """At most `percentage` per cent of the words are stop words of English."""
    most = arguments.percentage("percentage")

    def check(text: Text) -> bool:
        words = words_of(text)
        return bool(words) and sum(word.lower() in STOPWORDS for word in words) / len(words) * 100 <= most

    return check


def _marks(text: Text) -> Counter[str]:
    return Counter(sentence[-1:] for sentence in text.sentences)


@plain(
    "ratio:sentence_type",
    guard=lambda text: _marks(text)["?"] > 0,
    why="the official checker passes a response without any declarative or interrogative sentence: 0 is twice 0",
)
def sentence_type(text: Text) -> bool:
    """Twice as many sentences end in a period as in a question mark."""
    marks = _marks(text)
    return marks["."] == 2 * marks["?"]


@plain(
    "ratio:sentence_balance",
    guard=lambda text: _marks(text)["."] > 0,
    why="the official checker passes a response without any sentence that ends in a mark: 0 equals 0",
)
def sentence_balance(text: Text) -> bool:
    """As many sentences end in a period as in a question mark and in an exclamation mark."""
    marks = _marks(text)
    return marks["."] == marks["?"] == marks["!"]


def _trigrams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(len(text) - 2)}


@checker("ratio:overlap")
def overlap(arguments: Arguments) -> Check:
    """`percentage` per cent (two points more or less) of the different trigrams of characters are the reference's."""
    reference = _trigrams(arguments.text("reference_text"))
    wanted = arguments.percentage("percentage")

    def check(text: Text) -> bool:
        own = _trigrams(text.value)
        return bool(own) and wanted - _NEAR <= len(own & reference) / len(own) * 100 <= wanted + _NEAR

    return check


@plain(
    "ratio:sentence_words",
    guard=lambda text: len(set(text.sentences)) == 3,
    why="the official checker does not look at the words: it passes the same sentence three times",
)
def sentence_words(text: Text) -> bool:
    """Three sentences of the same number of characters."""
    return len(text.sentences) == 3 and len({len(sentence.strip()) for sentence in text.sentences}) == 1
