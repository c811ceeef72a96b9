"""Texts prepared for comparison: each is split into words and lines once, however many metrics use it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

from rewarden_verifiers.words import tokens

_LOOP_WORDS = 12
"""Minimum number of words of a loop."""
_LOOP_DISTINCT = 0.4
"""The share of distinct 4-grams below which a text is a loop."""


@dataclass(frozen=True, slots=True)
class Read:
    """A text, its words, and the words of its lines."""

    text: str
    words: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...] = field(repr=False)


def read(text: str) -> Read:
    """Prepares a text: normalised (NFC), without lone surrogates, which no metric library can handle."""
    clean = text
    if not text.isascii():
        clean = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))
    lines = tuple(found for line in clean.split("\n") if (found := tuple(tokens(line))))
    return Read(clean.strip(), tuple(word for line in lines for word in line), lines)


def loops(text: Read) -> bool:
    """Returns whether a text keeps repeating itself: few of its 4-grams are distinct."""
    count = len(text.words) - 3
    if len(text.words) < _LOOP_WORDS:
        return False
    return len(set(zip(*(text.words[place:] for place in range(4)), strict=False))) < _LOOP_DISTINCT * count
