"""Rows for comparing rewards of a way over a frozen lake, and of boxes that are pushed onto goals."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence

from benchmarks.parity_rows import Row

_LAKES = (
    ("SFFF", "FHFH", "FFFH", "HFFG"),
    ("SFHF", "FFFF", "HFHF", "FFFG"),
    ("FFSF", "FHFF", "FFFH", "GFHF"),
    ("HFFG", "FFHF", "SFFF", "FHFF"),
    ("SFFFF", "FHFHF", "FFFFF", "HFHFF", "FFFFG"),
    ("FFFHF", "SHFFF", "FFFHF", "HFGFF", "FFFFH"),
)
_WORDS = ("left", "down", "right", "up")
_MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


def _way(lake: Sequence[str]) -> list[int]:
    """Returns the shortest way to the goal, as places in `_WORDS`."""
    cells = {(row, column): cell for row, line in enumerate(lake) for column, cell in enumerate(line)}
    start = next(place for place, cell in cells.items() if cell == "S")
    ways: dict[tuple[int, int], list[int]] = {start: []}
    queue = deque([start])
    while queue:
        row, column = queue.popleft()
        for move, (down, right) in enumerate(_MOVES):
            there = row + down, column + right
            if cells.get(there, "H") == "H" or there in ways:
                continue
            ways[there] = [*ways[row, column], move]
            if cells[there] == "G":
                return ways[there]
            queue.append(there)
    raise ValueError("no way leads to the goal")


def lakes() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with actions, and a lake as the reference. `moves` has the valid actions, counted from 1,
    and `seed` the seed of the ice."""

    def make(rng: random.Random) -> Row:
        lake = rng.choice(_LAKES)
        way = _way(lake)
        kind = rng.choice(("right", "right", "further", "short", "walls", "random", "unknown word", "empty"))
        told: dict[str, list[int | None]] = {
            "right": [*way],
            "further": [*way, *rng.choices(range(4), k=2)],
            "short": [*way[: rng.randrange(1, len(way))]],
            "walls": [0, 0, *way] if way[0] != 0 else [3, *way],
            "random": [*rng.choices(range(4), k=rng.randint(1, 15))],
            "unknown word": [way[0], None, *way[1:]],
            "empty": [],
        }
        moves = told[kind]
        slippery = rng.random() < 0.3
        said = [f"<action>{'jump' if move is None else _WORDS[move]}</action>" for move in moves]
        fields = {"moves": [move + 1 for move in moves if move is not None], "seed": rng.randrange(10**6)}
        reference = {"map": list(lake), "slippery": slippery, "seed": fields["seed"]}
        return Row(f"{kind}, {'slippery' if slippery else 'dry'}", "".join(said), reference, fields)

    return make


_ROOMS = (
    ("######", "#@   #", "# $  #", "#   .#", "#    #", "######"),
    ("######", "#    #", "#.$@ #", "#  $ #", "# .  #", "######"),
    ("#######", "#  .  #", "# $   #", "# #@$.#", "#     #", "#######"),
    ("######", "#. $@#", "#    #", "######"),
    ("########", "#  .  .#", "# $$   #", "#  @ $ #", "#   .  #", "########"),
)
_STEPS = ("up", "down", "left", "right")
_CHANGES = ((-1, 0), (1, 0), (0, -1), (0, 1))
_FIXED = {"#": 0, " ": 1, "@": 1, "$": 1, ".": 2}
_STATE = {"#": 0, " ": 1, "@": 5, "$": 4, ".": 2}


def _pushes(room: Sequence[str]) -> list[int]:
    """Returns the shortest solution of a room, as places in `_STEPS`."""
    cells = {(row, column): cell for row, line in enumerate(room) for column, cell in enumerate(line)}
    goals = frozenset(place for place, cell in cells.items() if cell == ".")
    player = next(place for place, cell in cells.items() if cell == "@")
    start = player, frozenset(place for place, cell in cells.items() if cell == "$")
    ways: dict[tuple[tuple[int, int], frozenset[tuple[int, int]]], list[int]] = {start: []}
    queue = deque([start])
    while queue:
        (row, column), boxes = state = queue.popleft()
        if boxes == goals:
            return ways[state]
        for step, (down, right) in enumerate(_CHANGES):
            there, beyond = (row + down, column + right), (row + 2 * down, column + 2 * right)
            pushed = boxes - {there} | {beyond} if there in boxes else boxes
            if cells[there] == "#" or (there in boxes and (cells[beyond] == "#" or beyond in boxes)):
                continue
            if (after := (there, pushed)) not in ways:
                ways[after] = [*ways[state], step]
                queue.append(after)
    raise ValueError("the room has no solution")


def rooms() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with steps, and a room as the reference. `moves` has the valid steps, counted from 1,
    `fixed` and `state` the room's cells as gym-sokoban numbers them."""
    solutions = {room: _pushes(room) for room in _ROOMS}

    def make(rng: random.Random) -> Row:
        room = rng.choice(_ROOMS)
        way = solutions[room]
        kind = rng.choice(("right", "right", "further", "short", "astray", "random", "random", "unknown word", "empty"))
        told: dict[str, list[int | None]] = {
            "right": [*way],
            "further": [*way, *rng.choices(range(4), k=2)],
            "short": [*way[: rng.randrange(1, len(way))]],
            "astray": [*way[: rng.randrange(1, len(way))], *rng.choices(range(4), k=8)],
            "random": [*rng.choices(range(4), k=rng.randint(1, 60))],
            "unknown word": [way[0], None, *way[1:]],
            "empty": [],
        }
        moves = told[kind]
        said = [f"<action>{'jump' if move is None else _STEPS[move]}</action>" for move in moves]
        fields = {
            "moves": [move + 1 for move in moves if move is not None],
            "fixed": [[_FIXED[cell] for cell in line] for line in room],
            "state": [[_STATE[cell] for cell in line] for line in room],
        }
        return Row(kind, "".join(said), list(room), fields)

    return make
