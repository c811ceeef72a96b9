"""The games of the verifier `game`, against an opponent that plays by itself."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from rewarden_verifiers.environments.contract import (
    BadOptions,
    Corpora,
    Environment,
    Illegal,
    NotAMove,
    Observation,
    Tool,
    Turn,
)
from rewarden_verifiers.games.chess_game import Chess, library
from rewarden_verifiers.games.connect_four import ConnectFour
from rewarden_verifiers.games.nim import Nim
from rewarden_verifiers.games.rules import Board
from rewarden_verifiers.games.sokoban import Sokoban, SokobanBoard
from rewarden_verifiers.games.tic_tac_toe import TicTacToe
from rewarden_verifiers.games.written import moves_in

Side = Literal["first", "second"]


@dataclass(frozen=True, kw_only=True)
class Match:
    """Options of a two-player game, apart from its position. moves: the moves of both sides so far. opponent: plays at
    `random`, by the seed, or perfectly (`best`: tic-tac-toe and Nim). side: the policy's side; by default the side to
    move. draw: the reward of a draw; a win is 1, a loss 0.
    """

    moves: str | tuple[str, ...] = ()
    opponent: Literal["random", "best"] = "random"
    side: Side | None = None
    draw: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.draw <= 1:
            raise ValueError("draw must be 0 to 1")


class Position(Protocol):
    """The options of a game."""

    def board(self) -> Board:
        """The position. Raises ValueError or MissingDependency."""


@dataclass(frozen=True, kw_only=True)
class TicTacToeMatch(Match, TicTacToe):
    """Options of `tic_tac_toe`. See `Match`; squares: as for the verifier `game`."""


@dataclass(frozen=True, kw_only=True)
class ConnectFourMatch(Match, ConnectFour):
    """Options of `connect_four`. See `Match`; columns, rows: as for the verifier `game`."""


@dataclass(frozen=True, kw_only=True)
class ChessMatch(Match, Chess):
    """Options of `chess`. See `Match`; fen: as for the verifier `game`."""


@dataclass(frozen=True, kw_only=True)
class NimMatch(Match, Nim):
    """Options of `nim`. See `Match`; heaps: as for the verifier `game`, or three to five drawn by the seed, such that
    the side to move can win. last: as for the verifier.
    """

    heaps: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SokobanLevel(Sokoban):
    """Options of `sokoban`.

    grid: as for the verifier `game`; by default generated from the seed, and solvable. A level without a solution is
    refused, as far as a bounded search can tell. size, boxes: the size of the room inside the walls and the number of
    boxes of a generated level. rewards: `solved`: 1 for the solution. `boxes`, as in gym-sokoban: a step costs 0.1,
    even if a wall or a box stops it, which is then no illegal action; a box earns 1 on a goal and loses it off the
    goal; the solution earns 10 more.
    """

    grid: tuple[str, ...] | str = ""
    size: int = 5
    boxes: int = 2
    rewards: Literal["solved", "boxes"] = "solved"

    def __post_init__(self) -> None:
        if not (3 <= self.size <= 12 and 1 <= self.boxes <= self.size):
            raise ValueError("size must be 3 to 12, and boxes 1 to size")


class BoardGame(Environment):
    """A two-player game: the policy's moves, each followed by the opponent's."""

    name: ClassVar[str]
    tools = (Tool(name="move", argument="move", meaning="Make a move.", bare=True),)

    _board: Board
    _side: Side

    def start(self, options: Any, choose: random.Random) -> Board:
        """The initial position. Raises ValueError."""
        board: Board = options.board()
        return board

    def reset(self, seed: int, options: Any) -> Observation:
        """See `Environment`. If the opponent moves first, it does so here."""
        self._choose, self._options = random.Random(seed), options
        try:
            board = self.start(options, self._choose)
            texts = moves_in(options.moves, self.name) if isinstance(options.moves, str) else options.moves
            for text in texts:
                if board.winner() is not None:
                    raise BadOptions("the game ends before the last of them", "moves")
                board.play(board.read(text))
            if options.opponent == "best":
                board.best()
        except (NotAMove, Illegal) as error:
            raise BadOptions(str(error), "moves") from None
        except BadOptions:
            raise
        except ValueError as error:
            raise BadOptions(str(error)) from None
        if board.winner() is not None:
            raise BadOptions("the game has ended")
        self._board, self._side = board, options.side or board.turn
        return self._seen(self._reply())

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        texts = moves_in(action, self.name)
        if len(texts) != 1:
            raise NotAMove("one move is asked for")
        self._board.play(self._board.read(texts[0]))
        reply = self._reply() if self._board.winner() is None else None
        winner = self._board.winner()
        if winner is None:
            return Turn(observation=self._seen(reply))
        result = "draw" if winner == "nobody" else "win" if winner == self._side else "loss"
        reward = {"win": 1.0, "draw": self._options.draw, "loss": 0.0}[result]
        return Turn(
            observation=self._seen(reply, result),
            reward=reward,
            done=True,
            success=result == "win",
            why=None if result == "win" else result,
        )

    def _reply(self) -> str | None:
        """The opponent's move, if it is its turn."""
        if self._board.turn == self._side:
            return None
        moves: Sequence[str] = self._board.best() if self._options.opponent == "best" else self._board.moves()
        move = self._choose.choice(moves)
        self._board.play(move)
        return move

    def _seen(self, reply: str | None, result: str | None = None) -> Observation:
        lines = [] if reply is None else [f"The opponent plays {reply}."]
        lines.append(self._board.shown())
        lines.append(f"The game is over: {result}." if result else f"You are the {self._side} player. Your move.")
        return Observation("\n".join(lines), {"reply": reply, "result": result})


