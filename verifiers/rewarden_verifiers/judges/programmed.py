"""Criteria that are programs: any verifier decides, and no language model is asked."""

from __future__ import annotations

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context
from rewarden_verifiers.judges.criterion import Criterion
from rewarden_verifiers.judges.gather import gather


async def run_programs(ctx: Context, criteria: list[Criterion]) -> dict[str, Outcome]:
    """By id, the outcomes of those criteria that are programs, on the sample as it is, with the criterion's reference
    in the place of the sample's. What breaks in them comes back as an outcome."""
    programs = {one.id: one for one in criteria if one.use is not None}
    found = await gather(*(_outcome(ctx, one) for one in programs.values()))
    return dict(zip(programs, found, strict=True))


async def _outcome(ctx: Context, one: Criterion) -> Outcome:
    assert one.use is not None
    # Never the sample's own reference, which is the list that this criterion stands in.
    return await ctx.verify(one.use, reference=one.reference)


def reached(one: Criterion, outcome: Outcome) -> float:
    """Returns how much of the criterion a scored outcome meets, from 0 to 1. Raises InvalidReference (or InvalidParams,
    by where the criterion stands) where it must pass and the verifier has no notion of that.
    """
    assert outcome.score is not None
    if one.of == "passed":
        if outcome.passed is None:
            error = InvalidParams if one.path.startswith("params") else InvalidReference
            raise error(
                f"{one.path}.of: the verifier has no notion of passing; give a number or `score`", path=f"{one.path}.of"
            )
        return float(outcome.passed)
    low, high = outcome.range
    if one.of == "score":
        return (outcome.score - low) / (high - low) if high > low else float(outcome.score >= high)
    # A sum of floats that should be 0.6 may be 0.6 less a rounding.
    return float(outcome.score >= one.of - 1e-9)
