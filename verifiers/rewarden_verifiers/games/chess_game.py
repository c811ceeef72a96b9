"""Chess, by the library `chess` (extra `chess`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rewarden.errors import MissingDependency
from rewarden_verifiers.games.rules import Illegal, NotAMove, Winner, shown

if TYPE_CHECKING:
    import chess

# Attack: the library also reads null moves (`--`, `0000`), with which a side passes, and drops of other variants.
_SAN = re.compile(
    r"(?:[KQRBN]?[a-h]?[1-8]?[x-]?[a-h][1-8](?:=?[QRBN])?|O-O(?:-O)?|0-0(?:-0)?)(?:\+{0,2}|#)[!?]{0,2}", re.ASCII
)
_LONG = re.compile(r"([a-h][1-8])-([a-h][1-8])", re.ASCII)
_FIGURES = str.maketrans("♔♕♖♗♘♚♛♜♝♞", "KQRBNKQRBN", "♙♟")
_UCI = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?", re.ASCII)


def library() -> Any:
    """The library. Raises MissingDependency."""
    try:
        import chess
    except ModuleNotFoundError as error:
        raise MissingDependency("chess needs the package 'chess': pip install 'rewarden-server[chess]'") from error
    return chess


def warm() -> None:
    """Imports the library if it is installed."""
    with suppress(MissingDependency):
        library()


@dataclass(frozen=True, kw_only=True)
class Chess:
    """fen: the position; by default the first one of a game."""

    fen: str | None = None

    def board(self) -> ChessBoard:
        """The position. Raises ValueError or MissingDependency."""
        made = library().Board() if self.fen is None else library().Board(self.fen)
        if not made.is_valid():
            raise ValueError(f"fen: the position is not legal ({made.status().name})")
        return ChessBoard(made)


class ChessBoard:
    """A position; White is the first side. Moves are named in UCI."""

    def __init__(self, board: chess.Board) -> None:
        self._board = board

    @property
    def turn(self) -> Literal["first", "second"]:
        """See `Board`."""
        return "first" if self._board.turn else "second"

    def read(self, text: str) -> str:
        """A move in algebraic notation (`Nf3`, `exd5`, `O-O`, `e8=Q`, in full `Ng1-f3`) or UCI (`g1f3`, `e7e8q`)."""
        text = text.translate(_FIGURES)
        try:
            if _UCI.fullmatch(text) is not None:
                return str(self._board.parse_uci(text).uci())
            if _SAN.fullmatch(text) is None:
                raise NotAMove(f"{shown(text)} is not a move in algebraic notation or UCI")
            text = _LONG.sub(r"\1\2", text.rstrip("!?").rstrip("+"))
            return str(self._board.parse_san(text).uci())
        except ValueError:
            raise Illegal(f"{shown(text)} is not a legal move in this position, or more than one") from None

    def play(self, move: str) -> None:
        """See `Board`."""
        self._board.push_uci(move)

    def winner(self) -> Winner | None:
        """See `Board`. Draws that a side must claim are not counted."""
        outcome = self._board.outcome()
        if outcome is None:
            return None
        return "nobody" if outcome.winner is None else "first" if outcome.winner else "second"

    def moves(self) -> Sequence[str]:
        """See `Board`. By name: the library's own order is not promised."""
        return sorted(move.uci() for move in self._board.legal_moves)

    def shown(self) -> str:
        """The board from White's side, and the position in FEN."""
        return f"{self._board}\n{self._board.fen()}"

    def best(self) -> Sequence[str]:
        """Raises ValueError: the library has no engine."""
        raise ValueError("the best moves of chess are not computed; give `best`, `line` or `replies`")
