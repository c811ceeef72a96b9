"""`maze`: a path from the start to the goal, or the length of the shortest one."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, illegal, malformed, wrong

Place = tuple[int, int]
_STEPS: Mapping[str, Place] = {
    **dict.fromkeys(("u", "up", "north", "n", "↑"), (-1, 0)),
    **dict.fromkeys(("d", "down", "south", "s", "↓"), (1, 0)),
    **dict.fromkeys(("l", "left", "west", "w", "←"), (0, -1)),
    **dict.fromkeys(("r", "right", "east", "e", "→"), (0, 1)),
}
_BETWEEN = re.compile(r"[\s,;>\[\]\"'.-]+")
_PLACE = re.compile(r"[(\[]\s{0,4}(\d{1,4})\s{0,4},\s{0,4}(\d{1,4})\s{0,4}[)\]]", re.ASCII)
_ARROW = re.compile(r"\\(right|left|up|down)arrow(?![A-Za-z])")
_ARROWS: Mapping[str, str] = {"right": "→", "left": "←", "up": "↑", "down": "↓"}
_TEXT = re.compile(r"\\text\s?\{([^{}]*)\}")
_COUNT = re.compile(r"(\d{1,9})(?:\s{1,4}(?:steps?|moves?))?\s?\.?", re.ASCII | re.IGNORECASE)
_NUMBERED = re.compile(r"^[ \t]{0,8}\d{1,5}[.):][ \t]", re.ASCII | re.MULTILINE)
_LINKS = re.compile(r"[\s,;>→\[\]-]*")


@dataclass(frozen=True, kw_only=True)
class Maze(Task):
    """grid: rows of single characters. start, goal: the characters that mark them, or `[row, column]` from 0. walls:
    the characters that cannot be entered. ask: `path` asks for any legal path, `shortest` for a shortest one, `length`
    for the length only.
    """

    grid: tuple[str, ...] | str
    start: str | Place = "S"
    goal: str | Place = "G"
    walls: str = "#"
    ask: Literal["path", "shortest", "length"] = "path"
    task: Literal["maze"] = "maze"

    def __post_init__(self) -> None:
        if any(not 1 <= len(line) <= 300 for line in self.lines) or not 1 <= len(self.lines) <= 300:
            raise ValueError("grid must have 1 to 300 rows of 1 to 300 characters")
        if len(set(map(len, self.lines))) != 1:
            raise ValueError("grid: its rows differ in length")
        for name, mark in (("start", self.start), ("goal", self.goal)):
            self._find(name, mark)

    @property
    def lines(self) -> list[str]:
        """The rows."""
        return self.grid.strip("\n").split("\n") if isinstance(self.grid, str) else list(self.grid)

    def _find(self, name: str, mark: str | Place) -> Place:
        if isinstance(mark, str):
            found = [(row, line.index(mark)) for row, line in enumerate(self.lines) if mark and mark in line]
            if len(mark) != 1 or len(found) != 1 or self.lines[found[0][0]].count(mark) != 1:
                raise ValueError(f"{name}: {mark!r} must be a character that occurs once in the grid")
            return found[0]
        if not (0 <= mark[0] < len(self.lines) and 0 <= mark[1] < len(self.lines[0])):
            raise ValueError(f"{name} is outside the grid")
        return mark

    def checker(self) -> MazeChecker:
        """The puzzle. Raises ValueError if no path leads to the goal."""
        start, goal = self._find("start", self.start), self._find("goal", self.goal)
        lines = self.lines
        length = _shortest(lines, self.walls, start, goal)
        if length is None:
            raise ValueError("grid: no path leads from the start to the goal")
        return MazeChecker(lines, self.walls, start, goal, length, self.ask)


def _shortest(lines: list[str], walls: str, start: Place, goal: Place) -> int | None:
    distance = {start: 0}
    waiting = deque([start])
    while waiting:
        row, column = here = waiting.popleft()
        if here == goal:
            return distance[here]
        for down, across in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            place = (row + down, column + across)
            inside = 0 <= place[0] < len(lines) and 0 <= place[1] < len(lines[0])
            if inside and place not in distance and lines[place[0]][place[1]] not in walls:
                distance[place] = distance[here] + 1
                waiting.append(place)
    return None


@dataclass(frozen=True, slots=True)
class MazeChecker:
    """A maze, and the length of its shortest path."""

    lines: list[str]
    walls: str
    start: Place
    goal: Place
    length: int
    ask: Literal["path", "shortest", "length"]

    def check(self, answer: str) -> Finding:
        """Accepts moves (`U D L R`, words, arrows), or the visited positions, start first, as `(row, column)` from 0.
        Between letters or words, a right arrow is a separator and not a move.
        """
        if self.ask == "length":
            count = _COUNT.fullmatch(_TEXT.sub(r" \1 ", answer).strip())
            if count is None:
                return malformed("it is not a whole number")
            return RIGHT if int(count.group(1)) == self.length else wrong("the shortest path has a different length")
        way = self._places(answer) if "(" in answer or "[[" in answer.replace(" ", "") else self._moves(answer)
        if isinstance(way, Finding):
            return way
        if way[0] != self.start:
            return illegal("it does not begin at the start")
        for before, here in pairwise(way):
            if abs(before[0] - here[0]) + abs(before[1] - here[1]) != 1:
                return illegal(f"{before} and {here} are not neighbours")
            if not (0 <= here[0] < len(self.lines) and 0 <= here[1] < len(self.lines[0])):
                return illegal(f"{here} lies outside")
            if self.lines[here[0]][here[1]] in self.walls:
                return illegal(f"{here} is a wall")
        if way[-1] != self.goal:
            return wrong("it does not end at the goal")
        steps = len(way) - 1
        if self.ask == "shortest" and steps != self.length:
            return wrong(f"it has {steps} steps, the shortest path has {self.length}", steps=steps)
        return RIGHT

    def _moves(self, answer: str) -> list[Place] | Finding:
        text = _ARROW.sub(lambda match: _ARROWS[match.group(1)], _TEXT.sub(r" \1 ", answer))
        text = _NUMBERED.sub(" ", text.replace("\\to", "→").casefold())
        if any(char.isalpha() for char in text):
            text = text.replace("→", " ")  # "down → right" are two moves, not three
            if any(arrow in text for arrow in "←↑↓"):
                return malformed("its moves mix letters and arrows")
        words = [word for word in _BETWEEN.split(text) if word]
        if words and all(len(word) > 1 and word not in _STEPS for word in words):
            words = [char for word in words for char in word]  # "RRDD"
        way = [self.start]
        for word in words:
            step = _STEPS.get(word)
            if step is None:
                return malformed(f"{word[:20]!r} is not a move")
            way.append((way[-1][0] + step[0], way[-1][1] + step[1]))
        return way if len(way) > 1 else malformed("it holds no moves")

    @staticmethod
    def _places(answer: str) -> list[Place] | Finding:
        way: list[Place] = []
        at = 0
        for match in _PLACE.finditer(answer):
            if _LINKS.fullmatch(answer, at, match.start()) is None:
                break
            way.append((int(match.group(1)), int(match.group(2))))
            at = match.end()
        if not way or _LINKS.fullmatch(answer, at) is None:
            return malformed("it is not a list of places such as (0, 1) (0, 2)")
        return way
