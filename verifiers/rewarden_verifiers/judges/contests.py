"""The comparisons within a group: in pairs, or as whole lists.

Every text comes from a candidate. If a question about several texts is only readable with neutral texts in their place,
each text is replaced alone to find the one that spoils the question. That candidate forfeits; its siblings are not
affected.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from rewarden.errors import BudgetExhausted, ModelError, ProviderError, ProviderRefused, SampleError
from rewarden.types import Media
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Asked, Inquiry, Opinion, opinions, refuses
from rewarden_verifiers.judges.preference import Preference, PreferenceParams, preferences
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.ranking import Match
from rewarden_verifiers.judges.replies import UnreadableError, object_of
from rewarden_verifiers.judges.tally import Tally

_Ranking = tuple[tuple[int, ...], str]
"""The rank of each response in the order shown, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """The settings shared by all comparisons of a group. texts: the players' texts, all different; copies: how many
    members have each text. shown: further variables of the prompts. orders: how many orders to ask for a pair, 1 or 2.
    """

    ctx: Asked
    params: PreferenceParams
    texts: Sequence[str]
    copies: Sequence[int]
    shown: Mapping[str, Any]
    media: Sequence[Media]
    ledger: Ledger
    orders: int

    async def by_pairs(self, pairs: Sequence[tuple[int, int]]) -> Tally:
        """Compares these pairs."""
        tally = Tally(len(self.texts))
        await gather(*(self._pair(tally, first, second) for first, second in pairs))
        return tally

    async def by_lists(self, rounds: Sequence[Sequence[Sequence[int]]]) -> Tally:
        """Ranks these lists, each in one question."""
        tally = Tally(len(self.texts))
        lists = [shown for cut in rounds for shown in cut if len(shown) > 1]
        found = await gather(*(self._list(tally, shown) for shown in lists))
        signs: dict[tuple[int, int], list[int]] = {}
        for rankings in found:
            for ranking in rankings:
                for a, b in combinations(sorted(ranking), 2):
                    signs.setdefault((a, b), []).append((ranking[a] > ranking[b]) - (ranking[a] < ranking[b]))
        seen = [of for of in signs.values() if len(of) > 1]
        tally.checked = len(seen)
        tally.flips = sum(min(of) < 0 < max(of) for of in seen)
        return tally

    # --- pairs ---------------------------------------------------------------------------------------------------

    async def _pair(self, tally: Tally, first: int, second: int) -> None:
        pair = (first, second)
        tally.plan(pair)
        try:
            found = await self._asked(pair, (True, True))
            votes = [one.reading for one in found if one.reading is not None]
            lacking = sum(one.blame == "verifier" for one in found)
            problem = next((one.problem for one in found if one.problem), None) or "unreadable"
            if lacking * 2 >= len(found):
                tally.lose(pair, problem)
                return
            if not votes:
                await self._blame(tally, pair, problem)
                return
        except (ProviderError, BudgetExhausted, ModelError) as error:
            tally.fail(pair, error)
            return
        tally.checked += len(votes)
        tally.flips += sum(vote.flipped for vote in votes)
        if self.params.disagree == "undecided":
            kept = [vote for vote in votes if not vote.flipped]
            if len(kept) * 2 < len(votes):
                tally.lose(pair, "orders disagree")
                return
            votes = kept
        score = _middle([vote.score for vote in votes], self.params)
        tally.matches.append(Match(first, second, score, float(self.copies[first] * self.copies[second])))
        for player, other, own in ((first, second, score), (second, first, 1 - score)):
            said = "better" if own > 0.5 else "worse" if own < 0.5 else "as good"
            tally.note(player, other, f"{said}: {votes[0].reason}" if votes[0].reason else said)

    async def _asked(self, pair: tuple[int, int], candidates: tuple[bool, bool]) -> list[Opinion[Preference]]:
        first, second = (
            Material(self.texts[player], candidate=candidate)
            for player, candidate in zip(pair, candidates, strict=True)
        )
        return await preferences(
            self.ctx, self.params, (first, second), self.shown, self.ledger, orders=self.orders, media=self.media
        )

    async def _blame(self, tally: Tally, pair: tuple[int, int], problem: str) -> None:
        # The attempts with both texts repeat earlier questions, so their replies are cached.
        cured = await gather(_cures(self._asked(pair, (True, False))), _cures(self._asked(pair, (False, True))))
        guilty = [player for player, cures in zip(pair, cured, strict=True) if cures]
        if not guilty:
            # Replacing one text does not help, but replacing both does: each text spoils the question. If neither were
            # blamed, a policy that always does this would never be scored.
            for player, other in (pair, pair[::-1]):
                tally.forfeit(player, [other], self.copies, problem)
            return
        if len(guilty) > 1:
            tally.lose(pair, problem)
            return
        (sibling,) = (player for player in pair if player not in guilty)
        tally.forfeit(guilty[0], [sibling], self.copies, problem)
        tally.planned[sibling] -= 1

    # --- lists ---------------------------------------------------------------------------------------------------

    async def _list(self, tally: Tally, shown: Sequence[int], *, again: bool = False) -> list[dict[int, int]]:
        """Ranks one list, enters a match into the tally for each pair, and returns the rankings: ranks by player."""
        if not again:
            tally.plan(shown)
        try:
            found = await self._ranked(shown, frozenset(shown))
            rankings = [one.reading for one in found if one.reading is not None]
            lacking = sum(one.blame == "verifier" for one in found)
            problem = next((one.problem for one in found if one.problem), None) or "unreadable"
            if lacking * 2 >= len(found) or (again and not rankings):
                tally.lose(shown, problem)
                return []
            if not rankings:
                return await self._without_guilty(tally, shown, problem)
        except (ProviderError, BudgetExhausted) as error:
            if refuses(error) and len(shown) > 2:
                return await self._by_twos(tally, shown, error)
            tally.fail(shown, error)
            return []
        for ranks, _ in rankings:
            for a, b in combinations(range(len(shown)), 2):
                score = 0.5 if ranks[a] == ranks[b] else float(ranks[a] < ranks[b])
                weight = self.copies[shown[a]] * self.copies[shown[b]] / len(rankings)
                tally.matches.append(Match(shown[a], shown[b], score, weight))
        ranks, reason = rankings[0]
        for place, player in enumerate(shown):
            said = f"rank {ranks[place]} of {len(shown)}, shown as response {place + 1}"
            tally.note(player, place, f"{said}: {reason}" if reason else said)
        return [dict(zip(shown, ranks, strict=True)) for ranks, _ in rankings]

    async def _ranked(self, shown: Sequence[int], candidates: frozenset[int]) -> list[Opinion[_Ranking]]:
        texts = [Material(self.texts[player], candidate=player in candidates) for player in shown]
        inquiry = Inquiry(
            prompt="listwise.rank",
            variables={**self.shown, "responses": texts},
            schema=_schema(len(shown)),
            read=_read_ranking,
            media=self.media,
        )
        return await opinions(self.ctx, self.params, inquiry, self.ledger)

    async def _without_guilty(self, tally: Tally, shown: Sequence[int], problem: str) -> list[dict[int, int]]:
        cured = await gather(*(_cures(self._ranked(shown, frozenset((player,)))) for player in shown))
        guilty = [player for player, cures in zip(shown, cured, strict=True) if cures]
        if not guilty or len(guilty) == len(shown):
            tally.lose(shown, problem)
            return []
        rest = [player for player in shown if player not in guilty]
        for player in guilty:
            tally.forfeit(player, rest, self.copies, problem)
        if len(rest) > 1:
            return await self._list(tally, rest, again=True)
        tally.planned[rest[0]] -= 1
        return []

    async def _by_twos(self, tally: Tally, shown: Sequence[int], error: SampleError) -> list[dict[int, int]]:
        """Compares the list pair by pair after the judge's server refused it as a whole, because it is too long or
        contains a text that the server rejects. This way only the text that causes the refusal loses.
        """
        shortest = sorted(shown, key=lambda player: len(self.texts[player]))[:2]
        trial = Tally(len(self.texts))
        await self._list(trial, [player for player in shown if player in shortest])
        if trial.failure is not None:
            tally.fail(shown, error)
            return []
        for player in shown:
            tally.planned[player] -= 1
        found = await gather(*(self._list(tally, pair) for pair in combinations(shown, 2)))
        return [ranks for rankings in found for ranks in rankings]


async def _cures(asked: Awaitable[Sequence[Opinion[Any]]]) -> bool:
    """Returns whether replies became readable once a neutral text replaced that one candidate's text."""
    try:
        return any(one.blame == "policy" for one in await asked)
    except ProviderRefused as error:
        if refuses(error):
            return False  # the server refuses the other texts
        raise


def _middle(scores: Sequence[float], params: PreferenceParams) -> float:
    return statistics.median(scores) if params.aggregate == "median" else statistics.fmean(scores)


def _schema(size: int) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": size}
    entry = object_of({"response": number, "rank": number})
    ranking = {"type": "array", "items": entry, "minItems": size, "maxItems": size}
    return object_of({"reason": {"type": "string"}, "ranking": ranking})


def _read_ranking(found: Mapping[str, Any]) -> _Ranking:
    ranks = {entry["response"]: entry["rank"] for entry in found["ranking"]}
    if len(ranks) != len(found["ranking"]):
        raise UnreadableError("a response is ranked twice")
    return tuple(ranks[number] for number in sorted(ranks)), found["reason"]
