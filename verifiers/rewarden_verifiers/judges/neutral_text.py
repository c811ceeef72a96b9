"""Neutral texts: they replace a candidate's text to test who is at fault for a missing or unreadable reply."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable

StandIn = Callable[[str], str]
"""Makes of a candidate's text the one that is in its place."""

_SEED = secrets.randbits(64)
"""Attack: a text whose other order is known beforehand, and is refused as well."""


def neutral_text(length: int) -> str:
    """Plain sentences that ask for nothing and claim nothing, so many characters of them, the same each time. They
    differ, since a model that reads one sentence over and over may go on with it."""
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
    """The text's own characters in another order, the same in one process: of no fewer tokens, and without meaning."""
    characters = list(text)
    random.Random(_SEED).shuffle(characters)
    return "".join(characters)
