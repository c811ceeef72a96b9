"""The moves of an answer: texts separated by blanks, commas or arrows, in lists or with numbers before them."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\([^()\n]{0,20}\)|[^\s,;]+")
_TEX_SIGN = re.compile(r"\\(?=[#+])")
_TEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|texttt)\{([^{}\n]{0,200})\}")
_LABEL = re.compile(
    r"^\s*(?:(?:the|my|best|next|winning|optimal)\s+){0,3}(?:moves?|solution|path|sequence|actions?|steps?)"
    r"\s*(?::|is:?|=)\s+",
    re.IGNORECASE,
)
_QUOTES = re.compile(r"[\[\]\"'`“”‘’]|\*\*")
_LINE = re.compile(r"[ \t]*(?:[-*•][ \t]+|\(?(?:(?:step|move)[ \t]*)?([0-9]{1,4})[.):][ \t]+)", re.IGNORECASE)
_NUMBERED = re.compile(r"[0-9]{1,4}(?:\.{1,3}…?|…)|\.{3}|…", re.ASCII)
_ENDINGS = frozenset({"", "e.p.", "ep"})
"""The suffixes that may follow a move in chess."""
_STEPS = re.compile(r"[udlr]{2,}", re.ASCII | re.IGNORECASE)
_WORDS = {
    "chess": _ENDINGS,
    "connect_four": frozenset({"column", "col"}),
    "tic_tac_toe": frozenset({"square", "position", "cell"}),
    "sokoban": frozenset({"move", "push", "go", "walk", "step", "then", "and"}),
}
"""Words of each game that are no moves."""
_ARROWS = {"↑": "u", "↓": "d", "←": "l", "→": "r", "⬆": "u", "⬇": "d", "⬅": "l", "➡": "r"}
_TEX_ARROWS = re.compile(r"\\(?:(up|down|left|right)arrow|to)(?![A-Za-z])")
_TEX_SIGNS = {"up": "↑", "down": "↓", "left": "←", "right": "→", None: "→"}
_BETWEEN = re.compile(r"→|->|➡\ufe0f?|⇒")
_DIRECTION = re.compile(r"\b(?:up|down|left|right|[udlr]+)\b", re.ASCII | re.IGNORECASE)
_TAKE = re.compile(
    r"(?:take|remove)s?\s+(\d{1,9})\s+(?:[a-z]{1,12}\s+)?from\s+(?:heap|pile)\s+(\d{1,9})"
    r"|(?:heap|pile)\s+(\d{1,9})\s{0,2}[:,]\s{0,2}(?:(?:take|remove)\s+)?(\d{1,9})(?:\s+objects?)?",
    re.ASCII | re.IGNORECASE,
)
_ROW = re.compile(r"row\s+([1-3])\s{0,2},?\s{0,2}col(?:umn)?\s+([1-3])", re.ASCII | re.IGNORECASE)


def moves_in(text: str, game: str) -> list[str]:
    """The texts of moves. Numbers of moves are skipped; in Sokoban, `UURD` is four moves, and so is `↑↑→↓`."""
    text = _TEX_TEXT.sub(r"\1", _TEX_SIGN.sub("", text))  # in TeX, a hash has a backslash: \boxed{Qxf7\#}
    text = _unnumbered(_QUOTES.sub(" ", _LABEL.sub("", text)))
    if game == "sokoban":
        text = _arrows(text)
    elif game == "nim":
        text = _TAKE.sub(lambda one: f"{one[2] or one[3]}:{one[1] or one[4]}", text)
    elif game == "tic_tac_toe":
        text = _ROW.sub(r"(\1, \2)", text)
    found: list[str] = []
    skipped = _WORDS.get(game, frozenset())
    for token in _TOKEN.findall(text.strip().removesuffix(".") if game != "chess" else text):
        if game in ("chess", "sokoban") and (number := _NUMBERED.match(token)) is not None:
            token = token[number.end() :]
        token = token if token.lower() in _ENDINGS else token.removesuffix(".")
        if token.lower() in skipped:
            continue
        if game == "sokoban" and _STEPS.fullmatch(token) is not None:
            found += token
        elif token:
            found.append(token)
    return found


def _unnumbered(text: str) -> str:
    """The lines without bullets, or without numbers that count up from 1; else the text as it is.

    Attack: a number that is a move as well, as in connect four.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    marks = [_LINE.match(line) for line in lines]
    numbers = [mark[1] for mark in marks if mark is not None]
    if None in marks or not (set(numbers) == {None} or numbers == [str(at) for at in range(1, len(lines) + 1)]):
        return text
    return "\n".join(line[mark.end() :] for line, mark in zip(lines, marks, strict=True) if mark is not None)


def _arrows(text: str) -> str:
    """The text with letters for arrows. Among words or letters, an arrow to the right stands between two moves."""
    text = _TEX_ARROWS.sub(lambda one: f" {_TEX_SIGNS[one[1]]} ", text)
    if _DIRECTION.search(text) is not None:
        return _BETWEEN.sub(" ", text)
    text = text.replace("\ufe0f", "")
    return "".join(f" {_ARROWS[one]} " if one in _ARROWS else one for one in text)
