"""Parses grids as models write them: lines of cells, a table, or lists of lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from rewarden_verifiers.puzzles import literals

Cell = int | str | None
Rows = str | tuple[str | tuple[Cell, ...], ...]
"""A grid in a reference: lines of text, or rows of cells."""

BLANKS = frozenset({"", "0", "_", ".", "-", "?", "*", "none"})
MAX_SIDE = 200

RULE = re.compile(r"[-+|=\s:\u2500-\u257f]+")
"""A line that only draws a border."""
_BETWEEN = re.compile(r"[\s,;|\[\]\"'\u2502\u2503]+")
MAX_NUMBER = 4

_TUPLES = re.compile(r"\(\s*\([\d\s,()]*\)")
"""Rows of numbers as Python prints tuples of tuples."""

_DRAWN = re.compile(
    r"\\(?:begin|end)\{[a-z]{0,9}matrix\*?\}|\\(?:begin|end)\{array\}(?:\{[^{}]{0,400}\})?|\\hline|\\(?:left|right)(?=[\[\]|])"
)
_BOLD_WORD = re.compile(r"\*\*(\w{1,40})\*\*")
_BOLD = re.compile(r"\*\*([^\s*]{1,40})\*\*|\\(?:mathbf|textbf)\{([^{}\\]{0,40})\}")


def cell_of(value: Any) -> str:
    """A cell as text: numbers without a sign or leading zeros, words without bold type."""
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).casefold()
    text = str(value).strip().replace("\u2212", "-")
    bold = _BOLD_WORD.fullmatch(text)
    text = text if bold is None else bold.group(1)
    if text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER:
        return str(int(text))
    return text


def rows_of(grid: Rows) -> list[list[str]]:
    """The cells of a reference's grid. Raises ValueError if it is empty, or rows differ in length."""
    lines: Sequence[str | tuple[Cell, ...]] = [grid] if isinstance(grid, str) and "\n" not in grid else ()
    lines = lines or (grid.strip().split("\n") if isinstance(grid, str) else grid)
    rows = [_line(line) if isinstance(line, str) else [cell_of(cell) for cell in line] for line in lines]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("a grid has rows of one length")
    if len(rows) > MAX_SIDE or len(rows[0]) > MAX_SIDE:
        raise ValueError(f"a grid has at most {MAX_SIDE} rows and columns")
    return rows


def _line(line: str) -> list[str]:
    """The cells of a line: words, or the characters of a single word."""
    words = [word for word in _BETWEEN.split(line) if word]
    return [cell_of(cell) for cell in (words[0] if len(words) == 1 else words)]


def read(text: str, height: int, width: int, *, flat: bool = True) -> list[list[str]] | None:
    """Parses a grid of that size, with its cells as texts; None for anything else, including a grid with other words
    next to it.

    Rows are lines of words or, if cells are single characters, of one word. Lines that only draw borders are skipped.
    With `flat`, all cells may be on one line. Lists of lists are parsed as JSON, tuples of tuples of numbers as such
    lists, and LaTeX matrices as lines.
    """
    text = text.strip()
    if _TUPLES.fullmatch(text) is not None:
        text = text.replace("(", "[").replace(")", "]")
    rows = _read(text, height, width, flat)
    if rows is None and (plain := _undrawn(text)) != text:
        # Only as a second attempt: stars, backslashes and ampersands may be cells.
        rows = _read(plain, height, width, flat)
    return rows


def _undrawn(text: str) -> str:
    """Removes LaTeX around a matrix and between its cells, and bold type."""
    if "\\begin" in text:
        text = _DRAWN.sub(" ", text).replace("\\\\", "\n").replace("&", " ")
    return _BOLD.sub(lambda match: match.group(1) or match.group(2) or "", text).strip()


def _read(text: str, height: int, width: int, flat: bool) -> list[list[str]] | None:
    if text.startswith(("[", "{")):
        try:
            return _listed(literals.parse(text), height, width)
        except literals.NotRead:
            pass  # rows such as "[1, 2]" on lines of their own
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != height:
        lines = [line for line in lines if RULE.fullmatch(line) is None]
    if len(lines) == 1 and height > 1 and flat:
        words = [word for word in _BETWEEN.split(lines[0]) if word]
        cells = list(words[0]) if len(words) == 1 else words
        if len(words) == height and len(words) != height * width and all(len(word) == width for word in words):
            cells = list("".join(words))
        if len(cells) != height * width:
            return None
        return [[cell_of(cell) for cell in cells[row * width : (row + 1) * width]] for row in range(height)]
    if len(lines) != height:
        return None
    rows: list[list[str]] = []
    for line in lines:
        words = [word for word in _BETWEEN.split(line) if word]
        cells = list(words[0]) if len(words) == 1 and len(words[0]) == width else words
        if len(cells) != width:
            return None
        rows.append([cell_of(cell) for cell in cells])
    return rows


def _listed(value: Any, height: int, width: int) -> list[list[str]] | None:
    if isinstance(value, dict):
        if len(value) != 1:
            return None
        (value,) = value.values()
    if not isinstance(value, list) or len(value) != height:
        return None
    rows: list[list[str]] = []
    for row in value:
        if isinstance(row, str):
            row = _line(row)
        if not isinstance(row, list) or len(row) != width or any(isinstance(cell, (list, dict)) for cell in row):
            return None
        rows.append([cell_of(cell) for cell in row])
    return rows


def best_constant(cells: Iterable[Hashable]) -> int:
    """Returns the number of cells that the best constant answer gets right."""
    return max(Counter(cells).values(), default=0)
