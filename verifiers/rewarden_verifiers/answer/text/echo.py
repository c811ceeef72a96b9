"""Echoes of the question: an answer can contain one, but it earns nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from rewarden_verifiers.answer.text.normalise import UNSPACED
from rewarden_verifiers.extraction import encodable

_TAIL = 2000
"""Number of characters at the end of a prompt that are searched for its question."""
_LEAST = 3
"""Minimum number of words of a question."""
_QUESTIONS = 1024
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_LABEL = re.compile(r"\s*(?:user|question|query|q|problem|问题|问)\s*[:：]\s*", re.IGNORECASE)
_BORDER = re.compile(r"[.!?。！？]\s+|\n")
_GAP = r"[^\pL\pN]*"


class Question:
    """The question in a prompt: its words, and a pattern that finds it with any punctuation."""

    __slots__ = ("_pattern", "_words", "size")

    def __init__(self, text: str, words: list[str]) -> None:
        self.size = len(text)
        self._words = f" {' '.join(words)} "
        self._pattern: Any = re2.compile(f"(?i){_GAP.join(words)}[?？.:]*")

    def without(self, text: str) -> str:
        """The text without echoes of the question; blank if it is only an echo, or mostly one."""
        if 2 * len(text) < self.size:
            return text
        words = [word.lower() for word in _WORD.findall(text)]
        if f" {' '.join(words)} " in self._words and 2 * len(words) > self._words.count(" ") - 1:
            return ""
        left: str = self._pattern.sub(" ", encodable(text))
        return left.strip(" \t\r\n:-\u2013\u2014>*")


def question_of(prompt: str) -> Question | None:
    """The last question of a prompt, or its last line if there is no question mark; None for fewer than 3 words.

    Cached, since many responses share a prompt.
    """
    return _question(prompt[-_TAIL:])


@lru_cache(maxsize=_QUESTIONS)
def _question(tail: str) -> Question | None:
    tail = encodable(tail).rstrip()
    mark = max(tail.rfind("?"), tail.rfind("？"))
    end = mark + 1 if mark >= 0 else len(tail)
    start = 0 if mark >= 0 else tail.rfind("\n") + 1
    for border in _BORDER.finditer(tail, start, end - 1 if mark >= 0 else end):
        start = border.end()
    text = tail[start:end]
    label = _LABEL.match(text)
    if label is not None:
        text = text[label.end() :]
    words = [word.lower() for word in _WORD.findall(text)]
    return Question(text, words) if len(words) >= _LEAST else None
