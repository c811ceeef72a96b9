"""Control tokens in others' text: an end-of-turn token inside a message would end the turn and begin another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import re2

from rewarden_models.failure import Failure

_ROUNDS = 8
"""Rounds of breaking tokens apart: breaking one may leave another, but with no tokenizer more often than this."""


class ControlTokens:
    """The special tokens of one tokenizer, which no input text may contain, and those that its model cannot read
    because it has fewer embeddings. marks: tokens at which a head is read, special or not. Attack: a response with one
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
        # Tokenizers often reserve thousands of them, and texts are long: RE2 reads each character once.
        self._found = _matcher(named)
        self._normaliser: Any = tokenizer.backend_tokenizer.normalizer if normalised else None
        self._found_normalised = _matcher(normalised) if self._normaliser is not None else None

    def harmless(self, text: str) -> str:
        """The text with a space inside each control token, so that it is read as ordinary characters. Text without
        control tokens is returned unchanged. Raises Failure for a lone surrogate."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Failure("invalid", "the input contains a lone surrogate, which is not a character") from None
        text = _broken(text, self._found)
        if self._found_normalised is not None and self._found_normalised.search(self._normaliser.normalize_str(text)):
            # The token appears only once the tokenizer has normalised the text (to lower case, say), so the normalised
            # text is what is broken up.
            text = _broken(self._normaliser.normalize_str(text), self._found_normalised)
        return text

    def seam(self, before: str, after: str) -> str:
        """The separator between two adjacent texts: a space if a control token would arise where they meet, otherwise
        nothing.
        """
        if self._found is None or not before or not after:
            return ""
        near = before[-_LONGEST:] + after[:_LONGEST]
        middle = min(len(before), _LONGEST)
        return " " if any(found.start() < middle < found.end() for found in self._found.finditer(near)) else ""

    def within(self, value: Any) -> Any:
        """`harmless`, applied to every string in a JSON value except keys and image URLs."""
        if isinstance(value, str):
            return self.harmless(value)
        if isinstance(value, Mapping):
            return {key: item if key == "image_url" else self.within(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.within(item) for item in value]
        return value


_LONGEST = 128
"""Length in characters of the longest control token that is looked for where two texts meet."""


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
