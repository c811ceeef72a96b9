"""Keywords as the official checkers read them: as regular expressions, in which "U.S." matches "UXSX".

This is needed only to compare with published verdicts. A keyword with unbounded repetition runs on RE2, whose time is
linear in the text; its character classes are ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import re2

from rewarden_verifiers.structure.instructions.checker import Check

_BOUNDED = re.compile(r"[^*+{]*")
"""An expression without repetition."""
_MOST_CHOICES = 8
"""The maximum number of optional parts and alternatives: each may double the work of a search."""
_LAST = re.compile(r"[*+]{1,2}")
"""A repetition at the end, as in "C++": nothing follows that could make the search backtrack."""
_WHOLE, _WORD = "%s", r"\b%s\b"


def compiled(keyword: str, frame: str = _WHOLE, ignore_case: bool = True) -> Any:
    """Compiles a keyword as an expression within a frame; None if it is invalid, on which the official code fails."""
    expression = frame % keyword
    rest = _BOUNDED.sub("", keyword, count=1)
    few = keyword.count("?") + keyword.count("|") <= _MOST_CHOICES
    try:
        if few and (not rest or (frame in (_WHOLE, _WORD) and _LAST.fullmatch(rest))):
            return re.compile(expression, re.IGNORECASE if ignore_case else 0)
        options = re2.Options()
        options.case_sensitive = not ignore_case
        options.log_errors = False
        return re2.compile(expression, options)
    except (re.error, re2.error, RecursionError, OverflowError):
        return None


def counted(keywords: Sequence[str], fits: Callable[[list[int]], bool], words: bool = False) -> Check:
    """Returns a check of how often each keyword occurs, ignoring case. If one is an invalid expression, no text passes.

    words: whether to search for whole words only.
    """
    patterns = [compiled(keyword, _WORD if words else _WHOLE) for keyword in keywords]
    if None in patterns:
        return lambda text: False
    return lambda text: fits([len(pattern.findall(text.value)) for pattern in patterns])
