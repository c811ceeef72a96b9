"""A judge's bias in favour of long responses.

Three views: whether errors in favour of a response correlate with its length, how often wrong responses pass by length,
and whether the same wrong responses pass more often inside neutral text (the attack `padding`). Only in the last one
does nothing but the length differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rewarden_server.studies.calibration.agreement import Figure, Judged, bootstrap, share
from rewarden_server.studies.comparison.agreement import pearson


@dataclass(frozen=True, slots=True)
class Third:
    """A third of the wrong responses: their lengths in characters, and how many passed."""

    shortest: int
    longest: int
    passed: Figure


@dataclass(frozen=True, slots=True)
class LengthBias:
    """correlation: between the judge's error (1: passed and wrong, -1: failed and right, 0: as labelled) and the
    logarithm of the length; above 0, long responses are favoured. thirds: of the wrong responses, shortest first."""

    correlation: Figure
    thirds: Sequence[Third]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "correlation": self.correlation.to_json(),
            "wrong_by_length": [
                {"characters": [third.shortest, third.longest], "passed": third.passed.to_json()}
                for third in self.thirds
            ],
        }


def signed_error(rows: Sequence[Judged]) -> float | None:
    """See `LengthBias.correlation`; None if all errors or all lengths are the same."""
    return pearson([math.log(1 + row.size) for row in rows], [row.passed - row.right for row in rows])


def length_bias(rows: Sequence[Judged], seed: int = 0) -> LengthBias:
    """The length bias in scored responses."""
    wrong = sorted((row for row in rows if not row.right), key=lambda row: row.size)
    cuts = [len(wrong) * third // 3 for third in range(4)]
    thirds = [
        Third(held[0].size, held[-1].size, share(sum(row.passed for row in held), len(held)))
        for start, end in pairwise(cuts)
        if (held := wrong[start:end])
    ]
    return LengthBias(bootstrap(rows, {"error": signed_error}, seed)["error"], thirds)
