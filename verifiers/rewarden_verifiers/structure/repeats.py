"""Parts that stand twice in a sequence: n-grams and spans, exactly and in near-linear time.

Spans are given numbers by doubling: a span of 2k units is the pair of the numbers of its halves. Equal numbers mean
equal spans, with no hash that a text could be made to collide with.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def _numbered(spans: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(span, len(numbers)) for span in spans]


def _longer(numbers: Sequence[int], length: int, wanted: int) -> list[int]:
    """Numbers of all spans of `wanted` units, made of two that overlap, from those of `length` ≤ wanted ≤ 2 length."""
    if wanted == length:
        return list(numbers)
    return _numbered(list(zip(numbers, numbers[wanted - length :], strict=False)))


def _spans(units: Sequence[Hashable], length: int) -> list[int]:
    """Of each span of `length` units, in order, its number. Takes log2(length) passes."""
    numbers, reached = _numbered(units), 1
    while reached < length:
        wanted = min(2 * reached, length)
        numbers, reached = _longer(numbers, reached, wanted), wanted
    return numbers


def repeated_share(units: Sequence[Hashable], n: int) -> float:
    """The share of n-grams that stood before: 1 - distinct / all. 0 where there is none."""
    spans = len(units) - n + 1
    return 1.0 - len(set(_spans(units, n))) / spans if spans > 0 else 0.0


def longest_repeat(units: Sequence[Hashable]) -> int:
    """The length of the longest span that stands at two places, which may overlap. 0 where nothing does."""
    numbers, length = _numbered(units), 1
    if len(set(numbers)) == len(numbers):
        return 0
    while 2 * length < len(units):
        doubled = _longer(numbers, length, 2 * length)
        if len(set(doubled)) == len(doubled):
            break
        numbers, length = doubled, 2 * length
    least, most = length, min(2 * length, len(units)) - 1
    while least < most:
        middle = (least + most + 1) // 2
        spans = _longer(numbers, length, middle)
        if len(set(spans)) < len(spans):
            least = middle
        else:
            most = middle - 1
    return least
