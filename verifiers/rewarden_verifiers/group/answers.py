"""The answers of a group's members, and the equivalence of two answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import SampleError
from rewarden.types import Outcome, Use
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.contract import Context, Member
from rewarden_verifiers.generation.texts import loops, read
from rewarden_verifiers.group.clusters import Pairs, Same
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.models.embeddings import Embedding, cosines, vectors
from rewarden_verifiers.models.model_tasks import excess
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import no_answer, wrong
from rewarden_verifiers.words import visible

SHOWN = 200
"""Number of characters of a whole response shown in its verdict."""

Answer = tuple[str, str | None] | None
"""An answer and its key; None: no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning(Embedding):
    """Equality by a model: two answers are equal if the cosine of their vectors is at least `threshold`."""

    threshold: float = 0.9

    def __post_init__(self) -> None:
        if not -1 <= self.threshold <= 1:
            raise ValueError("threshold must lie between -1 and 1")


@dataclass(frozen=True, slots=True)
class Given:
    """The answers, by index. failed: outcomes of members that could not be judged, so that their answers are unknown.
    shown: the value to show in the verdict, if it is not the answer itself. beneath: outcomes of members whose text
    does not count as an answer. same: compares answers with different keys.
    """

    answers: Sequence[Answer]
    failed: Mapping[int, Outcome | SampleError] = field(default_factory=dict)
    shown: Mapping[int, Any] = field(default_factory=dict)
    beneath: Mapping[int, Outcome] = field(default_factory=dict)
    same: Same | None = None


async def by_use(ctx: Context, samples: Sequence[Member], use: Use) -> Given:
    """Answers as another verifier reads them: through its `Equivalence` if it has one, else its extracted answers."""
    equivalence = ctx.equivalence(use)
    if equivalence is not None:
        texts = list(dict.fromkeys(member.response for member in samples if member.response is not None))
        read_ = dict(zip(texts, await equivalence.read(texts), strict=True))
        found = [None if member.response is None else read_[member.response] for member in samples]
        unread = {place: one for place, one in enumerate(found) if isinstance(one, SampleError)}
        return Given([None if isinstance(one, SampleError) else one for one in found], unread, same=equivalence.same)
    outcomes = await ctx.verify_group(use, samples)
    lost = {place: outcome for place, outcome in enumerate(outcomes) if failed(outcome)}
    answers = [None if place in lost else _extracted(outcome) for place, outcome in enumerate(outcomes)]
    return Given(answers, lost, {place: outcome.extracted for place, outcome in enumerate(outcomes)})


async def by_meaning(ctx: Context, samples: Sequence[Member], how: Meaning, seen: Seen) -> Given:
    """Whole responses as answers, equal if a model finds them similar. Loops and texts without substance are not
    answers, nor are texts that exceed the model's context through the policy's own doing.
    """
    beneath, _ = await unfit(samples)
    texts = {place: member.response or "" for place, member in enumerate(samples) if place not in beneath}
    found = await vectors(ctx, list(texts.values()), how, seen)
    lost: dict[int, Outcome | SampleError] = {}
    for place, text in texts.items():
        if text in found.long:
            outcome = excess(found.long[text])
            if isinstance(outcome, Outcome):
                beneath[place] = outcome
            else:
                lost[place] = outcome

    async def same(pairs: Pairs) -> Sequence[bool | None]:
        near: dict[tuple[str, str], bool] = {}
        for first in dict.fromkeys(a for a, _ in pairs):  # `cluster` compares one answer with many
            others = [b for a, b in pairs if a == first]
            values = await cosines(found.of[first], [found.of[one] for one in others])
            near |= {(first, one): value >= how.threshold - 1e-9 for one, value in zip(others, values, strict=True)}
        return [near[pair] for pair in pairs]

    answers: list[Answer] = [
        None if place in beneath or place in lost else (texts[place], visible(texts[place]))
        for place in range(len(samples))
    ]
    return Given(answers, lost, {place: text[:SHOWN] for place, text in texts.items()}, beneath, same)


async def unfit(samples: Sequence[Member]) -> tuple[dict[int, Outcome], dict[int, tuple[str, ...]]]:
    """Returns the outcomes, by index, of members whose text cannot be compared (missing, without substance, or a loop),
    and the words of all others. Runs in a thread: a group can contain megabytes.
    """
    return await asyncio.to_thread(_unfit, samples)


def _unfit(samples: Sequence[Member]) -> tuple[dict[int, Outcome], dict[int, tuple[str, ...]]]:
    found: dict[int, Outcome] = {}
    words: dict[int, tuple[str, ...]] = {}
    for place, member in enumerate(samples):
        if member.response is None:
            found[place] = no_answer()
        elif (why := empty_reason(member.response)) is not None:
            found[place] = no_answer(why)
        elif loops(text := read(member.response)):
            found[place] = wrong("repeated", flags=("repeated",))
        else:
            words[place] = text.words
    return found, words


def failed(outcome: Outcome) -> bool:
    """Returns whether a member could not be judged through no fault of its own, so that its answer is unknown."""
    return outcome.status == "error" or (outcome.status == "undecided" and outcome.extracted is None)


def _extracted(outcome: Outcome) -> Answer:
    if outcome.extracted is None or "no_answer" in outcome.flags:
        return None
    text = canonical(outcome.extracted)
    return text, text
