"""Pairings for comparison, and their order: derived from the texts themselves, so that they are the same every time.

The draw depends on all texts of a group but not on their order: the position of a sample gains nothing, and no text
determines its own position.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations


def drawn(texts: Sequence[str], number: int = 0) -> list[int]:
    """The places of different texts in a shuffled order, the number-th of many."""
    whole = hashlib.blake2b(digest_size=16)
    for digest in sorted(_digest(text) for text in texts):
        whole.update(digest)
    seed = whole.digest() + number.to_bytes(4, "big")
    return sorted(range(len(texts)), key=lambda place: hashlib.blake2b(seed + _digest(texts[place])).digest())


def pairs(order: Sequence[int], opponents: int) -> list[tuple[int, int]]:
    """Every pair, or where there are more than so many opponents for each, a ring in which each meets its neighbours
    (one more than asked where the number is odd). Each stands about as often first as second.
    """
    size = len(order)
    if size - 1 <= opponents:
        places = [(a, b) if (a + b) % 2 else (b, a) for a, b in combinations(range(size), 2)]
    else:
        steps = range(1, (opponents + 1) // 2 + 1)
        places = [(place, (place + step) % size) for step in steps for place in range(size)]
    return [(order[a], order[b]) for a, b in places]


def rounds(texts: Sequence[str], count: int, window: int) -> list[list[list[int]]]:
    """So many orders of all texts, each cut into windows of at most that size.

    Where one window holds all, every second order is the one before turned round, which undoes a liking for the first
    or the last place at the least cost; else each order is drawn anew, so that the windows mix.
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
