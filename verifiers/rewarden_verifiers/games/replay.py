"""Replaying: the policy's moves and the opponent's, from a position to its end."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden_verifiers.games.rules import Board, Illegal, NotAMove, Winner

MAX_MOVES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`reason` is None for moves that do what was asked. share: the part of a line that is right."""

    reason: str | None = None
    share: float = 0.0
    why: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """A position, and what is asked in it.

    line: moves of both sides, of which the policy's must be found; a move that wins at once is right as well if the
    line wins. best: moves of which one must be found. outcome: a `win`, or at least a `draw`, against `replies`, the
    other side's moves in their order, or against the best ones (None).
    """

    board: Board
    ask: Literal["line", "best", "outcome"]
    line: Sequence[str] = ()
    best: Sequence[str] = ()
    replies: Sequence[str] | None = ()
    outcome: Literal["win", "draw"] = "win"
    written: Literal["own", "all"] = "own"
    max_moves: int = MAX_MOVES

    def check(self, texts: Sequence[str]) -> Finding:
        """Replays the policy's moves."""
        if len(texts) > self.max_moves:
            return Finding(reason="too_many_moves", why=f"there are {len(texts)} moves, of at most {self.max_moves}")
        replay = Replay(self)
        try:
            return replay.run(texts)
        except NotAMove as error:
            return Finding(reason="malformed", why=str(error), evidence=replay.evidence())
        except Illegal as error:
            why = f"move {replay.own + 1}: {error}"
            return Finding(reason="illegal", share=replay.share(), why=why, evidence=replay.evidence())


class Replay:
    """A game that is being replayed. own: moves of the policy so far."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._board = copy.deepcopy(task.board)
        self._side = self._board.turn
        self.own = 0
        self._played: list[str] = []

    def evidence(self) -> dict[str, Any]:
        """The moves so far, both sides' in their order."""
        return {"moves": len(self._played), "last": self._played[-4:]}

    def share(self) -> float:
        """The part of the line that has been found."""
        return self.own / ((len(self._task.line) + 1) // 2) if self._task.ask == "line" else 0.0

    def run(self, texts: Sequence[str]) -> Finding:
        """The finding. Raises NotAMove or Illegal for the policy's moves."""
        task, waiting = self._task, list(reversed(texts))
        replies = iter(task.replies or ())
        while waiting:
            if self._board.winner() is not None:
                raise Illegal("the game has ended")
            move = self._board.read(waiting.pop())
            verdict = self._judged(move)
            self._play(move)
            self.own += 1
            if verdict is not None:
                finding = verdict()
                # Attack: several moves, one of which is right. Of a line, the first wrong move decides.
                hedged = waiting and (task.ask == "best" or finding.reason is None)
                return self._ends_with(waiting) if hedged else finding
            if self._board.winner() is not None or self._board.turn == self._side:
                continue
            reply = self._reply(replies)
            if reply is None:
                break
            if task.written == "all" and waiting:
                told = self._board.read(waiting.pop())
                if told != reply:
                    return Finding(reason="wrong", why="the other side moves otherwise", evidence=self.evidence())
            self._play(reply)
        if waiting:
            return self._ends_with(waiting)
        return self._ended()

    def _play(self, move: str) -> None:
        self._board.play(move)
        self._played.append(move)

    def _ends_with(self, waiting: Sequence[str]) -> Finding:
        why = f"{len(waiting)} moves are left over"
        return Finding(reason="too_many_moves", why=why, evidence=self.evidence())

    def _judged(self, move: str) -> Callable[[], Finding] | None:
        """The finding that a move decides, if it does."""
        task = self._task
        if task.ask == "best":
            right = move in task.best
            return lambda: Finding(
                reason=None if right else "wrong",
                why=None if right else "it is not one of the best moves",
                evidence=self.evidence(),
            )
        if task.ask == "line" and move != task.line[2 * self.own]:
            return self._other
        return None

    def _other(self) -> Finding:
        """The finding on a move that leaves the line, after it was made."""
        if self._board.winner() == self._side and _wins(self._task, self._side):
            return Finding(evidence=self.evidence())
        found = self.own - 1
        share = found / ((len(self._task.line) + 1) // 2)
        why = f"move {self.own} is not the line's"
        return Finding(reason="wrong", share=share, why=why, evidence=self.evidence())

    def _reply(self, replies: Any) -> str | None:
        """The other side's move; None if the line ends or no further reply is given."""
        task = self._task
        if task.ask == "line":
            at = 2 * self.own - 1
            return task.line[at] if at < len(task.line) else None
        if task.replies is None:
            return self._board.best()[0]
        text = next(replies, None)
        if text is None:
            return None
        try:
            return self._board.read(text)
        except Illegal:
            # The policy left the recorded game: its own doing, and never unscored.
            raise Illegal("the recorded reply is not legal after it") from None

    def _ended(self) -> Finding:
        """The finding after the last move."""
        task, winner, evidence = self._task, self._board.winner(), self.evidence()
        if task.ask == "line":
            if 2 * self.own >= len(task.line):
                return Finding(evidence=evidence)
            why = f"the line has {(len(task.line) + 1) // 2} moves"
            return Finding(reason="unfinished", share=self.share(), why=why, evidence=evidence)
        if winner is None:
            return Finding(reason="unfinished", why="the game goes on", evidence=evidence)
        result = "draw" if winner == "nobody" else "win" if winner == self._side else "loss"
        evidence["result"] = result
        if result == "win" or result == task.outcome:
            return Finding(evidence=evidence)
        return Finding(reason=result, why=f"the game ends in a {result}", evidence=evidence)


def _wins(task: Task, side: Winner) -> bool:
    """Returns whether the line itself wins."""
    board = copy.deepcopy(task.board)
    for move in task.line:
        board.play(move)
    return board.winner() == side
