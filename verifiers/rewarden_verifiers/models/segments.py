"""The parts of a response that are classified one by one, and the test for a response that only copies its prompt."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from rewarden_verifiers.words import tokens

Segments = Literal["whole", "sentences", "lines", "paragraphs"]

_ENDS = {
    "sentences": re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’)\]])\s+|(?<=[。！？])|\n+"),
    "lines": re.compile(r"\n+"),
    "paragraphs": re.compile(r"\n[^\S\n]*\n\s*"),
}

_WORDS = 8
"""The number of consecutive words that match the prompt only if they were copied."""


def segments_of(text: str, by: Segments) -> list[str]:
    """The segments that contain a letter, a digit or a symbol, in order."""
    if by == "whole":
        return [text]
    return [
        part.strip() for part in _ENDS[by].split(text) if any(unicodedata.category(one)[0] in "LNS" for one in part)
    ]


def copied(response: str, prompt: str) -> bool:
    """Returns whether the response is the prompt, or a part of it longer than a short phrase. Case, punctuation and
    invisible characters are ignored.
    """
    said = tokens(response)
    asked = tokens(prompt)
    if not said or len(said) > len(asked):
        return False
    return said == asked or (len(said) >= _WORDS and f" {' '.join(said)} " in f" {' '.join(asked)} ")
