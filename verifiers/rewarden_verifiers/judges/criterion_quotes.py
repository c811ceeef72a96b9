"""Credit for a criterion only with a quote from the response, which earns none for unrelated criteria.

Attack: text that announces its own quality, or an opener that no list has, which a credulous judge finds to meet any
criterion. Flake: an honest judge that misquotes once, so a quote that is not in the response is requested once more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from rewarden.types import Sample
from rewarden_verifiers.judges.criterion import Criterion
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.judge_modes import CREDULOUS, UNQUOTED
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Asked, Inquiry, opinions
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.parts import Vote
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.quotes import quoted, readable
from rewarden_verifiers.judges.reach import Reach
from rewarden_verifiers.judges.showing import Subject
from rewarden_verifiers.judges.unrelated import credited_for_any, subject_of


class Asking(Protocol):
    """Makes the question about criteria. again: quotes that were not there are asked for once more."""

    def __call__(self, batch: Sequence[Criterion], subject: Subject, *, again: bool = False) -> Inquiry[list[Vote]]:
        """Returns the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionQuotes:
    """The quotes of the judge's opinions on one response or portion. reach: of all criteria."""

    ctx: Asked
    params: JudgeParams
    subject: Subject
    reach: Mapping[str, Reach]
    asking: Asking
    ledger: Ledger
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", readable(self.subject.text()))

    def needs(self, one: Criterion) -> bool:
        """Returns whether credit for a criterion needs a quote. What a text lacks, no passage of it shows, and what is
        about the whole, no portion of it."""
        reach = self.reach[one.id]
        return one.points > 0 and (reach == "passage" or (self.subject.portion is None and reach == "whole"))

    async def held(
        self, batch: Sequence[Criterion], rows: Sequence[Sequence[Vote]], findings: Sequence[Material]
    ) -> list[list[Vote]]:
        """Returns the votes of each opinion, with credit only for what a quote holds. Raises what `ctx.judge.ask`
        raises."""
        made = [list(row) for row in rows]
        lacking: dict[tuple[int, ...], list[int]] = {}
        for number, row in enumerate(made):
            places = tuple(place for place, one in enumerate(batch) if self.needs(one) and self._lacks(row[place]))
            if places:
                lacking.setdefault(places, []).append(number)
        for places, numbers in lacking.items():
            inquiry = self.asking([batch[place] for place in places], self.subject, again=True)
            asking = replace(self.params, samples=len(numbers))
            said = await opinions(self.ctx, asking, replace(inquiry, findings=findings), self.ledger)
            for number, opinion in zip(numbers, said, strict=True):
                row = made[number]
                votes = opinion.reading or [row[place] for place in places]
                for place, vote in zip(places, votes, strict=True):
                    row[place] = without_credit(vote, UNQUOTED) if self._lacks(vote) else vote
        return made

    async def distinguished(self, votes: Mapping[str, list[Vote]], criteria: Sequence[Criterion]) -> None:
        """Takes the credit from the votes whose quotes meet unrelated criteria too. votes: by criterion, the opinions.

        A request's own prompt may not show the criterion, so a judge could not tell it from an unrelated one.
        """
        if self.params.prompt.user:
            return
        needy = [one.id for one in criteria if self.needs(one)]
        await gather(*(self._distinguish(votes, needy, place) for place in range(max(map(len, votes.values())))))

    async def _distinguish(self, votes: Mapping[str, list[Vote]], needy: Sequence[str], place: int) -> None:
        own = {name: votes[name][place] for name in needy if place < len(votes[name])}
        quotes = {name: vote.quote for name, vote in own.items() if vote.value}
        for name in await credited_for_any(quotes, self._earns):
            votes[name][place] = without_credit(own[name], CREDULOUS)

    async def _earns(self, text: str, subject: str, names: Collection[str]) -> bool:
        """Returns whether a passage meets an unrelated criterion. The question has neither prompt, images nor
        instructions, which may let a judge accept any text."""
        said = Criterion(path="", id="", text=subject_of(subject), label="")
        sample = Sample(response=text, media=self.subject.sample.media)
        inquiry = self.asking([said], Subject(response=text, prompt=None, sample=sample, show="response"))
        asking = replace(self.params, samples=1, instructions="")
        (found,) = await opinions(self.ctx, asking, replace(inquiry, media=()), self.ledger)
        return found.blame == "policy" or (found.reading is not None and bool(found.reading[0].value))

    def _lacks(self, vote: Vote) -> bool:
        return bool(vote.value) and not quoted(vote.quote, self.text)


def without_credit(vote: Vote, why: str) -> Vote:
    """Returns a vote that the criterion is not met. why: for its reason."""
    return replace(vote, value=0.0, reason=f"{vote.reason} {why}", count=None if vote.count is None else 0)
