"""Paths into JSON, and patterns of paths: `address.city`, `items[*].price`, `items[0]`, `**.id`, `["a key"]`.

`*` and `[*]` match one step, `**` any number of steps, including none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

Step = str | int
Path = tuple[Step, ...]

MAX_STEPS = 64
"""The maximum number of steps in a pattern."""


class _Any:
    __slots__ = ()


ONE = _Any()
"""Matches any single step."""
MANY = _Any()
"""Matches any number of steps."""

Pattern = tuple[Step | _Any, ...]

_STEP = re.compile(r"""\.?(?:(\*\*)|(\*)|\[\*\]|\[(\d{1,9})\]|\["([^"]*)"\]|([^.\[\]*"]+))""")
_PLAIN = re.compile(r"[^.\[\]*\"\s]+")


@lru_cache(maxsize=4096)
def pattern_of(text: str) -> Pattern:
    """Parses a pattern. Raises ValueError naming the position of an error. The empty text is the root."""
    steps: list[Step | _Any] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or (position == 0 and text[0] == "."):
            raise ValueError(f"the path {text!r} cannot be read at character {position}")
        many, _, index, quoted, key = match.groups()
        if many:
            if not steps or steps[-1] is not MANY:
                steps.append(MANY)
        elif index is not None:
            steps.append(int(index))
        elif quoted is not None:
            steps.append(quoted)
        elif key is not None:
            steps.append(key)
        else:
            steps.append(ONE)
        position = match.end()
    if len(steps) > MAX_STEPS:
        raise ValueError(f"the path has more than {MAX_STEPS} steps")
    return tuple(steps)


def matches(pattern: Pattern, path: Sequence[Step]) -> bool:
    """Returns whether a pattern matches a path. Takes time at most proportional to the product of their lengths."""
    places = _closed({0}, pattern)
    for step in path:
        moved = set()
        for place in places:
            if place < len(pattern):
                wanted = pattern[place]
                if wanted is MANY:
                    moved.add(place)
                elif wanted is ONE or wanted == step:
                    moved.add(place + 1)
        if not moved:
            return False
        places = _closed(moved, pattern)
    return len(pattern) in places


def _closed(places: set[int], pattern: Pattern) -> set[int]:
    """Adds the positions after each `**`, which may match nothing."""
    reached = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] is MANY:
            place += 1
            reached.add(place)
    return reached


def shown(path: Sequence[Step]) -> str:
    """A path in readable form."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step[:80]}"]'
    return text or "."
