"""Flags that a job adds to the command of its compiler: only those that the language's row allows."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"-[!-~]{1,199}", re.ASCII)
"""A flag is one word. Attacks: `@file`, which reads flags from a file; another source file, named without a dash."""

_MOST = 64


def refused(language: str, flags: Sequence[str], allowed: Sequence[str]) -> tuple[int, str] | None:
    """Returns the place of the first flag that is refused, and the reason; None if all can be used. allowed: patterns,
    one of which must match the whole flag.
    """
    if flags and not allowed:
        return 0, f"the language {language!r} takes no flags; remove them, or allow some in its row (docs/languages.md)"
    if len(flags) > _MOST:
        return _MOST, f"there are {len(flags)} flags; {_MOST} is the most"
    for place, flag in enumerate(flags):
        if not _PLAIN.fullmatch(flag) or not any(re.fullmatch(one, flag, re.ASCII) for one in allowed):
            return place, (
                f"{flag[:80]!r} is not allowed for {language!r}; use flags that match {' or '.join(allowed)}, or allow "
                "it in the language's row (docs/languages.md)"
            )
    return None
