"""Gives credit only for a final answer that is in the response and is right when shown alone.

Attack: text that a credulous judge accepts although it contains no answer, such as an opener that is on no list, or
prose that argues for its own verdict (Zhao et al. 2025, arXiv 2507.08794). A judge that accepts a response must
therefore quote its final answer. The quote must be in the response; a missing quote is requested once more, and then
our own extraction replaces it. The quoted answer is judged again without the rest of the response. If it has little in
common with the references, it is also compared with two unrelated ones: a judge that accepts it for these too accepts
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewarden_verifiers.extraction.ladder import extract
from rewarden_verifiers.judges.confirmation import Confirmation, accepts
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.judge_modes import Vote
from rewarden_verifiers.judges.opinions import Opinion
from rewarden_verifiers.judges.quotes import quoted, readable
from rewarden_verifiers.judges.unrelated import unrelated_to, words_of


class FinalAnswers(Confirmation):
    """The answers on which the judge's opinions on one response rest."""

    __slots__ = ()

    def lacks(self, opinion: Opinion[Vote], there: str) -> bool:
        """See `Confirmation`."""
        vote = opinion.reading
        return vote is not None and vote.score > 0 and not self._holds(vote, there)

    def without(self, opinion: Opinion[Vote], there: str) -> Opinion[Vote]:
        """See `Confirmation`. The answer found by our extraction rules replaces the quote; without one, the opinion
        counts as zero.
        """
        own = extract(self.text, "explicit")
        # Adjacent answers are shown together: the judge decides which of them counts.
        answer = own.text if own is not None and len(own.texts) == 1 else self.text[slice(*own.span)] if own else ""
        if opinion.reading is not None and self.says_something(answer):
            return replace(opinion, reading=replace(opinion.reading, answer=answer))
        return Opinion(Vote(0.0, "The response contains no final answer to quote.", unquoted=True))

    async def settled(self, held: list[Opinion[Vote]], there: str) -> list[Opinion[Vote]]:
        """See `Confirmation`. Answers that are not the whole response are compared once more, alone. Those unlike the
        references are also compared with unrelated references.
        """
        alone: dict[str, list[int]] = {}
        for place, one in enumerate(held):
            if one.reading is not None and one.reading.score > 0 and readable(one.reading.answer) != there:
                alone.setdefault(one.reading.answer, []).append(place)
        asked = (self.opinions(len(places), self.asking(alone=answer)) for answer, places in alone.items())
        compared = await gather(*asked)
        for (answer, places), said in zip(alone.items(), compared, strict=True):
            for place, one in zip(places, said, strict=True):
                vote = one.reading
                held[place] = one if vote is None else replace(one, reading=replace(vote, answer=answer))
        return await self._distinguished(held)

    async def _distinguished(self, held: list[Opinion[Vote]]) -> list[Opinion[Vote]]:
        """Withdraws the credit for answers that the judge also accepts for unrelated references.

        Attack: "As expected.", "idem", or the question itself: no list of openers contains them all. Flake: a judge
        that errs once about a right answer. Skipped for custom templates, which may not show the reference, so that a
        judge could not tell it apart.
        """
        if self.params.prompt.user:
            return held
        unlike: dict[str, list[int]] = {}
        for place, one in enumerate(held):
            vote = one.reading
            if vote is not None and vote.score > 0 and not any(_alike(vote.answer, ref) for ref in self.references):
                unlike.setdefault(vote.answer, []).append(place)
        for found in await gather(*(self._taken_for_any(answer, places) for answer, places in unlike.items())):
            for place in found:
                reason = "The judge accepts this answer for unrelated references too."
                one = held[place]
                assert one.reading is not None
                held[place] = replace(one, reading=Vote(0.0, reason, answer=one.reading.answer, unquoted=True))
        return held

    async def _taken_for_any(self, answer: str, places: Sequence[int]) -> Sequence[int]:
        """Returns the indices of the opinions that accept an answer for two unrelated references."""
        others = unrelated_to(answer)
        if len(others) < 2:
            return places
        for other in others:
            if not places:
                break
            said = await self.opinions(len(places), self.asking(alone=answer, against=other))
            places = [place for place, one in zip(places, said, strict=True) if accepts(one)]
        return places

    def _holds(self, vote: Vote, there: str) -> bool:
        """Returns whether the response contains the quote and the quote can be an answer.

        An answer of marks alone, such as `+`, contains no word to search for.
        """
        if not self.says_something(vote.answer):
            return False
        marks = not any(character.isalnum() for character in vote.answer)
        return readable(vote.answer) in there if marks else quoted(vote.answer, there)


def _alike(answer: str, reference: str) -> bool:
    """Returns whether an answer has at least half of a reference's words. Attack: "Attempt 1" for a reference that is a
    number, so a number alone does not make an answer similar.
    """
    wanted = words_of(reference)
    return len(words_of(answer) & wanted) * 2 >= len(wanted)
