"""`game` on chess, by the library of the extra `chess`."""

from __future__ import annotations

from typing import Any

import chess
import pytest

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.games.game import game, prepare
from rewarden_verifiers.registry import Registry

PLANNER = Planner(Registry())
MATE = {"game": "chess", "moves": "1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6"}
LINE = {"game": "chess", "fen": "6k1/5ppp/8/8/8/8/4r1PP/1R5K w - - 0 1", "line": "Rb8+ Re8 Rxe8#"}
OPENING = {"game": "chess", "best": ["e4", "d4"]}


def judged(moves: str, reference: Any, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="game", params=params)).params
    return game(f"<answer>{moves}</answer>", prepare(reference, checked), checked)


@pytest.mark.parametrize("move", ["Qxf7#", "Qxf7", "Qxf7+", "4. Qxf7#", "Qh5xf7", "h5f7", "Qxf7#!!"])
def test_a_mate_is_read_in_algebraic_notation_and_uci(move: str) -> None:
    assert judged(move, MATE).passed


@pytest.mark.parametrize(
    ("moves", "reason"),
    [
        ("Qxe5+", "unfinished"),
        ("Bxf7+", "unfinished"),
        ("Qxf8", "illegal"),
        ("O-O", "illegal"),
        ("Ke7", "illegal"),
        ("--", "malformed"),
        ("0000", "malformed"),
        ("Z0", "malformed"),
        ("Q@f7", "malformed"),
        ("Qxf7 mate", "illegal"),
        ("Qxf7# or Qxe5+", "illegal"),
        ("\u03a7f7", "malformed"),
        ("1-0", "malformed"),
    ],
)
def test_other_moves_and_passes_do_not_mate(moves: str, reason: str) -> None:
    outcome = judged(moves, MATE)
    assert (outcome.score, outcome.reason) == (0.0, reason)


@pytest.mark.parametrize(
    ("moves", "written", "passed"),
    [
        ("Rb8+ Rxe8#", "own", True),
        ("1. Rb8+ Re8 2. Rxe8#", "all", True),
        ("1. Rb8+", "own", False),
        ("1. Rb8+ Kh8 2. Rxe8", "all", False),
        ("1. Rb7 Re8 2. Rb8", "all", False),
    ],
)
def test_the_moves_of_a_puzzle(moves: str, written: str, passed: bool) -> None:
    assert judged(moves, LINE, written=written).passed is passed


def test_any_mate_ends_a_puzzle_that_mates() -> None:
    two = {"game": "chess", "fen": "7k/R7/8/8/8/8/8/1Q4K1 w - - 0 1", "line": "Qb8#"}
    board = chess.Board(two["fen"])
    mates = [move for move in board.legal_moves if board.gives_check(move) and _mates(board, move)]
    assert len(mates) > 1
    assert all(judged(move.uci(), two).passed for move in mates)


def _mates(board: chess.Board, move: chess.Move) -> bool:
    board.push(move)
    try:
        return board.is_checkmate()
    finally:
        board.pop()


@pytest.mark.parametrize("move", ["e4", "e2e4", "1.d4", "d4!"])
def test_one_of_the_best_moves(move: str) -> None:
    assert judged(move, OPENING).passed
    assert judged("a4", OPENING).reason == "wrong"
    assert judged("e4 d4", OPENING).reason == "too_many_moves"


def test_a_stalemate_is_a_draw() -> None:
    reference = {"game": "chess", "fen": "7k/5Q2/8/8/8/8/8/6K1 b - - 0 1"}
    with pytest.raises(InvalidReference, match="has ended"):
        judged("Kg8", reference)
    before = {"game": "chess", "fen": "7k/8/8/5Q2/8/8/8/6K1 w - - 0 1"}
    assert judged("Qf7", before).reason == "draw"
    assert judged("Qf7", {**before, "outcome": "draw"}).passed


@pytest.mark.parametrize(
    "reference",
    [
        {"game": "chess", "fen": "x"},
        {"game": "chess", "fen": "8/8/8/8/8/8/8/8 w - - 0 1"},
        {"game": "chess", "moves": "e4 e4"},
        {"game": "chess", "moves": "--"},
        {"game": "chess", "best": "Ke2"},
        {"game": "chess", "best": "optimal"},
        {"game": "chess", "replies": "optimal"},
    ],
)
def test_a_position_that_cannot_be_used_is_rejected(reference: dict[str, Any]) -> None:
    with pytest.raises(InvalidReference):
        judged("e4", reference)
