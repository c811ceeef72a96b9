"""The rate at which a judge contradicts itself: between the two orders of a pair, or when asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Verdict
from rewarden_server.studies.calibration.agreement import Figure, share
from rewarden_verifiers.group.statistics import mean


@dataclass(frozen=True, slots=True)
class Flips:
    """orders: the share of pairs whose two orders disagree. repeats: the share of responses whose k opinions are not
    unanimous; disagreement: the probability that two of them differ. None: not measured."""

    orders: Figure | None = None
    repeats: Figure | None = None
    disagreement: float | None = None
    opinions: int = 0

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "orders": None if self.orders is None else self.orders.to_json(),
            "repeats": None if self.repeats is None else self.repeats.to_json(),
            "disagreement": self.disagreement,
            "opinions": self.opinions,
        }


def repeat_flips(opinions: Sequence[Sequence[bool]]) -> tuple[Figure | None, float | None, int]:
    """From k yes-or-no opinions on each response: the share of responses without unanimity, the probability that two
    opinions on a response differ, and k. Responses with a single opinion are ignored."""
    several = [each for each in opinions if len(each) > 1]
    if not several:
        return None, None, 0
    differ = [2 * sum(each) * (len(each) - sum(each)) / (len(each) * (len(each) - 1)) for each in several]
    return share(sum(0 < sum(each) < len(each) for each in several), len(several)), mean(differ), max(map(len, several))


def flips_of(verdicts: Sequence[Verdict], threshold: float | None = None) -> Flips:
    """The flips in the evidence of scored verdicts: `flip_rate` from verifiers that ask both orders of a pair, and
    `opinions` from those that ask several times. threshold: the lowest number that makes an opinion a yes; None:
    anything above a half.
    """
    orders = [rate for verdict in verdicts if isinstance(rate := verdict.evidence.get("flip_rate"), (int, float))]
    repeats, disagreement, most = repeat_flips([_sides(verdict.evidence, threshold) for verdict in verdicts])
    return Flips(
        orders=share(sum(rate > 0 for rate in orders), len(orders)) if orders else None,
        repeats=repeats,
        disagreement=disagreement,
        opinions=most,
    )


def _sides(evidence: Mapping[str, Any], threshold: float | None) -> list[bool]:
    found = evidence.get("opinions")
    if not isinstance(found, (list, tuple)):
        return []
    scores = [float(one) for one in found if isinstance(one, (int, float))]
    return [score > 0.5 if threshold is None else score >= threshold for score in scores]
