"""The verifier `listwise`: ranks the members of a group by a language model's comparisons."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidSample, SampleError
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.judges.contests import Contest
from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.opinions import refused, refuses
from rewarden_verifiers.judges.panel import PanelParams, seated_group
from rewarden_verifiers.judges.panel_standings import Standings
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.judges.preference import PreferenceParams
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.ranking import Match, Score, Standing, standings, win_rates
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.schedule import drawn, pairs, rounds
from rewarden_verifiers.judges.tally import Tally
from rewarden_verifiers.outcome import no_answer, scored, undecided, wrong
from rewarden_verifiers.view import SHOWN_TO_MODELS, transcript

_SHOWN = 1_500_000
"""Maximum number of characters of all texts in one question, so that the question can be asked however long the members
make their texts.
"""

_ANCHORS = 4
"""The number of anchors to try if the text of one spoils the comparisons."""


@dataclass(frozen=True, kw_only=True)
class Params(PreferenceParams, PanelParams):
    """Options of `listwise`. Several opinions on a comparison are combined by `mean` or `median`.

    mode: `round_robin`: each member against each other; `rank`: all in one question; `reference`: each member against
        one of them, the anchor.
    score: `win_rate`; `bradley_terry` (the probability of beating an average text); `copeland` (the share of opponents
        that a text beats more often than not); `rank` (1 for the best, 0 for the last, evenly spaced). The mode
        `reference` supports only `win_rate`.
    orders: How many orders to ask. For pairs: 2 (both) or 1. For lists: the number of shuffles, which should be even.
    opponents: How many others each text is compared with. In a larger group, each text is compared with its neighbours
        on a ring drawn from the texts.
    window: How many texts one question of `rank` contains. More texts are split into new windows for each order, which
        needs several orders.
    anchor: The member that the others are compared with: `drawn` (chosen by the texts, always the same for the same
        group), `first`, `longest`, `shortest`, or a position in the group. If it has no substance, the next member
        takes its place.
    threshold: Scores above it pass.
    media: Whether the judge sees the first member's images.
    """

    mode: Literal["round_robin", "rank", "reference"] = "round_robin"
    score: Score = "win_rate"
    orders: int = 2
    opponents: int = 16
    window: int = 8
    anchor: Literal["drawn", "first", "longest", "shortest"] | int = "drawn"
    threshold: float = 0.5
    media: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        most = 32 if self.mode == "rank" else 2
        for name, low, high in (("orders", 1, most), ("opponents", 1, 1024), ("window", 2, 64), ("threshold", 0, 1)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidParams(f"params.{name} must be from {low} to {high}, not {value}", path=f"params.{name}")
        if self.aggregate not in ("mean", "median"):
            raise InvalidParams(
                "params.aggregate: opinions on a pair become their mean or median", path="params.aggregate"
            )
        if self.mode == "reference" and self.score != "win_rate":
            raise InvalidParams("params.score: against one anchor there are win rates only", path="params.score")
        if self.mode == "rank" and (self.by != "verdict" or self.strength or self.disagree != "tie"):
            raise InvalidParams(
                "params.by, strength, disagree are for pairs; a list has none of them", path="params.mode"
            )
        if self.mode == "rank" and self.window * self.most_shown > _SHOWN:
            shown = f"params.window: window * longest must be at most {_SHOWN}, not {self.window} * {self.most_shown}"
            raise InvalidParams(shown, path="params.window")
        if isinstance(self.anchor, int) and self.anchor < 0:
            raise InvalidParams("params.anchor must be a place from 0", path="params.anchor")


@dataclass(frozen=True, slots=True)
class Field:
    """The texts that compete, which member has which text, and the members that are not judged (by index in the
    group).
    """

    texts: list[str]
    players: dict[int, int]
    out: dict[int, Outcome]

    @property
    def copies(self) -> list[int]:
        """Returns how many members share each text."""
        counted = Counter(self.players.values())
        return [counted[player] for player in range(len(self.texts))]


@verifier(
    version="2",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    view=SHOWN_TO_MODELS,
)
async def listwise(samples: list[Member], params: Params, ctx: Context) -> Sequence[Outcome | SampleError]:
    """A language model compares the members of a group; each member's score, from 0 to 1, is its standing.

    If the first member's reference is a text, it is shown to the judge as known to be right; a reference is not
    required. Members without substance lose to all others, and the judge never sees them. Equal texts are compared
    once, tie with each other, and get the same score. The pairs and their order are derived from the texts, so they are
    the same every time. In the mode `reference` a win over the anchor is 1, a tie 0.5, a loss 0, and the anchor itself
    scores 0.5 (Writing-Zero's bootstrapped reference, arXiv 2506.00103).

    Unreadable comparisons are left out (flag `comparisons_missing`). A member with less than half of its comparisons is
    undecided, or an error if no judge could be reached. A member whose text alone makes replies unreadable loses those
    comparisons, and scores 0 if they are at least half of its comparisons; its siblings lose nothing. A member that was
    compared with no other scores 0.5 (`not_compared`). `standard_error` estimates the random error of the score, and
    `flip_rate` is the share of comparisons that depended on the order.

    With `panel`, several judges rank the group, and each member's standings are combined into one; the evidence
    contains them.

    Raises InvalidSample for a group of one, and for a group whose members answer different prompts.
    """

    async def judged(params: Params) -> Sequence[Outcome | SampleError]:
        return [_with_usage(one) for one in await ranked(samples, params, ctx, Ledger(), Contest)]

    return await seated_group(params, judged, Standings(params, params.threshold), len(samples))


def _with_usage(one: Outcome | SampleError) -> Outcome | SampleError:
    """Copies the judges and usage of the group's comparisons from the group's evidence to the top level."""
    if isinstance(one, SampleError) or "group" not in one.evidence:
        return one
    asked = {name: one.evidence["group"][name] for name in ("judge", "model", "usage")}
    return replace(one, evidence={**one.evidence, **asked})


async def ranked(
    samples: Sequence[Member], params: Params, ctx: Context, ledger: Ledger, made: Callable[..., Contest]
) -> Sequence[Outcome | SampleError]:
    """Compares the members of a group in a contest built by `made` from the fields of `Contest`, and returns their
    outcomes. See `listwise`.
    """
    size = sum(len(member.response or "") for member in samples)
    shown, found = await offload(size, field_of, samples, params)
    contest = made(
        ctx=ctx,
        params=params,
        texts=found.texts,
        copies=found.copies,
        shown=shown,
        media=images(samples[0].sample.media) if params.media else (),
        ledger=ledger,
        orders=params.orders,
    )
    anchor: int | None = None
    spoiled: dict[int, Tally] = {}
    if params.mode == "reference":
        anchor, tally, spoiled = await _against_anchor(contest, _anchors(found, params))
    elif params.mode == "rank":
        tally = await contest.by_lists(rounds(found.texts, params.orders, params.window))
    else:
        tally = await contest.by_pairs(pairs(drawn(found.texts), params.opponents))
    # In a thread: for a large group this takes seconds, during which the event loop must serve others.
    places = await asyncio.to_thread(_standings, found, tally, params)
    group = {
        "mode": params.mode,
        "members": len(samples),
        "texts": len(found.texts),
        "comparisons": len(tally.matches),
        "flip_rate": tally.flips / tally.checked if tally.checked else None,
        "problems": sorted(tally.problems),
        **ledger.evidence(),
    }
    outcomes: list[Outcome | SampleError] = []
    for place in range(len(samples)):
        if place in found.out:
            outcomes.append(found.out[place])
            continue
        player = found.players[place]
        own, standing = tally, places[player]
        if player in spoiled:
            # This member was the anchor, so only its own comparisons with the others count.
            own = spoiled[player]
            standing = _standings(found, own, params)[player]
        outcomes.append(_outcome(player, standing, own, group, ledger.flags(), params, anchor))
    return outcomes


def field_of(samples: Sequence[Member], params: Params) -> tuple[dict[str, Material | None], Field]:
    """Returns the variables shown besides the texts, and the field of texts that compete. Raises InvalidSample: see
    `listwise`.
    """
    if len(samples) < 2:
        raise InvalidSample("the group has one member; at least 2 are compared", path="group")
    asked = [None if member.sample.prompt is None else transcript(member.sample.prompt) for member in samples]
    if any(one != asked[0] for one in asked):
        raise InvalidSample("the group's members answer different prompts, so they cannot be compared", path="group")
    prompt, reference = asked[0], samples[0].sample.reference
    shown = {
        "prompt": Material(prompt) if prompt else None,
        "reference": Material(reference) if isinstance(reference, str) and reference.strip() else None,
    }
    return shown, _field(samples, params)


def _field(samples: Sequence[Member], params: Params) -> Field:
    out: dict[int, Outcome] = {}
    alike: dict[str, dict[int, str]] = {}
    for place, member in enumerate(samples):
        early = no_answer() if member.response is None else refused(member.response, params)
        if early is not None or member.response is None:
            out[place] = early or no_answer()
            continue
        text = member.response.strip()
        # Texts that differ only in invisible characters are equal.
        alike.setdefault(harmless(text).text.strip(), {})[place] = text
    # Pick the same representative of equal texts every time, and number the players by their texts: sums of floats
    # depend on the order, and the members can come in any order.
    groups = sorted(alike.values(), key=lambda texts: min(texts.values()))
    players = {place: number for number, texts in enumerate(groups) for place in texts}
    return Field([min(texts.values()) for texts in groups], players, out)


def _anchors(found: Field, params: Params) -> list[int]:
    """The players in the order in which they are tried as the anchor."""
    order = drawn(found.texts)
    if params.anchor == "longest":
        order.sort(key=lambda player: -len(found.texts[player]))
    elif params.anchor == "shortest":
        order.sort(key=lambda player: len(found.texts[player]))
    elif params.anchor != "drawn":
        wanted = 0 if params.anchor == "first" else params.anchor
        size = len(found.players) + len(found.out)
        if wanted >= size:
            raise InvalidParams(f"params.anchor is {wanted}, and the group has {size} members", path="params.anchor")
        turned = sorted(found.players, key=lambda place: (place - wanted) % size)
        order = list(dict.fromkeys(found.players[place] for place in turned))
    return order


async def _against_anchor(contest: Contest, order: Sequence[int]) -> tuple[int | None, Tally, dict[int, Tally]]:
    """Compares all players with the first anchor whose text spoils no comparison; also returns the tallies of the
    anchors that failed.

    An anchor also fails if the judge's server refuses at least half of its comparisons, usually because it is too long.
    """
    spoiled: dict[int, Tally] = {}
    tally = Tally(len(contest.texts))
    for anchor in order[:_ANCHORS]:
        others = [player for player in order if player != anchor and player not in spoiled]
        tally = await contest.by_pairs([(player, anchor) for player in others])
        refused_often = refuses(tally.failure) and tally.unreached[anchor] * 2 >= tally.planned[anchor]
        if not tally.forfeits[anchor] and not refused_often:
            return anchor, tally, spoiled
        spoiled[anchor] = tally
    return None, tally, spoiled


def _standings(found: Field, tally: Tally, params: Params) -> list[Standing]:
    size, copies, last = len(found.texts), found.copies, len(found.out)
    matches = tally.settled()
    if params.mode != "reference":
        met = [one.matches for one in win_rates(size, matches)]
        for player, count in enumerate(copies):
            others = count * (len(found.players) - count)
            # Lists are asked about in several orders, and in a large group a member meets only a few others. Opponents
            # that are never asked about get the average weight of an opponent; for Copeland scores, each opponent
            # counts once.
            times = met[player] / others if met[player] and params.score != "copeland" else 1.0
            if count > 1:
                matches.append(Match(player, player, 0.5, times * count * (count - 1) / 2))
            if last:
                matches.append(Match(player, None, 1.0, times * count * last))
    made = standings(size, matches, params.score, copies, last)
    if max(copies, default=1) == 1:
        return made
    # Equal texts share their comparisons, which makes these no stronger evidence.
    single = [Match(one.first, one.second, one.score) for one in matches if one.first != one.second]
    errors = standings(size, single, params.score)
    return [Standing(one.score, other.error, one.matches) for one, other in zip(made, errors, strict=True)]


def _outcome(
    player: int,
    standing: Standing,
    tally: Tally,
    group: dict[str, Any],
    flags: Sequence[str],
    params: Params,
    anchor: int | None,
) -> Outcome | SampleError:
    planned, lost, forfeits = tally.planned[player], tally.lost[player], tally.forfeits[player]
    compared = planned - lost - forfeits
    evidence: dict[str, Any] = {
        "compared": compared,
        "missing": lost,
        "anchor": player == anchor,
        "standard_error": standing.error,
        "group": group,
    }
    raised = [
        *flags,
        *["comparisons_missing"] * (lost > 0),
        *["not_compared"] * (compared < 1 and player != anchor),
        *["order_flipped"] * (tally.flips > 0),
    ]
    if player == anchor and (compared or not planned):
        score = 0.5
    elif (planned - lost) * 2 < planned:
        if tally.failure is not None and tally.unreached[player]:
            return tally.failure
        message = "too few of its comparisons are readable"
        return undecided("unreadable_reply", feedback=message, evidence=evidence, flags=tuple(raised))
    elif forfeits and forfeits * 2 >= planned - lost:
        message = "the response keeps the judge from giving a readable reply"
        return wrong("unreadable_reply", feedback=message, evidence=evidence, flags=[*raised, "unreadable_reply"])
    else:
        score = standing.score
    passed = score > params.threshold
    return scored(
        score,
        passed=passed,
        reason=None if passed else "outranked",
        feedback="\n".join(tally.notes(player))[: params.shown] or None,
        evidence=evidence,
        flags=raised,
    )
