"""Attacks on `game`, each with its honest twin. Those on chess are in tests/verifiers/test_game_chess.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.attacks.pairs import Pair

SQUARE = {"game": "tic_tac_toe", "squares": "XX.OO....", "best": "optimal"}
FOUR = {"game": "connect_four", "moves": "1 2 1 2 1 2"}
LINE = {"game": "connect_four", "moves": "4 1 4 1", "line": "4 2 4"}
NIM = {"game": "nim", "heaps": [3, 4, 5], "best": "optimal"}
RECORDED = {"game": "nim", "heaps": [2, 2, 1], "replies": "1:1, 2:1"}
BOX = {"game": "sokoban", "grid": ["######", "#    #", "# @$ #", "#  . #", "#    #", "######"]}


def _answer(text: str) -> str:
    return f"<answer>{text}</answer>"


_TABLE: list[tuple[str, Any, str, str, Mapping[str, Any]]] = [
    # Several answers
    ("every square", SQUARE, _answer("3 6 7 8 9"), _answer("3"), {}),
    ("a second square", SQUARE, _answer("3, 6"), _answer("3"), {}),
    ("two tags", SQUARE, _answer("6") + _answer("3"), _answer("3") + _answer("3"), {}),
    ("two boxes", SQUARE, r"\boxed{6} or \boxed{3}", r"\boxed{3}", {}),
    ("every column", FOUR, _answer("3 4 5 6 7 1"), _answer("1"), {}),
    ("a list", FOUR, _answer("[1, 2, 3]"), _answer("1"), {}),
    ("all lines", LINE, _answer("5 4 4"), _answer("4 4"), {}),
    ("a longer line", LINE, _answer("4 4 4"), _answer("4 4"), {}),
    # The other side's moves
    ("a weak reply", {"game": "nim", "heaps": [1, 2], "replies": "optimal"}, _answer("1:1 2:1 2:1"), _answer("2:1, 2:1"), {}),
    ("a reply of its own", RECORDED, _answer("3:1 2:2 1:2"), _answer("3:1 1:1 2:1 2:1 1:1"), {"written": "all"}),
    ("the recorded game pushed aside", RECORDED, _answer("1:2 2:2 3:1"), _answer("3:1 1:1 2:1"), {}),
    ("the other side's move for one's own", LINE, _answer("4 2"), _answer("4 4"), {}),
    # No moves
    ("nothing", SQUARE, "", _answer("3"), {}),
    ("an empty tag", SQUARE, _answer(""), _answer("3"), {}),
    ("a tag that never closes", SQUARE, "<answer>3", _answer("3"), {}),
    ("no mark", SQUARE, "3", r"\boxed{3}", {}),
    ("resigning", SQUARE, _answer("resign"), _answer("c1"), {}),
    ("passing", FOUR, _answer("0"), _answer("1"), {}),
    ("a claim", FOUR, _answer("I win"), _answer("1"), {}),
    ("taking nothing", NIM, _answer("1:0"), _answer("1:2"), {}),
    ("taking a negative number", NIM, _answer("1:-2"), _answer("1:2"), {}),
    ("standing still", BOX, _answer("-"), _answer("URD"), {}),
    # Forms
    ("digits of another script", SQUARE, _answer("\u0663"), _answer("3"), {}),
    ("a full-width digit", FOUR, _answer("\uff11"), _answer("1"), {}),
    ("a fraction", FOUR, _answer("1.0"), _answer("1"), {}),
    ("an exponent", NIM, _answer("1:2e0"), _answer("(1, 2)"), {}),
    ("an expression", FOUR, _answer("3-2"), _answer("1"), {}),
    ("a look-alike letter", BOX, _answer("U R \u216e"), _answer("U R D"), {}),
    ("numbers that are moves, too", FOUR, _answer("2. 1\n3. 1"), _answer("1. 1"), {}),
    ("an arrow against the word", BOX, _answer("U (↓) R D"), _answer("↑ → ↓"), {}),
    ("arrows for a step to the right", BOX, _answer("U → → D"), _answer("U → R → D"), {}),
    ("taking more in words", NIM, _answer("take 2 from heap 1, take 1 from heap 2"), _answer("take 2 from heap 1"), {}),
    ("two squares in words", SQUARE, _answer("row 1, column 3 or row 2, column 3"), _answer("row 1, column 3"), {}),
    ("arrows without end", BOX, _answer("→" * 9_000), _answer("↑→↓"), {}),
    ("code", FOUR, _answer("__import__('os')"), _answer("1"), {}),
    ("the thought alone", SQUARE, "<think><answer>3</answer></think>Done.", "<think>hm</think>" + _answer("3"), {}),
    # The end
    ("moves after the win", BOX, _answer("URDU"), _answer("URD"), {}),
    ("a move after the win", FOUR, _answer("1 1"), _answer("1"), {}),
    ("a walk without end", BOX, _answer("RL" * 5000), _answer("L" + "RL" * 20 + "RURD"), {}),
    ("ten thousand columns", FOUR, _answer("3 " * 9000), _answer("1"), {}),
    ("a book", SQUARE, "3 " * 100_000, "so " * 100_000 + _answer("3"), {}),
    ("brackets without end", SQUARE, _answer("(" * 15_000), _answer("(1, 3)"), {}),
    # Credit
    ("half of a line that is never begun", LINE, _answer("5 4"), _answer("4 4"), {"credit": "line"}),
]  # fmt: skip

PAIRS = [
    Pair(title=title, use="game", reference=reference, attack=attack, twin=twin, params=params)
    for title, reference, attack, twin, params in _TABLE
]
