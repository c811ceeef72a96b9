"""Limits that apply before anything is computed, and the errors of reading an answer.

A policy can write a number whose digits fill memory (`10^10^9`, `1e999999999`) or a vector of ten thousand of them.
Every size is therefore known before a number is made.
"""

from __future__ import annotations

MAX_TEXT = 8_000
"""Maximum number of characters of an answer."""
MAX_DIGITS = 4_000
"""Maximum number of digits of one numeral: below the interpreter's own limit for integers."""
MAX_EXPONENT = 4_000
"""Maximum size of a power of ten, so that no number has more than a few thousand digits."""
MAX_ITEMS = 1_000
"""Maximum number of entries of a vector or table."""
LARGE = 40
"""Number of digits from which a number counts as large."""
MAX_LARGE = 16
"""Maximum number of large numbers in one answer, since exact arithmetic on them is expensive."""


class TooExpensive(Exception):
    """The answer exceeds a limit."""


class Unreadable(Exception):
    """The answer is not of the expected kind. `reason` says why."""

    def __init__(self, reason: str = "unparseable_answer") -> None:
        super().__init__(reason)
        self.reason = reason
