"""References of `game`: a position, and the question about it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.games.chess_game import Chess
from rewarden_verifiers.games.connect_four import ConnectFour
from rewarden_verifiers.games.nim import Nim
from rewarden_verifiers.games.replay import MAX_MOVES, Task
from rewarden_verifiers.games.rules import Board, Illegal, NotAMove
from rewarden_verifiers.games.sokoban import Sokoban
from rewarden_verifiers.games.tic_tac_toe import TicTacToe
from rewarden_verifiers.games.written import moves_in

GAMES: Mapping[str, type[Any]] = {
    "chess": Chess,
    "tic_tac_toe": TicTacToe,
    "connect_four": ConnectFour,
    "nim": Nim,
    "sokoban": Sokoban,
}
"""Each game to what its references say of the position."""

Moves = str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """moves: moves of both sides that have been made. line: moves of both sides from here. best: moves of which one
    must be found, or `optimal`. outcome: the result to reach, if neither `line` nor `best` is given. replies: the other
    side's moves, or `optimal`. max_moves: the most moves of the policy.
    """

    moves: Moves = ()
    line: Moves | None = None
    best: Moves | None = None
    outcome: Literal["win", "draw"] = "win"
    replies: Moves = ()
    max_moves: int = MAX_MOVES

    def task(self, board: Board, game: str, written: Literal["own", "all"]) -> Task:
        """The task. Raises ValueError for moves that are not legal, or if the game is over."""
        _played(board, _texts(self.moves, game), "moves")
        if board.winner() is not None:
            raise ValueError("the game has ended")
        if not 1 <= self.max_moves <= MAX_MOVES:
            raise ValueError(f"max_moves must be 1 to {MAX_MOVES}")
        if self.line is not None and self.best is not None:
            raise ValueError("give line or best, not both")
        limits: dict[str, Any] = {"written": written, "max_moves": self.max_moves}
        if self.line is not None:
            line = _played(copy.deepcopy(board), _texts(self.line, game), "line")
            if not line:
                raise ValueError("line has no moves")
            return Task(board, "line", line=line, **limits)
        if self.best is not None:
            best = list(board.best()) if self.best == "optimal" else _read(board, _texts(self.best, game))
            if not best or len(set(best)) >= len(board.moves()):
                # Attack: any legal move is paid.
                raise ValueError("best must be some of the legal moves, and not all")
            return Task(board, "best", best=best, **limits)
        if self.replies == "optimal":
            board.best()
            return Task(board, "outcome", replies=None, outcome=self.outcome, **limits)
        return Task(board, "outcome", replies=_texts(self.replies, game), outcome=self.outcome, **limits)


def _texts(moves: Moves, game: str) -> Sequence[str]:
    return moves_in(moves, game) if isinstance(moves, str) else moves


def _played(board: Board, texts: Sequence[str], name: str) -> list[str]:
    """The moves by their canonical names, made on the board. Raises ValueError."""
    found: list[str] = []
    for text in texts:
        if board.winner() is not None:
            raise ValueError(f"{name}: the game ends after {len(found)} moves")
        (move,) = _read(board, [text])
        board.play(move)
        found.append(move)
    return found


def _read(board: Board, texts: Sequence[str]) -> list[str]:
    try:
        return [board.read(text) for text in texts]
    except (NotAMove, Illegal) as error:
        raise ValueError(str(error)) from None
