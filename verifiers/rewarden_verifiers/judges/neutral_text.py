"""Neutral texts: they replace a candidate's text to test whether it causes a missing or unreadable reply."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable

StandIn = Callable[[str], str]
"""Turns a candidate's text into the text that replaces it."""

_SEED = secrets.randbits(64)
"""Random. Attack: a text crafted so that the server also refuses its known scrambled form."""


def neutral_text(length: int) -> str:
    """Returns `length` characters of plain sentences that request nothing and claim nothing, the same each time. The
    sentences differ, since a model that reads one sentence over and over may continue the repetition.
    """
    sentences: list[str] = []
    size = 0
    while size < length:
        number = len(sentences) + 1
        sentences.append(f"This is sentence {number} of a text that holds the place of another one. ")
        size += len(sentences[-1])
    return "".join(sentences)[:length]


def as_long(text: str) -> str:
    """The neutral text of equal length."""
    return neutral_text(len(text))


def scrambled(text: str) -> str:
    """The text's own characters in another order, the same within one process. It has no meaning, and no fewer
    tokens.
    """
    characters = list(text)
    random.Random(_SEED).shuffle(characters)
    return "".join(characters)
