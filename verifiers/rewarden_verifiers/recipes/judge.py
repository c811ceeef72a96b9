"""The verifier functions of a recipe: for single samples, and for groups if a component judges groups."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from rewarden.errors import SampleError
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_verifiers.contract import Context, Member
from rewarden_verifiers.recipes.evaluate import Run, Shared
from rewarden_verifiers.recipes.model import Candidate, Recipe
from rewarden_verifiers.recipes.step import OnStep

T = TypeVar("T")

Groups = Mapping[tuple[str | int, ...], bool]
"""For the path of each candidate: whether it judges groups."""


def for_samples(recipe: Recipe, on_step: OnStep | None = None) -> Callable[..., Awaitable[Outcome]]:
    """Returns the function of a recipe all of whose components judge single samples."""

    shared_by = _sharing(recipe)

    async def judge(sample: Sample, progress: Progress | None, ctx: Context, params: Any = None) -> Outcome:
        async def verify(candidate: Candidate, use: Use) -> Outcome:
            return await ctx.verify(use, **_own_fields(candidate, sample))

        return await Run(shared_by(params, progress), sample, verify, on_step).outcome()

    return judge


def directly(recipe: Recipe) -> Callable[..., Outcome]:
    """Returns `VerifierSpec.direct` of a recipe all of whose components judge single samples."""

    shared_by = _sharing(recipe)

    def judge(
        sample: Sample,
        progress: Progress | None,
        verify: Callable[[Use, Mapping[str, Any]], Outcome],
        params: Any = None,
    ) -> Outcome:
        async def verified(candidate: Candidate, use: Use) -> Outcome:
            return verify(use, _own_fields(candidate, sample))

        run = Run(shared_by(params, progress), sample, verified, together=_in_turn).outcome()
        try:
            run.send(None)  # to its end: nothing in it waits
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        raise RuntimeError("a component waits")

    return judge


async def _in_turn(*parts: Coroutine[Any, Any, T]) -> list[T | BaseException]:
    """Like `asyncio.gather`, for parts that wait for nothing."""
    ends: list[T | BaseException] = []
    for part in parts:
        try:
            ends.append(await part)
        except Exception as error:  # noqa: BLE001 - whoever asked for the parts raises it
            ends.append(error)
    return ends


def for_groups(
    recipe: Recipe, groups: Groups, on_step: OnStep | None = None
) -> Callable[..., Awaitable[Sequence[Outcome | SampleError]]]:
    """Returns the function of a recipe with a component that judges groups. That component runs once for all members,
    when the first of them needs it."""

    shared_by = _sharing(recipe)

    async def judge(
        samples: Sequence[Member], progress: Progress | None, ctx: Context, params: Any = None
    ) -> Sequence[Outcome | SampleError]:
        shared = shared_by(params, progress)
        whole: dict[tuple[str | int, ...], asyncio.Future[Sequence[Outcome]]] = {}

        async def of_member(place: int, member: Member) -> Outcome | SampleError:
            async def verify(candidate: Candidate, use: Use) -> Outcome:
                if not groups[candidate.path]:
                    return await ctx.verify(use, sample=member.sample, **_own_fields(candidate, member.sample))
                if candidate.path not in whole:
                    whole[candidate.path] = asyncio.ensure_future(ctx.verify_group(use, samples))
                # Shielded: cancelling one member must not cancel the group's work.
                return (await asyncio.shield(whole[candidate.path]))[place]

            try:
                return await Run(shared, member.sample, verify, on_step).outcome()
            except SampleError as error:
                return error

        try:
            members = [of_member(place, member) for place, member in enumerate(samples)]
            ends = await asyncio.gather(*members, return_exceptions=True)
            outcomes: list[Outcome | SampleError] = []
            for end in ends:
                if isinstance(end, BaseException) and not isinstance(end, SampleError):
                    raise end
                outcomes.append(end)
            return outcomes
        finally:
            for task in whole.values():
                task.cancel()

    return judge


def _sharing(recipe: Recipe) -> Callable[[Any, Progress | None], Shared]:
    """Returns a function that caches its last result: the samples of a batch share parameters and progress."""
    last: Shared | None = None

    def shared_by(params: Any, progress: Progress | None) -> Shared:
        nonlocal last
        found = last
        if found is None or found.params is not params or found.progress is not progress:
            found = last = Shared(recipe, params, progress)
        return found

    return shared_by


def _own_fields(candidate: Candidate, sample: Sample) -> dict[str, Any]:
    """Returns the fields of the sample that are replaced for this candidate: the reference, if the candidate has its
    own.
    """
    if candidate.reference is None:
        return {}
    root, key = candidate.reference
    return {"reference": getattr(sample, root)[key]}
