"""Credit only for a final answer that stands in the response, and that is right when it is shown alone.

Attack: text that a credulous judge accepts though nothing in it answers, such as an opener that no list has, or prose
that argues for its own verdict (Zhao et al. 2025, arXiv 2507.08794). A judge that accepts a response therefore quotes
the final answer. We look for the quote in the response; a quote that is not there is asked for once more, and then our
own extraction takes its place. What is found is compared once more, without the rest of the response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rewarden_verifiers.extraction.ladder import extract
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.judge_modes import Vote
from rewarden_verifiers.judges.judge_params import Params
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Asked, Inquiry, Opinion, opinions
from rewarden_verifiers.judges.quotes import quoted, readable


class Asking(Protocol):
    """Makes the question about a response. again: a quote that was not there is asked for once more. alone: an answer
    that is shown in the place of the response."""

    def __call__(self, *, again: bool = False, alone: str | None = None) -> Inquiry[Vote]:
        """Returns the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalAnswers:
    """The answers that the judge's opinions on one response rest on.

    text: what the candidate wrote. references: the accepted answers. asked: what the response was to do, see
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
        """Returns the opinions, in their order, of which those that accept the response have an answer that holds.

        Raises what `ctx.judge.ask` raises.
        """
        held = list(found)
        there = readable(self.text)
        wrong = [place for place, one in enumerate(held) if _accepts(one) and not self._holds(one.reading, there)]
        if wrong:
            again = await opinions(self.ctx, self._so_often(len(wrong)), self.asking(again=True), self.ledger)
            for place, one in zip(wrong, again, strict=True):
                held[place] = one if not _accepts(one) or self._holds(one.reading, there) else self._extracted(one)
        alone: dict[str, list[int]] = {}
        for place, one in enumerate(held):
            if one.reading is not None and one.reading.score > 0 and readable(one.reading.answer) != there:
                alone.setdefault(one.reading.answer, []).append(place)
        compared = await gather(*(self._compared(answer, len(places)) for answer, places in alone.items()))
        for (answer, places), said in zip(alone.items(), compared, strict=True):
            for place, one in zip(places, said, strict=True):
                vote = one.reading
                held[place] = one if vote is None else replace(one, reading=replace(vote, answer=answer))
        return held

    def _holds(self, vote: Vote | None, there: str) -> bool:
        """Returns whether the response holds the quote, and the quote may be an answer.

        An answer of marks alone, such as `+`, has no word to be found by.
        """
        if vote is None or not self._says_something(vote.answer):
            return False
        marks = not any(character.isalnum() for character in vote.answer)
        return readable(vote.answer) in there if marks else quoted(vote.answer, there)

    def _says_something(self, answer: str) -> bool:
        return empty_reason(answer, self.references, asked=self.asked) is None

    def _extracted(self, opinion: Opinion[Vote]) -> Opinion[Vote]:
        """Returns the opinion with the answer that our rules find in its place; where they find none, it is a zero."""
        own = extract(self.text, "explicit")
        # Several answers that stand together are shown together: which of them counts is the judge's matter.
        answer = own.text if own is not None and len(own.texts) == 1 else self.text[slice(*own.span)] if own else ""
        if opinion.reading is not None and self._says_something(answer):
            return replace(opinion, reading=replace(opinion.reading, answer=answer))
        return Opinion(Vote(0.0, "The response holds no final answer that could be quoted.", unquoted=True))

    async def _compared(self, answer: str, count: int) -> list[Opinion[Vote]]:
        return await opinions(self.ctx, self._so_often(count), self.asking(alone=answer), self.ledger)

    def _so_often(self, count: int) -> Params:
        return replace(self.params, samples=count)


def _accepts(opinion: Opinion[Vote]) -> bool:
    return opinion.reading is not None and opinion.reading.score > 0
