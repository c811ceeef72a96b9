"""The moves of an answer: texts separated by spaces and commas."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\([^()\n]{0,20}\)|[^\s,;]+")
_TEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\{([^{}\n]{0,200})\}|\\([#+])")
_NUMBERED = re.compile(r"[0-9]{1,4}\.{1,3}", re.ASCII)
_STEPS = re.compile(r"[udlr]{2,}", re.ASCII | re.IGNORECASE)


def moves_in(text: str, game: str) -> list[str]:
    """The texts of moves. In chess the numbers of moves are skipped; in Sokoban, `UURD` is four moves."""
    found: list[str] = []
    if game == "chess":
        text = _TEX.sub(lambda one: one[1] or one[2], text)  # in TeX, a hash has a backslash: \boxed{Qxf7\#}
    for token in _TOKEN.findall(text):
        if game == "chess" and (number := _NUMBERED.match(token)) is not None:
            token = token[number.end() :]
        if game == "sokoban" and _STEPS.fullmatch(token) is not None:
            found += token
        elif token:
            found.append(token)
    return found
