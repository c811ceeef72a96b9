"""Responses to verdicts, and verdicts to what calibration reads of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from rewarden.client import AsyncClient
from rewarden.errors import RewardenError, SampleError
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.studies.calibration.agreement import Judged
from rewarden_server.studies.calibration.attacks import text_of
from rewarden_server.studies.calibration.spent import Spent
from rewarden_verifiers.group.statistics import passes
from rewarden_verifiers.judges.resources import JUDGING
from rewarden_verifiers.registry import Registry


class CalibrationError(RewardenError):
    """A calibration is refused before anything is asked; the message names the fix."""

    code = "calibration"


class Asker:
    """Gets verdicts of one use, and adds up what they took."""

    def __init__(self, client: AsyncClient, use: Use) -> None:
        self.use = use
        self.spent = Spent()
        self._client = client

    @property
    def judges(self) -> bool:
        """Returns whether it is a verifier that asks judges, whose options are known, and no recipe."""
        return self.use.name in JUDGING

    @cached_property
    def grouped(self) -> bool:
        """Returns whether it judges the members of a group against each other; False for verifiers that only a server
        knows.
        """
        try:
            return self.use.name is not None and Registry().get(self.use.name).group
        except SampleError:
            return False

    async def ask(self, samples: Sequence[Sample], **params: Any) -> list[Verdict]:
        """The verdicts, in order; `params` in the place of the use's own. Raises RequestError."""
        if not samples:
            return []
        use = replace(self.use, params={**self.use.params, **params}) if params else self.use
        result = await self._client.verify(Batch(samples=samples, use=use))
        self.spent.add(result.verdicts)
        return list(result.verdicts)


def score_of(verdict: Verdict) -> float | None:
    """The score, brought from its range to 0 to 1."""
    if verdict.score is None:
        return None
    low, high = verdict.range
    return min(1.0, max(0.0, (verdict.score - low) / (high - low)))


def judged(sample: Sample, right: bool, verdict: Verdict) -> Judged | None:
    """A response with label and verdict; None where it is unscored."""
    score = score_of(verdict)
    if score is None:
        return None
    return Judged(right, passes(verdict), score, len(text_of(sample.response)))


def with_params(use: Use, given: Mapping[str, Any]) -> Use:
    """The use with further parameters. Raises CalibrationError for an inline recipe, which has its own."""
    if not given:
        return use
    if use.name is None:
        raise CalibrationError("--judge and --samples are parameters of a verifier; a recipe says them itself")
    return replace(use, params={**use.params, **given})
