"""Keywords as the official checkers read them: as regular expressions, in which "U.S." finds "UXSX".

Only comparisons with published verdicts need this. A keyword with unbounded repetition runs on RE2, whose time grows
only with the text; its character classes are ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import re2

from rewarden_verifiers.structure.instructions.checker import Check

_BOUNDED = re.compile(r"[^*+{]*")
"""An expression that repeats nothing more than once."""
_MOST_CHOICES = 8
"""Optional parts and alternatives: each may double what a search tries."""
_LAST = re.compile(r"[*+]{1,2}")
"""Such a repetition at the end, as in "C++": nothing after it makes the search go back."""
_WHOLE, _WORD = "%s", r"\b%s\b"


def compiled(keyword: str, frame: str = _WHOLE, ignore_case: bool = True) -> Any:
    """The keyword as an expression within a frame; None if it is none, of which the official code dies."""
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
    """Returns a check of how often each keyword is found, in any case. Where one is not an expression, nothing follows
    it.

    words: whether they are looked for between the boundaries of words only.
    """
    patterns = [compiled(keyword, _WORD if words else _WHOLE) for keyword in keywords]
    if None in patterns:
        return lambda text: False
    return lambda text: fits([len(pattern.findall(text.value)) for pattern in patterns])
