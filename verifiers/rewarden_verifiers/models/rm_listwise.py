"""The verifier `rm_listwise`: ranks the members of a group by a hosted reward model's comparisons."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InputTooLong, InvalidParams, ModelError, SampleError
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.judges import listwise
from rewarden_verifiers.judges.contests import Contest
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.opinions import Opinion
from rewarden_verifiers.judges.preference import Preference, preferences
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.ranking import Standing, ranks
from rewarden_verifiers.judges.tally import Tally
from rewarden_verifiers.models.hosted import Hosted, ModelLedger, pictures
from rewarden_verifiers.models.model_tasks import too_long
from rewarden_verifiers.models.outputs import sigmoid
from rewarden_verifiers.models.pairs import PairParams, compared, inquire_of, reward
from rewarden_verifiers.models.params import within
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.outcome import scored
from rewarden_verifiers.view import SHOWN_TO_MODELS


@dataclass(frozen=True, kw_only=True)
class Params(PairParams):
    """Options of `rm_listwise`.

    mode: `round_robin`: each member against each other; `reference`: each member against one of them, the anchor;
        `pool`: for `by: scalar`, all rewards at once, so that each member costs one task, whatever the size of the
        group.
    score: `win_rate`: the mean score against the others; `bradley_terry`: the probability of beating an average text;
        `copeland`: the share of opponents that a text beats more often than not; `rank`: 1 for the best, 0 for the
        last, evenly spaced; `softmax`: the share of exp(alpha × reward) in the sum over all members, only for `pool`.
        The mode `reference` supports only `win_rate`, the mode `pool` all but `copeland`.
    orders: How many orders of a pair to ask: 2 (both) or 1.
    opponents: How many others each text is compared with. In a larger group, each text is compared with its neighbours
        on a ring drawn from the texts.
    anchor: The member that the others are compared with: `drawn` (chosen by the texts, always the same for the same
        group), `first`, `longest`, `shortest`, or a position in the group. If it has no substance, or spoils its
        comparisons, the next member takes its place.
    aggregate: How to combine several written verdicts on a pair: their `mean` or `median`.
    threshold: Scores above it pass.
    """

    mode: Literal["round_robin", "reference", "pool"] = "round_robin"
    score: Literal["win_rate", "bradley_terry", "copeland", "rank", "softmax"] = "win_rate"
    orders: int = 2
    opponents: int = 16
    anchor: Literal["drawn", "first", "longest", "shortest"] | int = "drawn"
    aggregate: Literal["mean", "median"] = "mean"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        within("orders", self.orders, 1, 2)
        within("opponents", self.opponents, 1, 1024)
        within("threshold", self.threshold, 0, 1)
        if self.mode == "pool" and self.by != "scalar":
            raise InvalidParams("params.mode: a pool is for rewards; set by: scalar", path="params.mode")
        if self.score not in _SCORES[self.mode]:
            known = ", ".join(_SCORES[self.mode])
            raise InvalidParams(f"params.score: {self.mode} has {known}, not {self.score}", path="params.score")
        if isinstance(self.anchor, int) and self.anchor < 0:
            raise InvalidParams("params.anchor must be a place from 0", path="params.anchor")


_SCORES = {
    "round_robin": ("win_rate", "bradley_terry", "copeland", "rank"),
    "reference": ("win_rate",),
    "pool": ("win_rate", "bradley_terry", "rank", "softmax"),
}


@verifier(
    version="2", graded=True, determinism="sampled", resources=ModelResources, optional=OWN_MODELS, view=SHOWN_TO_MODELS
)
async def rm_listwise(samples: list[Member], params: Params, ctx: Context) -> Sequence[Outcome | SampleError]:
    """A hosted reward model compares the members of a group; each member's score, from 0 to 1, is its standing.

    Pairs are compared as in `rm_pairwise`, and the comparisons are used directly, without a number for each member
    (Think-RM), unless `by: scalar` is set. The pairs and their order are derived from the texts, so they are the same
    every time. In the mode `reference` a win over the anchor is 1, a tie 0.5, a loss 0, with values between by
    probability or strength, and the anchor itself scores 0.5 (Writing-Zero's bootstrapped reference, arXiv 2506.00103).

    Members without substance lose to all others, and the model never sees them. Equal texts are compared once, tie with
    each other, and get the same score. Comparisons are left out if they are unreadable, if the two orders disagree, or
    if the model could not be reached (`comparisons_missing`). A member that lacks more than half of its comparisons is
    undecided, or an error. A member whose text alone makes comparisons unreadable, or too long for the model's context,
    loses them, and scores 0 if they are at least half of its comparisons (`unreadable_reply`, `too_long`). Its siblings
    lose nothing, unless they spoil the comparison as well. In a pool, members are also errors if more than half of
    their siblings could not be rewarded.

    Raises InvalidSample for a group of one, and for a group whose members answer different prompts.
    """
    ledger = ModelLedger()
    known = ("orders", "opponents", "anchor", "aggregate", "threshold", "strength")
    shared = {**params.shared(), **{name: getattr(params, name) for name in known}, "media": False}
    if params.mode == "pool":
        return await _pool(samples, listwise.Params(**shared), params, ctx, ledger)
    score = "win_rate" if params.score == "softmax" else params.score  # which only a pool supports
    judged = listwise.Params(mode=params.mode, score=score, **shared)
    long: set[int] = set()
    rewards: dict[int, asyncio.Task[float]] = {}
    shown = pictures(samples[0].sample, samples[0].sample.media) if params.media else ()

    def made(**fields: Any) -> Contest:
        fields["media"] = shown
        return _ModelContest(**fields, own=params, member=samples[0], long=long, rewards=rewards)

    try:
        outcomes = await listwise.ranked(samples, judged, ctx, ledger, made)
    finally:
        for task in rewards.values():
            task.cancel()  # nobody would read the results of tasks still running
    if not long:
        return outcomes
    _, found = await offload(_size(samples), listwise.field_of, samples, judged)
    return [_named(one) if found.players.get(place) in long else one for place, one in enumerate(outcomes)]


def _size(samples: Sequence[Member]) -> int:
    return sum(len(member.response or "") for member in samples)


def _named(outcome: Outcome | SampleError) -> Outcome | SampleError:
    """Renames the outcome of a member that forfeits because it is too long."""
    if isinstance(outcome, SampleError) or outcome.reason != "unreadable_reply" or outcome.score is None:
        return outcome
    flags = tuple("too_long" if flag == "unreadable_reply" else flag for flag in outcome.flags)
    return replace(outcome, reason="too_long", flags=flags, feedback="The response is too long for the model.")


@dataclass(frozen=True, kw_only=True)
class _ModelContest(Contest):
    """Comparisons by a hosted model. member: the member whose prompt is shown. long: the players that are too long.
    rewards: by player, each requested once.
    """

    ctx: Context
    ledger: ModelLedger
    own: Params
    member: Member
    long: set[int]
    rewards: dict[int, asyncio.Task[float]]

    async def _asked(self, pair: tuple[int, int], candidates: tuple[bool, bool]) -> list[Opinion[Preference]]:
        if self.own.by == "scalar":
            # Wait for both, so that the blame does not depend on which came first.
            tasks = [self._reward(player) for player in pair]
            await asyncio.wait(tasks)
            failures = [error for task in tasks if (error := task.exception()) is not None]
            for error in sorted(failures, key=lambda error: not isinstance(error, InputTooLong)):
                raise error
            first, second = (task.result() for task in tasks)
            return [Opinion(Preference(sigmoid(self.own.alpha * (first - second)), False, ""))]
        texts = [self.texts[player] for player in pair]
        if self.own.by == "pair":
            prompt, seen = self.member.sample.prompt, self.ledger.seen
            two = (texts[0], texts[1])
            opinion, _ = await compared(self.ctx, prompt, two, "\n".join(two), self.own, seen, self.orders)
            return [opinion]
        own, both = self.own, "\n".join(texts)
        hosted = await offload(len(both), Hosted, self.ctx, own, self.ledger.seen, both, own.choices, own.said)
        one, other = (Material(text, candidate=candidate) for text, candidate in zip(texts, candidates, strict=True))
        return await preferences(
            hosted,
            self.params,
            (one, other),
            self.shown,
            self.ledger,
            orders=self.orders,
            media=self.media,
            inquire=inquire_of(own),
        )

    def _reward(self, player: int) -> asyncio.Task[float]:
        if player not in self.rewards:
            asked = reward(self.ctx, self.member.sample.prompt, self.texts[player], self.own, self.ledger.seen)
            self.rewards[player] = asyncio.ensure_future(asked)
        return self.rewards[player]

    async def _pair(self, tally: Tally, first: int, second: int) -> None:
        try:
            await Contest._pair(self, tally, first, second)
        except InputTooLong as error:
            guilty = self._too_long(error, (first, second))
            self.long.update(guilty)
            for player in (first, second):
                if player in guilty:
                    tally.forfeit(player, [second if player == first else first], self.copies, "too long")
                else:
                    tally.planned[player] -= 1

    def _too_long(self, error: InputTooLong, pair: tuple[int, int]) -> list[int]:
        """Returns which texts of a pair are too long. Raises the error if neither is to blame."""
        too_long(error)
        if self.own.by == "scalar":
            return [player for player in pair if isinstance(self.rewards[player].exception(), InputTooLong)]
        tokens, context, both = (error.details[name] for name in ("tokens", "context", "candidate"))
        sizes = [len(self.texts[player]) for player in pair]
        # The longer one; also the other if it would be too long alone, with tokens estimated by its share of
        # characters.
        alone = [tokens - both + both * size / (sum(sizes) or 1) > context for size in sizes]
        return [player for player, own, size in zip(pair, alone, sizes, strict=True) if own or size == max(sizes)]


async def _pool(
    samples: Sequence[Member], judged: listwise.Params, params: Params, ctx: Context, ledger: ModelLedger
) -> Sequence[Outcome | SampleError]:
    _, found = await offload(_size(samples), listwise.field_of, samples, judged)

    async def rewarded(text: str) -> float | Outcome | ModelError:
        try:
            return await reward(ctx, samples[0].sample.prompt, text, params, ledger.seen)
        except InputTooLong as error:
            return too_long(error)
        except ModelError as error:
            return error

    rewards = await gather(*(rewarded(text) for text in found.texts))
    given = {player: one for player, one in enumerate(rewards) if isinstance(one, float)}
    members = [place for place in range(len(samples)) if found.players.get(place) in given]
    missing = sum(isinstance(rewards[player], ModelError) for player in found.players.values())
    # Members that lose to all others, without substance or too long. Missing rewards are not counted: nothing is known
    # about them.
    last = len(samples) - len(members) - missing
    copies = {player: sum(found.players[place] == player for place in members) for player in given}
    scores = await asyncio.to_thread(_pooled, given, copies, last, params)
    failure = next((one for one in rewards if isinstance(one, ModelError)), None)
    if missing * 2 <= len(samples) - 1:
        failure = None  # enough rewards are known to rank the members
    flags = [*ledger.flags(), *["comparisons_missing"] * bool(missing)]
    group = {"mode": "pool", "members": len(samples), "texts": len(found.texts), **ledger.evidence()}
    alone = len(members) + last < 2

    def outcome(place: int) -> Outcome | SampleError:
        if place in found.out:
            return found.out[place]
        player = found.players[place]
        own = rewards[player]
        if not isinstance(own, float):
            return own
        if failure is not None:
            return failure
        score = 0.5 if alone else scores[player]
        passed = score > params.threshold
        return scored(
            score,
            passed=passed,
            reason=None if passed else "outranked",
            raw=own,
            evidence={"compared": len(members) + last - 1, "missing": missing, "group": group},
            flags=[*flags, *["not_compared"] * alone],
        )

    return [outcome(place) for place in range(len(samples))]


def _pooled(rewards: Mapping[int, float], copies: Mapping[int, int], last: int, params: Params) -> Mapping[int, float]:
    """Scores computed from all rewards. copies: the number of members with each text; last: the number of further
    members that lose to all of them.
    """
    if not rewards:
        return {}
    players = sorted(rewards)
    size = sum(copies.values())
    if params.score == "rank":
        each = [Standing(rewards[player], None, 0.0) for player in players]
        ranked = ranks(each, [copies[player] for player in players], last)
        return {player: one.score for player, one in zip(players, ranked, strict=True)}
    if params.score == "bradley_terry":
        mean = math.fsum(rewards[player] * (copies[player] / size) for player in players)
        return {player: sigmoid(params.alpha * (rewards[player] - mean)) for player in players}
    if params.score == "softmax":
        most = max(rewards.values())
        grown = {player: math.exp(params.alpha * (rewards[player] - most)) for player in players}
        total = math.fsum(grown[player] * copies[player] for player in players)
        return {player: grown[player] / total for player in players}
    others = max(size + last - 1, 1)
    made: dict[int, float] = {}
    for player in players:
        won = math.fsum(copies[other] * sigmoid(params.alpha * (rewards[player] - rewards[other])) for other in players)
        made[player] = min(max((won - 0.5 + last) / others, 0.0), 1.0)
    return made
