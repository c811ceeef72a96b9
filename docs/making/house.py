"""The rooms of our packages and the imports between them, so divided that all imports run one way.

A room is a folder of a package; the modules next to the folders are a room too. Modules never import each other in a
circle, but rooms may: where one needs a module of a room that needs it itself, that module becomes a box of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Part:
    """A room, or modules of one. room: its folder's name, empty for the modules beside the folders. of: the number of
    modules that the room has."""

    room: str
    modules: frozenset[str]
    of: int

    @property
    def names(self) -> list[str]:
        """The files and folders of the room that its modules are, or are in."""
        depth = 2 if self.room else 1
        return sorted({name.split(".")[depth] for name in self.modules if name.count(".") >= depth})


Box = tuple[Part, ...]
"""A part of a room, or whole rooms that import the same and are imported by the same."""


class House:
    """A package, divided into boxes. imports: of every module of ours, the modules of ours that it imports."""

    def __init__(self, package: str, imports: Mapping[str, Set[str]]) -> None:
        self.package = package
        self._folders = {name.rpartition(".")[0] for name in imports}
        self._imports = {
            name: {other for other in found if self._is_inside(other)}
            for name, found in imports.items()
            if self._is_inside(name)
        }

    @cached_property
    def boxes(self) -> list[Box]:
        """The boxes, each before those that it imports."""
        parts = self._parts()
        arrows = self._arrows([(part,) for part in parts])
        alike: dict[object, list[Part]] = {}
        for number, part in enumerate(parts):
            above = frozenset(start for start, end in arrows if end == number)
            below = frozenset(end for start, end in arrows if start == number)
            whole = part.room and len(part.modules) == part.of
            alike.setdefault((above, below) if whole else number, []).append(part)
        return [tuple(each) for each in alike.values()]

    @cached_property
    def arrows(self) -> set[tuple[int, int]]:
        """The imports between boxes, by their places in `boxes`, without those that follow from others."""
        return self._arrows(self.boxes)

    def _parts(self) -> list[Part]:
        """All modules, room by room, each part before those that it imports."""
        left, taken = set(self._imports), []
        while left:
            free = {room: self._importable(room, left) for room in sorted(set(map(self._room, left)))}
            rest = {room: sum(self._room(name) == room for name in left) - len(free[room]) for room in free}
            # A whole room where one can be had; else the room of which the least stays behind.
            room = min((each for each in free if free[each]), key=lambda each: rest[each] / len(free[each]))
            taken.append((room, free[room]))
            left -= free[room]
        size = Counter(map(self._room, self._imports))
        return [Part(room, frozenset(names), size[room]) for room, names in taken]

    def _arrows(self, boxes: Iterable[Box]) -> set[tuple[int, int]]:
        place = {name: number for number, box in enumerate(boxes) for part in box for name in part.modules}
        pairs = ((place[name], place[other]) for name, found in self._imports.items() for other in found)
        return reduced((above, below) for above, below in pairs if above != below)

    def _importable(self, room: str, left: Set[str]) -> set[str]:
        """The modules of a room that no module imports but those that are gone from `left`, or are among them."""
        free: set[str] = set()
        while True:
            held = {other for name in left - free for other in self._imports[name]}
            more = {name for name in left - free - held if self._room(name) == room}
            if not more:
                return free
            free |= more

    def _is_inside(self, name: str) -> bool:
        return name.startswith(f"{self.package}.")

    def _room(self, name: str) -> str:
        parts = name.split(".")
        return parts[1] if len(parts) > 2 or name in self._folders else ""


def reduced(arrows: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """The arrows that do not follow from others: a → c goes where there are a → b and b → c. All must run from smaller
    numbers to larger ones."""
    below: dict[int, set[int]] = {}
    for start, end in arrows:
        below.setdefault(start, set()).add(end)
    reach: dict[int, set[int]] = {}
    kept = set()
    for start in sorted(below, reverse=True):
        indirect = {end for each in below[start] for end in reach.get(each, ())}
        kept |= {(start, end) for end in below[start] - indirect}
        reach[start] = below[start] | indirect
    return kept
