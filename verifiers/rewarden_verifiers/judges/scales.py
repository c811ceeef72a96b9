"""Scales: numbers with a stated meaning for their ends, and for some numbers in between."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.errors import InvalidParams


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A scale for a judge's answer.

    low, high: Its ends.
    integer: Whether it only contains integers.
    direction: The better end: `higher` or `lower`.
    anchors: The meaning of numbers, by number: {"1": "useless", "5": "as an expert would write it"}.
    """

    low: float = 1
    high: float = 10
    integer: bool = True
    direction: Literal["higher", "lower"] = "higher"
    anchors: Mapping[str, str] = field(default_factory=dict)

    def check(self, path: str) -> None:
        """Raises InvalidParams for an invalid scale. path: the path of the scale."""
        for name, value in (("low", self.low), ("high", self.high)):
            if not abs(value) <= 1e6:
                raise InvalidParams(f"{path}.{name} must be a number from -1e6 to 1e6", path=f"{path}.{name}")
            if self.integer and not float(value).is_integer():
                raise InvalidParams(f"{path}.{name} must be whole, or integer false", path=f"{path}.{name}")
        if not self.low < self.high:
            raise InvalidParams(f"{path}.high must be above low", path=f"{path}.high")
        for anchor in self.anchors:
            where = f"{path}.anchors.{anchor[:40]}"
            try:
                number = float(anchor)
            except ValueError:
                number = math.nan
            if not self.low <= number <= self.high or (self.integer and not number.is_integer()):
                raise InvalidParams(f"{where} is not a number of the scale {self.ends}", path=where)

    @property
    def ends(self) -> str:
        """The range, in words."""
        return f"from {_plain(self.low)} to {_plain(self.high)}"

    @property
    def lowest(self) -> float:
        """The worse end."""
        return self.low if self.direction == "higher" else self.high

    def share(self, number: float) -> float:
        """Converts a number on the scale to a score: 0 at the worse end, 1 at the better one."""
        share = (number - self.low) / (self.high - self.low)
        return min(max(share if self.direction == "higher" else 1 - share, 0.0), 1.0)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a number on the scale."""
        low, high = (int(self.low), int(self.high)) if self.integer else (self.low, self.high)
        return {"type": "integer" if self.integer else "number", "minimum": low, "maximum": high}

    def words(self) -> dict[str, Any]:
        """Returns the variables for a prompt: `ends`, `integer`, `better`, and `anchors` ordered by number."""
        ordered = sorted(self.anchors.items(), key=lambda anchor: float(anchor[0]))
        return {
            "ends": self.ends,
            "integer": self.integer,
            "better": self.direction,
            "anchors": [{"number": number, "meaning": meaning} for number, meaning in ordered],
        }


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)
