"""`game`: the rules of the small games, lines, best moves and outcomes."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.games.connect_four import ConnectFour
from rewarden_verifiers.games.game import game, prepare
from rewarden_verifiers.games.nim import Nim
from rewarden_verifiers.games.tic_tac_toe import TicTacToe
from rewarden_verifiers.registry import Registry
from tests.attacks.pairs_game import BOX, FOUR, LINE, NIM, RECORDED, SQUARE

PLANNER = Planner(Registry())


def judged(moves: str, reference: Any, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="game", params=params)).params
    return game(f"<answer>{moves}</answer>", prepare(reference, checked), checked)


@pytest.mark.parametrize("seed", range(30))
def test_four_in_a_row_is_what_a_scan_of_the_whole_board_finds(seed: int) -> None:
    choose, board = random.Random(seed), ConnectFour().board()
    cells: dict[tuple[int, int], str] = {}
    heights = [0] * 7
    while board.winner() is None:
        column = choose.choice([at for at in range(7) if heights[at] < 6])
        cells[column, heights[column]] = board.turn
        heights[column] += 1
        board.play(board.read(str(column + 1)))
        rows = [
            [cells.get((x + i * dx, y + i * dy)) for i in range(4)]
            for x, y, (dx, dy) in itertools.product(range(7), range(6), ((1, 0), (0, 1), (1, 1), (1, -1)))
        ]
        won = {row[0] for row in rows if row[0] is not None and len(set(row)) == 1}
        assert board.winner() == (won.pop() if won else "nobody" if sum(heights) == 42 else None)


@pytest.mark.parametrize("last", ["wins", "loses"])
@pytest.mark.parametrize("heaps", list(itertools.combinations_with_replacement(range(5), 3))[1:])
def test_the_best_moves_of_nim_are_those_of_a_search(heaps: tuple[int, ...], last: Any) -> None:
    def wins(state: tuple[int, ...]) -> bool:
        """Returns whether the side to move wins."""
        if not any(state):
            return last == "loses"
        return any(not wins(after) for after in moves(state).values())

    def moves(state: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        return {
            f"{at + 1}:{count}": (*state[:at], state[at] - count, *state[at + 1 :])
            for at in range(len(state))
            for count in range(1, state[at] + 1)
        }

    good = {move for move, after in moves(heaps).items() if not wins(after)}
    assert set(Nim(heaps=heaps, last=last).board().best()) == (good or set(moves(heaps)))


def test_nobody_beats_the_best_moves_of_tic_tac_toe() -> None:
    def play(board: Any, squares: str) -> None:
        if board.winner() is not None:
            assert board.winner() != "second"
            return
        for square in [at for at in range(9) if squares[at] == "."] if board.turn == "second" else [None]:
            move = board.best()[0] if square is None else str(square + 1)
            mark = "X" if board.turn == "first" else "O"
            after = squares[: int(move) - 1] + mark + squares[int(move) :]
            play(TicTacToe(squares=after).board(), after)

    play(TicTacToe().board(), "." * 9)


@pytest.mark.parametrize("order", list(itertools.permutations("123"))[:3])
def test_a_move_is_judged_by_its_place_and_not_by_its_writing(order: tuple[str, ...]) -> None:
    reference = {"game": "tic_tac_toe", "squares": ".........", "best": list(order)}
    assert all(judged(move, reference).passed for move in ("1", "a1", "(1, 1)", "B1"))
    assert not judged("4", reference).passed


@pytest.mark.parametrize(
    ("moves", "score", "reason"),
    [("4 4", 1.0, None), ("4", 0.5, "unfinished"), ("4 5", 0.5, "wrong"), ("5", 0.0, "wrong"), ("4 9", 0.5, "illegal")],
)
def test_the_share_of_a_line(moves: str, score: float, reason: str | None) -> None:
    outcome = judged(moves, LINE, credit="line")
    assert (outcome.score, outcome.reason) == (score, reason)
    assert judged(moves, LINE).score == float(score == 1.0)


def test_another_win_counts_only_if_the_line_wins() -> None:
    reference = {"game": "connect_four", "moves": "2 7 3 7 4 7"}
    assert judged("1", {**reference, "line": "5"}).passed
    assert not judged("1", {**reference, "line": "6"}).passed


def test_the_side_to_move_after_the_moves_is_the_policys() -> None:
    second = {"game": "connect_four", "moves": "1 2 1 2 1 2 7"}
    assert judged("2", second).passed
    assert judged("1", second).reason == "unfinished"


def test_a_loss_and_a_draw_are_told_apart() -> None:
    lost = judged("1:1 1:1", {"game": "nim", "heaps": [2, 1], "last": "loses", "replies": "2:1"})
    assert (lost.score, lost.reason, lost.evidence["result"]) == (0.0, "loss", "loss")
    drawn = {"game": "tic_tac_toe", "replies": "1 7 6 2"}
    assert judged("5 3 4 8 9", drawn).reason == "draw"
    assert judged("5 3 4 8 9", drawn, draw=0.5).score == 0.5
    assert judged("5 3 4 8 9", {**drawn, "outcome": "draw"}).passed


def test_the_evidence_shows_the_moves_of_both_sides() -> None:
    evidence = judged("3:1 1:1 2:1", RECORDED).evidence
    assert (evidence["moves"], evidence["last"]) == (5, ["1:1", "1:1", "2:1", "2:1"])


@pytest.mark.parametrize(
    ("moves", "why"),
    [
        ("L L", "move 2: l: there is a wall"),
        ("R R R", "move 2: r: the box cannot be pushed"),
        ("UPWARDS", "'UPWARDS' is not a direction"),
    ],
)
def test_a_wrong_step_is_explained(moves: str, why: str) -> None:
    assert judged(moves, BOX).feedback == why


def test_replaying_leaves_the_reference_as_it_was() -> None:
    params = PLANNER.bind(Use(name="game")).params
    prepared = prepare(BOX, params)
    assert [game("<answer>URD</answer>", prepared, params).passed for _ in range(3)] == [True] * 3


@pytest.mark.parametrize(
    "reference",
    [
        {"game": "chess960"},
        {},
        {"game": "tic_tac_toe", "squares": "XXX......"},
        {"game": "tic_tac_toe", "squares": "XX"},
        {"game": "tic_tac_toe", "colour": "red"},
        {"game": "connect_four", "columns": 100},
        {"game": "connect_four", "best": "optimal"},
        {"game": "connect_four", "replies": "optimal"},
        {"game": "connect_four", "best": ["1", "2", "3", "4", "5", "6", "7"]},
        {"game": "connect_four", "best": []},
        {"game": "connect_four", "line": ""},
        {"game": "connect_four", "line": "1", "best": "1"},
        {"game": "nim", "heaps": []},
        {"game": "nim", "heaps": [0, 0]},
        {"game": "nim", "heaps": [10**9]},
        {"game": "sokoban", "grid": "###"},
        {"game": "sokoban", "grid": "#@$ #"},
        {"game": "sokoban", "grid": "#@*#"},
        {"game": "sokoban", "grid": "#@$.#", "max_moves": 0},
    ],
)
def test_a_reference_that_asks_for_nothing_is_rejected(reference: dict[str, Any]) -> None:
    with pytest.raises(InvalidReference):
        judged("1", reference)


@given(st.text(alphabet="123456789abcULRD(), :.-\u0663", max_size=40))
def test_no_text_breaks_a_game(text: str) -> None:
    for reference in (SQUARE, FOUR, LINE, NIM, RECORDED, BOX):
        assert judged(text, reference).status == "scored"
