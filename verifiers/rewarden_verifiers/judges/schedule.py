"""Pairings for comparison, and their order: derived from the texts themselves, so that they are the same every time.

The draw depends on all texts of a group but not on their order: a sample gains nothing from its position, and no text
determines its own position.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations


def drawn(texts: Sequence[str], number: int = 0) -> list[int]:
    """The indices of distinct texts in shuffled order. number: selects one of many shuffles."""
    whole = hashlib.blake2b(digest_size=16)
    for digest in sorted(_digest(text) for text in texts):
        whole.update(digest)
    seed = whole.digest() + number.to_bytes(4, "big")
    return sorted(range(len(texts)), key=lambda place: hashlib.blake2b(seed + _digest(texts[place])).digest())


def pairs(order: Sequence[int], opponents: int) -> list[tuple[int, int]]:
    """Every pair; or, if that gives each player more than `opponents`, a ring in which each meets its neighbours (one
    more than requested if the number is odd). Each player comes first about as often as second.
    """
    size = len(order)
    if size - 1 <= opponents:
        places = [(a, b) if (a + b) % 2 else (b, a) for a, b in combinations(range(size), 2)]
    else:
        steps = range(1, (opponents + 1) // 2 + 1)
        places = [(place, (place + step) % size) for step in steps for place in range(size)]
    return [(order[a], order[b]) for a, b in places]


def rounds(texts: Sequence[str], count: int, window: int) -> list[list[list[int]]]:
    """Shuffles all texts `count` times and cuts each order into windows of at most `window` texts.

    If one window holds all texts, every second order reverses the previous one, which cancels a bias for the first or
    the last position at the lowest cost. Otherwise each order is shuffled anew, so that the windows mix.
    """
    found: list[list[list[int]]] = []
    for number in range(count):
        if len(texts) <= window:
            order = drawn(texts, number // 2)
            found.append([order[::-1] if number % 2 else order])
        else:
            order = drawn(texts, number)
            windows = -(-len(order) // window)
            found.append([order[start::windows] for start in range(windows)])
    return found


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
