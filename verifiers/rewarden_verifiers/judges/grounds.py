"""Credit only for what the judge can quote, where there is no final answer: the modes `accept`, `scale` and `aspects`.

Attack: text that announces its own quality, or an opener that no list has, for which a credulous judge gives credit
though nothing in it deserves any. With each credit the judge names the passage that it rests on. A passage that the
response does not hold, or that says nothing, is asked for once more; after that there is no credit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.judge_modes import Vote, without_credit
from rewarden_verifiers.judges.judge_params import Params
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Asked, Inquiry, Opinion, opinions
from rewarden_verifiers.judges.quotes import quoted, readable


class Asking(Protocol):
    """Makes the question about a response. again: a passage that was not there is asked for once more."""

    def __call__(self, *, again: bool = False) -> Inquiry[Vote]:
        """Returns the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """The passages that the judge's opinions on one response rest on.

    text: what the candidate wrote. references: of the sample. asked: what the response was to do, see `empty_reason`.
    """

    ctx: Asked
    params: Params
    text: str
    references: Sequence[str]
    asked: str
    asking: Asking
    ledger: Ledger

    async def confirmed(self, found: Sequence[Opinion[Vote]]) -> list[Opinion[Vote]]:
        """Returns the opinions, in their order, with credit only where a passage holds. Raises what `ctx.judge.ask`
        raises."""
        held = list(found)
        there = readable(self.text)
        wrong = [place for place, one in enumerate(held) if self._lacking(one, there)]
        if wrong:
            params = replace(self.params, samples=len(wrong))
            again = await opinions(self.ctx, params, self.asking(again=True), self.ledger)
            for place, one in zip(wrong, again, strict=True):
                held[place] = self._kept(one, there)
        return held

    def _kept(self, opinion: Opinion[Vote], there: str) -> Opinion[Vote]:
        lacking = self._lacking(opinion, there)
        if opinion.reading is None or not lacking:
            return opinion
        return replace(opinion, reading=without_credit(opinion.reading, lacking, self.params))

    def _lacking(self, opinion: Opinion[Vote], there: str) -> list[str]:
        """The parts of an opinion whose credit has no passage."""
        vote = opinion.reading
        return [] if vote is None else [name for name in vote.credited if not self._holds(vote.quotes[name], there)]

    def _holds(self, quote: str, there: str) -> bool:
        return quoted(quote, there) and empty_reason(quote, self.references, asked=self.asked) is None
