"""Limits that apply before anything is computed, and the errors of reading an answer.

A policy can write a number whose digits fill memory (`10^10^9`, `1e999999999`) or a vector of ten thousand of them.
Every size is therefore known before a number is made.
"""

from __future__ import annotations

MAX_TEXT = 8_000
"""Characters of an answer that are read."""
MAX_DIGITS = 4_000
"""Digits of one numeral: below the interpreter's own limit on reading integers."""
MAX_EXPONENT = 4_000
"""Size of a power of ten, so that no number has more than some thousand digits."""
MAX_ITEMS = 1_000
"""Entries of a vector or a table."""
LARGE = 40
"""Digits from which a number counts as large."""
MAX_LARGE = 16
"""Large numbers of one answer: exact arithmetic on them is no longer cheap."""


class TooExpensive(Exception):
    """The answer exceeds a bound."""


class Unreadable(Exception):
    """The answer is not what was asked for. `reason` says in which way."""

    def __init__(self, reason: str = "unparseable_answer") -> None:
        super().__init__(reason)
        self.reason = reason
