"""Control tokens within what others wrote: a turn's end inside a message would end the turn, and begin another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import re2

from rewarden_models.failure import Failure

_ROUNDS = 8
"""Breaking one token apart may leave another; no tokenizer's do so more often."""


class ControlTokens:
    """The special tokens of one tokenizer, which no text that is read can contain; and those that its model cannot
    read, for it has fewer embeddings. marks: tokens that a head is read at, special or not. Attack: a response with one
    of these would go unscored, or be read in another's place. Thread-safe."""

    def __init__(self, tokenizer: Any, embeddings: int | None = None, marks: Sequence[str] = ()) -> None:
        added = tokenizer.added_tokens_decoder.items()
        special = [
            token
            for number, token in added
            if token.special or token.content in marks or (embeddings is not None and number >= embeddings)
        ]
        named = {token.content for token in special if token.content.strip()}
        normalised = {token.content for token in special if token.normalized and token.content.strip()}
        # Thousands of reserved ones are usual, and texts are long: RE2 reads each character once.
        self._found = _matcher(named)
        self._normaliser: Any = tokenizer.backend_tokenizer.normalizer if normalised else None
        self._found_normalised = _matcher(normalised) if self._normaliser is not None else None

    def harmless(self, text: str) -> str:
        """The text, with a space within each control token, so that it is read as the letters that it is made of. What
        holds none is returned as it is. Raises Failure for what is not text."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Failure("invalid", "the input contains a lone surrogate, which is not a character") from None
        text = _broken(text, self._found)
        if self._found_normalised is not None and self._found_normalised.search(self._normaliser.normalize_str(text)):
            # It is found in what the tokenizer makes of the text (small letters, say), so that is what is broken.
            text = _broken(self._normaliser.normalize_str(text), self._found_normalised)
        return text

    def seam(self, before: str, after: str) -> str:
        """Returns what goes between two texts that stand side by side: a space where a control token would arise
        there.
        """
        if self._found is None or not before or not after:
            return ""
        near = before[-_LONGEST:] + after[:_LONGEST]
        middle = min(len(before), _LONGEST)
        return " " if any(found.start() < middle < found.end() for found in self._found.finditer(near)) else ""

    def within(self, value: Any) -> Any:
        """The same of all texts in a value of JSON, but for keys, and for addresses of images."""
        if isinstance(value, str):
            return self.harmless(value)
        if isinstance(value, Mapping):
            return {key: item if key == "image_url" else self.within(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.within(item) for item in value]
        return value


_LONGEST = 128
"""Characters of the longest control token that is looked for where two texts meet."""


def _matcher(texts: set[str]) -> Any:
    if not texts:
        return None
    options = re2.Options()
    options.max_mem = 64 << 20
    return re2.compile("|".join(re2.escape(text) for text in sorted(texts, key=len, reverse=True)), options)


def _broken(text: str, found: Any) -> str:
    for _ in range(_ROUNDS):
        if found is None or not found.search(text):
            return text
        text = found.sub(_apart, text)
    raise Failure("invalid", "the input is full of nested control tokens")


def _apart(match: Any) -> str:
    token: str = match.group()
    return f"{token[0]} {token[1:]}" if len(token) > 1 else " "
