"""Times as models write them: seconds, frames, minutes, and time codes (mm:ss, hh:mm:ss.mmm)."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from rewarden_verifiers.vision.numerals import number

TimeUnit = Literal["seconds", "frames"]

_CODE = r"(?:\d{1,3}:)?\d{1,3}:\d{2}(?:[.,]\d{1,9})?(?![\d:])"
_UNIT = r"milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h|m|frames?"
_COMPOUND = (
    r"(?:\d{1,3}\s{0,2}(?:hours?|hrs?|h)\s{0,2})?\d{1,4}\s{0,2}(?:minutes?|mins?|m)\s{0,2}(?:and\s{1,2})?"
    r"\d{1,2}(?:\.\d{1,9})?\s{0,2}(?:seconds?|secs?|s)\b"
)
TIME = rf"(?:{_CODE}|{_COMPOUND}|-?\d{{1,12}}(?:\.\d{{1,9}})?(?:\s{{0,2}}(?:{_UNIT})\b)?(?![\w%:]))"
"""A pattern of one time."""

_TIME = re.compile(rf"\s*(?:(?P<code>{_CODE})|(?P<value>-?\d+(?:\.\d+)?)\s{{0,2}}(?P<unit>{_UNIT})?)\s*", re.IGNORECASE)
_WRITTEN_OUT = re.compile(rf"\s*{_COMPOUND}\s*", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Time(NamedTuple):
    """A time: its value, and the unit written with it, or None."""

    value: float
    unit: Literal["seconds", "frames"] | None = None


def time_of(value: Any) -> Time | None:
    """Parses a number, a text with a number and an optional unit, or a time code; returns None for anything else."""
    if not isinstance(value, str):
        found = number(value)
        return None if found is None else Time(found)
    if len(value) > 60:
        return None
    match = _TIME.fullmatch(value)
    if match is None:
        parts = re.findall(r"\d+(?:\.\d+)?", value) if _WRITTEN_OUT.fullmatch(value) else []
        return _from_code(":".join(parts)) if parts else None
    if match["code"]:
        return _from_code(match["code"])
    found = number(match["value"])
    if found is None:
        return None
    unit = (match["unit"] or "").lower()
    if not unit:
        return Time(found)
    if unit.startswith("frame"):
        return Time(found, "frames")
    kind = "ms" if unit.startswith(("ms", "milli")) else unit[0]
    return Time(found * _SECONDS[kind], "seconds")


def _from_code(code: str) -> Time | None:
    parts = [float(part.replace(",", ".")) for part in code.split(":")]
    if parts[-1] >= 60 or (len(parts) == 3 and parts[1] >= 60):
        return None  # 1:75 is not a time
    seconds = 0.0
    for part in parts:
        seconds = seconds * 60 + part
    return Time(seconds, "seconds")
