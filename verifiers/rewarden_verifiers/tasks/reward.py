"""Reads the reward that a task's tests have written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FOLDER = "/logs/verifier"
TEXT, JSON = "reward.txt", "reward.json"
MOST_BYTES = 64 * 1024
_MOST_PARTS = 100

MAIN = "reward"
"""The name of the reward that is the score, if a file has several."""


class Unreadable(ValueError):
    """A reward file does not contain a reward from 0 to 1. The message says why."""


@dataclass(frozen=True, slots=True)
class Reward:
    """A score from 0 to 1. parts: the named rewards, if there are several."""

    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


def read_text(data: bytes) -> Reward:
    """Reads `reward.txt`. Raises Unreadable."""
    try:
        return Reward(_checked(float(data.decode("ascii"))))
    except ValueError as error:
        raise error if isinstance(error, Unreadable) else Unreadable(f"{TEXT} is not a number") from None


def read_json(data: bytes) -> Reward:
    """Reads `reward.json`. Of several rewards, the one named `reward` is the score, or else their mean. Raises
    Unreadable.
    """
    try:
        told = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise Unreadable(f"{JSON} is not JSON, or names a reward twice") from None
    if not isinstance(told, dict) or not 0 < len(told) <= _MOST_PARTS:
        raise Unreadable(f"{JSON} must be an object of 1 to {_MOST_PARTS} numbers")
    parts = {name: _number(value) for name, value in told.items()}
    score = parts[MAIN] if MAIN in parts else math.fsum(parts.values()) / len(parts)
    return Reward(score, parts if parts.keys() != {MAIN} else {})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    return made


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise Unreadable(f"{JSON} must hold numbers alone")
    return _checked(value)


def _checked(value: float) -> float:
    if not 0 <= value <= 1:  # also rejects NaN
        raise Unreadable("the reward must be from 0 to 1")
    return float(value)
