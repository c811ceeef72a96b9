"""Gives credit only for what the judge can quote: the quotes in its opinions must occur in the response.

A missing quote is requested once more. Then the kind of quote decides what the opinion counts for: see
`final_answer.py` and `grounds.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.judge_modes import Vote
from rewarden_verifiers.judges.judge_params import Params
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Asked, Inquiry, Opinion, opinions
from rewarden_verifiers.judges.quotes import readable


class Asking(Protocol):
    """Makes the question about a response. again: a quote that was not there is asked for once more. alone: a quote
    that is shown in the place of the response. against: an unrelated subject in the place of the references, or of what
    is wanted, without the prompt."""

    def __call__(self, *, again: bool = False, alone: str | None = None, against: str | None = None) -> Inquiry[Vote]:
        """Returns the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation(ABC):
    """The quotes in the judge's opinions on one response.

    text: the candidate's text. references: the accepted answers, or the sample's. asked: the task of the response, see
    `empty_reason`.
    """

    ctx: Asked
    params: Params
    text: str
    references: Sequence[str]
    asked: str
    asking: Asking
    ledger: Ledger

    async def confirmed(self, found: Sequence[Opinion[Vote]]) -> list[Opinion[Vote]]:
        """Returns the opinions in order, with credit only where the quote is found. Raises what `ctx.judge.ask`
        raises.
        """
        held = list(found)
        there = readable(self.text)
        lacking = [place for place, one in enumerate(held) if self.lacks(one, there)]
        if lacking:
            again = await self.opinions(len(lacking), self.asking(again=True))
            for place, one in zip(lacking, again, strict=True):
                held[place] = self.without(one, there) if self.lacks(one, there) else one
        return await self.settled(held, there)

    @abstractmethod
    def lacks(self, opinion: Opinion[Vote], there: str) -> bool:
        """Returns whether an opinion gives credit for a quote that does not occur in the text (made `readable`)."""

    @abstractmethod
    def without(self, opinion: Opinion[Vote], there: str) -> Opinion[Vote]:
        """Returns the opinion to count if the quote is still missing after the second request."""

    async def settled(self, held: list[Opinion[Vote]], there: str) -> list[Opinion[Vote]]:
        """Returns the opinions to count, once all quotes have been checked."""
        return held

    async def opinions(self, count: int, inquiry: Inquiry[Vote]) -> list[Opinion[Vote]]:
        """Asks a question for `count` opinions."""
        return await opinions(self.ctx, replace(self.params, samples=count), inquiry, self.ledger)

    def says_something(self, quote: str) -> bool:
        """Returns whether a quote has substance; an opener or a claim has none."""
        return empty_reason(quote, self.references, asked=self.asked) is None


def accepts(opinion: Opinion[Vote]) -> bool:
    """Returns whether an opinion on a quote gives it credit for an unrelated subject. Attack: a quote that makes the
    judge unreadable as soon as it stands alone."""
    return opinion.blame == "policy" or (opinion.reading is not None and opinion.reading.score > 0)
