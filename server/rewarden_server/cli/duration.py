"""Durations that commands take as arguments."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST_DAYS = 36_500


def duration(text: str) -> timedelta:
    """A whole number with its unit, such as 90s, 15m, 1h, 30d or 2w. Raises what argparse tells as the argument's
    fault."""
    found = re.fullmatch(r"([0-9]{1,12})([smhdw])", text)
    seconds = int(found[1]) * _SECONDS[found[2]] if found is not None else None
    if seconds is None or seconds > _LONGEST_DAYS * _SECONDS["d"]:
        raise argparse.ArgumentTypeError(f"must be a duration such as 15m, 1h or 30d, of at most {_LONGEST_DAYS}d")
    return timedelta(seconds=seconds)


def lifetime(text: str) -> timedelta:
    """A duration that is not zero. Raises what argparse tells as the argument's fault."""
    made = duration(text)
    if not made:
        raise argparse.ArgumentTypeError("must be more than nothing")
    return made
