"""Masks in COCO's format: run lengths by column, as a list or compressed in a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

MAX_PIXELS = 10**9


def run_lengths(counts: str) -> list[int]:
    """Decodes COCO's compressed run lengths: groups of five bits, least significant first. From the fourth run on, each
    is stored as the difference from the run two before. Raises ValueError if the text ends within a number.
    """
    found: list[int] = []
    value = shift = 0
    for char in counts:
        bits = ord(char) - 48
        if not 0 <= bits < 64 or shift > 30:
            raise ValueError("counts is not a compressed run-length encoding")
        value |= (bits & 0x1F) << shift
        shift += 5
        if not bits & 0x20:
            if bits & 0x10:
                value -= 1 << shift
            found.append(value + (found[-2] if len(found) > 2 else 0))
            value = shift = 0
    if shift:
        raise ValueError("counts ends within a number")
    return found


class Mask:
    """The pixels of an image that belong to an object. Raises ValueError if the runs do not add up to the
    image's size.
    """

    def __init__(self, height: int, width: int, counts: str | Sequence[int]) -> None:
        runs = run_lengths(counts) if isinstance(counts, str) else list(counts)
        if height < 1 or width < 1 or height * width > MAX_PIXELS:
            raise ValueError("size must be the image's [height, width]")
        if any(run < 0 for run in runs) or sum(runs) != height * width:
            raise ValueError("the runs do not add up to height times width")
        self.height, self.width = height, width
        self._ends = list(accumulate(runs))

    def contains(self, x: float, y: float) -> bool:
        """Returns whether the pixel at a position belongs to the mask. Pixel n covers the coordinates from n to
        n + 1.
        """
        column, row = int(x // 1), int(y // 1)
        if not (0 <= column < self.width and 0 <= row < self.height):
            return False
        # The first run counts pixels outside, and can have length 0.
        return bisect_right(self._ends, column * self.height + row) % 2 == 1
