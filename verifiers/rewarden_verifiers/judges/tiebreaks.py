"""Measures compared in order of rank: each decides only if the previous ones leave a tie.

WebThinker (arXiv 2504.21776) orders trajectories in this way: by outcome, then by fewer tool calls, then by shorter
text. The judge is one of the measures; the others are numbers, compared here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidParams, InvalidReference, InvalidSample, SampleError
from rewarden_verifiers.judges.references import Rival

JUDGE = "judge"
LENGTH = "length"
_METADATA = "metadata."


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure to compare. by: `judge`; `length`, in characters; or `metadata.NAME`, a number in the sample's metadata
    and in the reference's. prefer: whether higher or lower numbers are better. margin: differences up to this are
    ignored.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    by: str
    prefer: Literal["lower", "higher"] = "lower"
    margin: float = 0.0

    def __post_init__(self) -> None:
        known = self.by in (JUDGE, LENGTH) or (self.by.startswith(_METADATA) and len(self.by) > len(_METADATA))
        if not known:
            raise InvalidParams(
                f"params.criteria: there is no {self.by!r}; there are {JUDGE}, {LENGTH}, {_METADATA}NAME",
                path="params.criteria",
            )
        if not 0 <= self.margin < math.inf:
            raise InvalidParams("params.criteria: margin must be a number from 0", path="params.criteria")


def measures_of(given: tuple[str | Measure, ...]) -> tuple[Measure, ...]:
    """Reads the measures of a parameter. Raises InvalidParams if there are none, and for duplicates."""
    made = tuple(Measure(by=one) if isinstance(one, str) else one for one in given)
    names = [one.by for one in made]
    if not made or len(set(names)) != len(names):
        raise InvalidParams("params.criteria must name at least one, and each once", path="params.criteria")
    return made


def measured(
    measure: Measure, response: str, metadata: Mapping[str, Any] | None, rival: Rival
) -> tuple[float, dict[str, Any]]:
    """1 if the response is better, 0 if the rival is, 0.5 for a tie; and both numbers.

    Raises InvalidSample or InvalidReference if a number is missing.
    """
    own, other = _numbers(measure.by, response, metadata or {}, rival)
    better = own - other if measure.prefer == "higher" else other - own
    score = 0.5 if abs(better) <= measure.margin else float(better > 0)
    return score, {"by": measure.by, "score": score, "own": own, "rival": other}


def _numbers(by: str, response: str, metadata: Mapping[str, Any], rival: Rival) -> tuple[float, float]:
    if by == LENGTH:
        return len(response.strip()), len(rival.text.strip())
    name = by.removeprefix(_METADATA)
    return (
        _number(metadata, name, f"metadata.{name}", InvalidSample),
        _number(rival.metadata, name, f"reference.metadata.{name}", InvalidReference),
    )


def _number(values: Mapping[str, Any], name: str, path: str, error: type[SampleError]) -> float:
    value = values.get(name)
    # The bounds also exclude infinities, NaN, and integers that do not fit into a float.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 1e300:
        raise error(f"{path} must be a number, since params.criteria compares it", path=path)
    return value
