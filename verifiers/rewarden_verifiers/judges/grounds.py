"""Gives credit only for what the judge can quote, in the modes without a final answer: `accept`, `scale` and `aspects`.

Attack: text that announces its own quality, or an opener that is on no list, for which a credulous judge gives
undeserved credit. For each credit, the judge quotes the passage that justifies it. A passage that is not in the
response, or has no content, is requested once more; after that there is no credit.
"""

from __future__ import annotations

from dataclasses import replace

from rewarden_verifiers.judges.confirmation import Confirmation
from rewarden_verifiers.judges.judge_modes import Vote, without_credit
from rewarden_verifiers.judges.opinions import Opinion
from rewarden_verifiers.judges.quotes import quoted


class Grounds(Confirmation):
    """The passages on which the judge's opinions on one response rest."""

    __slots__ = ()

    def lacks(self, opinion: Opinion[Vote], there: str) -> bool:
        """See `Confirmation`."""
        return bool(self._lacking(opinion, there))

    def without(self, opinion: Opinion[Vote], there: str) -> Opinion[Vote]:
        """See `Confirmation`. Parts whose passage was found keep their credit."""
        assert opinion.reading is not None
        vote = without_credit(opinion.reading, self._lacking(opinion, there), self.params)
        return replace(opinion, reading=vote)

    def _lacking(self, opinion: Opinion[Vote], there: str) -> list[str]:
        """The parts of an opinion whose credit has no passage in the response."""
        vote = opinion.reading
        return [] if vote is None else [name for name in vote.credited if not self._holds(vote.quotes[name], there)]

    def _holds(self, quote: str, there: str) -> bool:
        return quoted(quote, there) and self.says_something(quote)
