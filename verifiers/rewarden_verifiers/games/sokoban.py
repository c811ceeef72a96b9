"""Sokoban: boxes are pushed onto goals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.games.rules import Illegal, NotAMove, Winner, shown

_STEPS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}
_MOVE = re.compile(r"u|d|l|r|up|down|left|right", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Sokoban:
    """grid: rows of `#` walls, `@` the player, `$` boxes, `.` goals, `*` boxes on goals, `+` the player on a goal, and
    blanks, `-` or `_` for the floor.
    """

    grid: tuple[str, ...] | str

    def board(self) -> SokobanBoard:
        """The position. Raises ValueError."""
        rows = self.grid.strip("\n").split("\n") if isinstance(self.grid, str) else list(self.grid)
        cells = {(row, column): cell for row, line in enumerate(rows) for column, cell in enumerate(line)}
        if len(cells) > 10_000 or set(cells.values()) - set("#@$.*+ -_"):
            raise ValueError("grid must have up to 10,000 cells of '#@$.*+' and blanks")
        players = [place for place, cell in cells.items() if cell in "@+"]
        boxes = {place for place, cell in cells.items() if cell in "$*"}
        goals = {place for place, cell in cells.items() if cell in ".*+"}
        if len(players) != 1 or not boxes or len(boxes) != len(goals):
            raise ValueError("grid must have one player, and as many goals as boxes")
        floor = {place for place, cell in cells.items() if cell != "#"}
        return SokobanBoard(floor, players[0], boxes, goals)


class SokobanBoard:
    """The player, the boxes and the goals."""

    def __init__(
        self,
        floor: set[tuple[int, int]],
        player: tuple[int, int],
        boxes: set[tuple[int, int]],
        goals: set[tuple[int, int]],
    ) -> None:
        self._floor, self._player, self._boxes, self._goals = floor, player, boxes, goals

    @property
    def turn(self) -> Literal["first", "second"]:
        """There is one side."""
        return "first"

    def read(self, text: str) -> str:
        """A direction, as a letter or a word. Only steps that move the player are legal."""
        if _MOVE.fullmatch(text) is None:
            raise NotAMove(f"{shown(text)} is not a direction")
        move = text[0].lower()
        why = self._free(move)
        if why is not None:
            raise Illegal(f"{move}: {why}")
        return move

    def _free(self, move: str) -> str | None:
        """None for a legal step, or what is in the way."""
        ahead, beyond = self._ahead(move, 1), self._ahead(move, 2)
        if ahead not in self._floor:
            return "there is a wall"
        if ahead in self._boxes and (beyond in self._boxes or beyond not in self._floor):
            return "the box cannot be pushed"
        return None

    def _ahead(self, move: str, far: int) -> tuple[int, int]:
        down, across = _STEPS[move]
        return self._player[0] + far * down, self._player[1] + far * across

    def play(self, move: str) -> None:
        """See `Board`."""
        self._player, beyond = self._ahead(move, 1), self._ahead(move, 2)
        if self._player in self._boxes:
            self._boxes = self._boxes - {self._player} | {beyond}

    def winner(self) -> Winner | None:
        """See `Board`."""
        return "first" if self._boxes == self._goals else None

    def home(self) -> int:
        """The number of boxes on goals."""
        return len(self._boxes & self._goals)

    def moves(self) -> Sequence[str]:
        """See `Board`."""
        return [move for move in _STEPS if self._free(move) is None]

    def solvable(self, work: int) -> bool | None:
        """Returns whether pushes lead to the goals, or None if that is not known after so many visited cells."""
        good = self._pushed_home()
        waiting, seen = [(self._player, frozenset(self._boxes))], set()
        while waiting:
            player, boxes = waiting.pop()
            if boxes == self._goals:
                return True
            if not boxes <= good:
                continue
            near = self._reached(player, boxes)
            work -= len(near)
            if work < 0:
                return None
            if (state := (min(near), boxes)) in seen:
                continue
            seen.add(state)
            for row, column in boxes:
                for down, across in _STEPS.values():
                    beyond = (row + down, column + across)
                    if (row - down, column - across) in near and beyond in self._floor and beyond not in boxes:
                        waiting.append(((row, column), boxes - {(row, column)} | {beyond}))
        return False

    def _pushed_home(self) -> set[tuple[int, int]]:
        """The cells from which a box that is alone can be pushed to a goal, found by pulls from the goals."""
        found, waiting = set(self._goals), [*self._goals]
        while waiting:
            row, column = waiting.pop()
            for down, across in _STEPS.values():
                pulled, player = (row + down, column + across), (row + 2 * down, column + 2 * across)
                if pulled in self._floor and player in self._floor and pulled not in found:
                    found.add(pulled)
                    waiting.append(pulled)
        return found

    def _reached(self, player: tuple[int, int], boxes: frozenset[tuple[int, int]]) -> set[tuple[int, int]]:
        """The cells that the player reaches without a push."""
        found, waiting = {player}, [player]
        while waiting:
            row, column = waiting.pop()
            for down, across in _STEPS.values():
                place = (row + down, column + across)
                if place in self._floor and place not in boxes and place not in found:
                    found.add(place)
                    waiting.append(place)
        return found

    def shown(self) -> str:
        """The grid, in the characters in which it is given."""
        places = [*self._floor]
        top, left = (min(place[axis] for place in places) - 1 for axis in (0, 1))
        bottom, right = (max(place[axis] for place in places) + 1 for axis in (0, 1))
        return "\n".join(
            "".join(self._cell((row, column)) for column in range(left, right + 1)) for row in range(top, bottom + 1)
        )

    def _cell(self, place: tuple[int, int]) -> str:
        if place not in self._floor:
            return "#"
        on_goal = place in self._goals
        if place == self._player:
            return "+" if on_goal else "@"
        if place in self._boxes:
            return "*" if on_goal else "$"
        return "." if on_goal else " "

    def best(self) -> Sequence[str]:
        """Raises ValueError: the search is too large."""
        raise ValueError("the best moves of sokoban are not computed; ask for the outcome")
