"""Gives credit only for what the judge can quote, in the modes without a final answer: `accept`, `scale` and `aspects`.

Attack: text that announces its own quality, or an opener that is on no list, for which a credulous judge gives
undeserved credit. For each credit, the judge quotes the passage that justifies it. A passage that is not in the
response, or has no content, is requested once more; after that there is no credit. A passage to which the judge gives
at least as much credit for two unrelated subjects earns none either.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rewarden_verifiers.judges.confirmation import Confirmation, accepts
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.judge_modes import CREDULOUS, UNQUOTED, Vote, share_of, without_credit
from rewarden_verifiers.judges.opinions import Opinion
from rewarden_verifiers.judges.quotes import quoted
from rewarden_verifiers.judges.unrelated import credited_for_any


class Grounds(Confirmation):
    """The passages on which the judge's opinions on one response rest."""

    __slots__ = ()

    def lacks(self, opinion: Opinion[Vote], there: str) -> bool:
        """See `Confirmation`."""
        return bool(self._lacking(opinion, there))

    def without(self, opinion: Opinion[Vote], there: str) -> Opinion[Vote]:
        """See `Confirmation`. Parts whose passage was found keep their credit."""
        assert opinion.reading is not None
        vote = without_credit(opinion.reading, self._lacking(opinion, there), self.params, UNQUOTED)
        return replace(opinion, reading=vote)

    async def settled(self, held: list[Opinion[Vote]], there: str) -> list[Opinion[Vote]]:
        """See `Confirmation`. Skipped for a custom prompt, which may not show the subject, so that a judge could not
        tell it from the real task.
        """
        if self.params.prompt.system or self.params.prompt.user:
            return held
        return await gather(*(self._distinguished(one) for one in held))

    async def _distinguished(self, opinion: Opinion[Vote]) -> Opinion[Vote]:
        """Returns an opinion without the credit of passages that also earn it for unrelated subjects."""
        vote = opinion.reading
        if vote is None:
            return opinion

        async def earns(text: str, subject: str, names: Collection[str]) -> bool:
            (found,) = await self.opinions(1, self.asking(alone=text, against=subject))
            other = found.reading
            if other is None or not accepts(found):
                return accepts(found)
            return any(share_of(other, name, self.params) >= share_of(vote, name, self.params) for name in names)

        taken = await credited_for_any({name: vote.quotes[name] for name in vote.credited}, earns)
        return replace(opinion, reading=without_credit(vote, [*taken], self.params, CREDULOUS)) if taken else opinion

    def _lacking(self, opinion: Opinion[Vote], there: str) -> list[str]:
        """The parts of an opinion whose credit has no passage in the response."""
        vote = opinion.reading
        return [] if vote is None else [name for name in vote.credited if not self._holds(vote.quotes[name], there)]

    def _holds(self, quote: str, there: str) -> bool:
        return quoted(quote, there) and self.says_something(quote)
