"""An entry of a set: the questions that a row asks, and the result of the verdicts on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from rewarden.types import Sample, Use, Verdict
from rewarden_server.studies.calibration.judged_responses import compares, is_grouped
from rewarden_server.studies.calibration.rows import Labelled

Kind = Literal["rating", "comparison", "ranking"]
"""The way a verifier works. `rating`: it judges one response at a time; `comparison`: a response against a rival;
`ranking`: the members of a group against each other."""


@dataclass(frozen=True, slots=True)
class Way:
    """The way a verifier is used and its verdicts are read. own: a response's rating is the reward model's own number,
    since a score from 0 to 1 leaves no room between large rewards."""

    kind: Kind
    own: bool = False


def way_of(use: Use) -> Way:
    """The way of a verifier. Recipes, and verifiers that only the server has, count as rating."""
    if compares(use):
        return Way("comparison")
    if is_grouped(use):
        return Way("ranking")
    # The model's own number does not include a length penalty, a label's probability or an ensemble.
    params = use.params
    plain = not params.get("length_penalty") and not params.get("models") and params.get("transform") != "probability"
    return Way("rating", own=use.name == "rm_scalar" and plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a scored row. subset: the part of the set in which it counts. tied: the verifier considered
    responses equal that it should have told apart. unit: names rows that belong together and are drawn together for
    intervals; None: the row stands alone."""

    subset: str
    tied: bool = False
    unit: str | None = None


R_co = TypeVar("R_co", bound=Result, covariant=True)


class UnusableError(ValueError):
    """A scored verdict lacks what the set asks for, such as which step is wrong; the row is unscored."""


@dataclass(frozen=True, kw_only=True)
class Entry(ABC, Generic[R_co]):
    """A row. id: its name in reports; subset: the part of the set that it belongs to."""

    id: str
    subset: str

    @abstractmethod
    def samples(self, way: Way) -> list[Sample]:
        """The samples for a verifier of this way; empty if the set does not use such a verifier on this row."""

    @abstractmethod
    def result(self, way: Way, verdicts: Sequence[Verdict]) -> R_co:
        """The result of the verdicts on these samples, all of them scored. Raises UnusableError."""

    @abstractmethod
    def labelled(self, way: Way, coin: bool) -> list[Labelled]:
        """The row as labelled responses, for calibration and attacks. coin: which of two comes first."""