class TicTacToeGame(BoardGame):
    """Tic-tac-toe against an opponent. A move is the number of a free square."""

    name = "tic_tac_toe"
    options = TicTacToeMatch
    max_steps = 9


class ConnectFourGame(BoardGame):
    """Connect four against an opponent. A move is the number of a column."""

    name = "connect_four"
    options = ConnectFourMatch
    max_steps = 200


class ChessGame(BoardGame):
    """Chess against an opponent. A move is in algebraic notation (Nf3) or UCI (g1f3)."""

    name = "chess"
    options = ChessMatch
    max_steps = 200

    @classmethod
    def load(cls, options: Any, corpora: Corpora) -> None:
        """Imports the library. Raises MissingDependency."""
        library()


class NimGame(BoardGame):
    """Nim against an opponent. A move is heap:count, such as 2:3."""

    name = "nim"
    options = NimMatch
    max_steps = 200

    def start(self, options: NimMatch, choose: random.Random) -> Board:
        """The given heaps, or heaps with which the side to move can win."""
        if options.heaps:
            return options.board()
        while True:
            board = Nim(
                heaps=tuple(choose.randint(1, 7) for _ in range(choose.randint(3, 5))), last=options.last
            ).board()
            if len(board.best()) < len(board.moves()):
                return board


class SokobanGame(Environment):
    """Sokoban: boxes are pushed onto goals. An action is one or more steps: U, D, L, R, or URRD."""

    options = SokobanLevel
    _board: SokobanBoard
    _by_boxes: bool
    tools = (Tool(name="move", argument="steps", meaning="Move the player: U, D, L, R, or several steps.", bare=True),)

    def reset(self, seed: int, options: SokobanLevel) -> Observation:
        """See `Environment`."""
        level = options if options.grid else Sokoban(grid=_level(options, random.Random(seed)))
        cells = level.grid if isinstance(level.grid, str) else "".join(level.grid)
        if len(cells) > _MOST_CELLS:
            raise BadOptions(f"has more than {_MOST_CELLS} cells", "grid")
        try:
            self._board = level.board()
        except ValueError as error:
            raise BadOptions(str(error), "grid") from None
        self._by_boxes = options.rewards == "boxes"
        if self._board.winner() is not None:
            raise BadOptions("the boxes are on the goals already", "grid")
        if options.grid and self._board.solvable(_MOST_SEARCHED) is False:
            raise BadOptions("no pushes lead to the goals", "grid")
        return Observation(f"{self._board.shown()}\nPush the boxes ($) onto the goals (.). You are @.")

    def step(self, action: str) -> Turn:
        """See `Environment`. If one of several steps is illegal, none is made."""
        texts = moves_in(action, "sokoban")
        if not 1 <= len(texts) <= _MOST_AT_ONCE:
            raise NotAMove(f"an action is 1 to {_MOST_AT_ONCE} steps")
        board = copy.copy(self._board)  # a shallow copy suffices: a move replaces what it changes
        for text in texts:
            if board.winner() is not None:
                raise Illegal("the boxes are on the goals before the last step")
            try:
                board.play(board.read(text))
            except Illegal:
                if not self._by_boxes:
                    raise
        gained = board.home() - self._board.home()
        self._board = board
        done = board.winner() is not None
        reward = gained + 10.0 * done - 0.1 * len(texts) if self._by_boxes else float(done)
        text = f"{board.shown()}\n{'Solved.' if done else 'Your move.'}"
        return Turn(observation=Observation(text), reward=reward, done=done, success=done, cost=float(len(texts)))


_MOST_CELLS = 1024
_MOST_SEARCHED = 500_000
"""The number of cells that the search for a solution visits at most, which takes less than a second. If the search
gives up, the level is played.
"""
_MOST_AT_ONCE = 100
_PULLS: Mapping[str, tuple[int, int]] = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}
_MOST_PULLS = 400


def _level(options: SokobanLevel, choose: random.Random) -> tuple[str, ...]:
    """A room without inner walls, generated backwards from its solution: the boxes are pulled away from the goals. It
    is solvable, because each pull reverses a push.
    """
    size = options.size
    places = [(row, column) for row in range(size) for column in range(size)]
    goals = set(choose.sample(places, options.boxes))
    while True:
        boxes = set(goals)
        player = choose.choice([place for place in places if place not in boxes])
        for _ in range(_MOST_PULLS):
            down, across = choose.choice(list(_PULLS.values()))
            ahead, behind = (player[0] + down, player[1] + across), (player[0] - down, player[1] - across)
            if ahead not in places or ahead in boxes:
                continue
            if behind in boxes and choose.random() < 0.7:
                boxes = boxes - {behind} | {player}
            player = ahead
        if boxes != goals:
            return _drawn(size, player, boxes, goals)


def _drawn(
    size: int, player: tuple[int, int], boxes: set[tuple[int, int]], goals: set[tuple[int, int]]
) -> tuple[str, ...]:
    def cell(place: tuple[int, int]) -> str:
        if place == player:
            return "+" if place in goals else "@"
        if place in boxes:
            return "*" if place in goals else "$"
        return "." if place in goals else " "

    wall = "#" * (size + 2)
    return (wall, *(f"#{''.join(cell((row, column)) for column in range(size))}#" for row in range(size)), wall)
