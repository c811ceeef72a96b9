"""A cleaned answer as tokens, in one pass: runs of digits, words, signs."""

from __future__ import annotations

import re

Token = tuple[str, str]
"""Kind (`number`, `word`, `sign`) and text. White space before a token is only recorded in `spaced`."""

_TOKEN = re.compile(
    r"(?P<space> *)(?:(?P<number>(?:[0-9][0-9.,]*|\.[0-9][0-9.,]*))(?:[eE](?P<exponent>[-+]?[0-9]+)(?![A-Za-z_]))?"
    r"|(?P<word>°[CFK](?![A-Za-z])|[^\W\d_]\w*|∞)|(?P<sign>\.\.+|<=|>=|!=|->|=>|.))",
    re.DOTALL,
)


class Tokens:
    """Parallel lists of tokens: kinds, texts, exponents of numerals, and whether white space precedes each."""

    __slots__ = ("exponents", "items", "lower", "spaced")

    def __init__(self, text: str) -> None:
        self.items: list[Token] = []
        self.exponents: list[str] = []
        self.spaced: list[bool] = []
        self.lower: list[str] = []
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or "sign"
            if kind == "exponent":
                kind = "number"
            body = match.group(kind)
            tail = ""
            if kind == "number":
                bare = body.rstrip(".,")
                body, tail = bare, body[len(bare) :]
            self._add(kind, body, match.group("exponent") or "", bool(match.group("space")))
            if tail:
                self._add("sign", tail[0], "", False)

    def _add(self, kind: str, text: str, exponent: str, spaced: bool) -> None:
        self.items.append((kind, text))
        self.exponents.append(exponent)
        self.spaced.append(spaced)
        self.lower.append(text.lower() if kind == "word" else text)

    def __len__(self) -> int:
        return len(self.items)
