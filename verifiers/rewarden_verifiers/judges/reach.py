"""The reach of a criterion: whether a single passage can meet it. It decides how votes on portions become a vote on the
response.

A judge decides it from the criteria alone, in a question that no response can influence and whose reply all responses
share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from rewarden_verifiers.contract import Context
from rewarden_verifiers.judges.criterion import Criterion
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Inquiry, opinions
from rewarden_verifiers.judges.params import JudgeParams, Prompt
from rewarden_verifiers.judges.parts import Vote
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.replies import by_number, numbered

Reach = Literal["passage", "absence", "whole"]
"""`passage`: a single passage meets it. `absence`: the response meets it by not saying something anywhere. `whole`: it
concerns the response as a whole, such as its length or order.
"""

_PROPERTIES = {"reach": {"type": "string", "enum": ["passage", "absence", "whole"]}}


async def reaches(
    ctx: Context, params: JudgeParams, criteria: Sequence[Criterion], ledger: Ledger
) -> dict[str, Reach] | None:
    """The reach of each criterion, by id; None if no reply can be read. Raises what `ctx.judge.ask` raises."""

    def read(found: Mapping[str, Any]) -> dict[str, Reach]:
        rows = by_number(found, "criteria", len(criteria))
        return {one.id: row["reach"] for one, row in zip(criteria, rows, strict=True)}

    inquiry = Inquiry(
        prompt="rubric.reach",
        variables={"criterion": [Material(one.text) for one in criteria]},
        schema=numbered("criteria", len(criteria), _PROPERTIES),
        read=read,
        verdicts=len(criteria),
    )
    # The request's own prompt is about judging a response.
    asking = replace(params, samples=1, prompt=Prompt(), instructions="")
    (found,) = await opinions(ctx, asking, inquiry, ledger)
    return found.reading


def joined(one: Criterion, reach: Reach, votes: Sequence[Sequence[Vote]]) -> list[tuple[Vote, int]]:
    """Combines votes on portions into votes on the whole response, each with the number of the portion that decided it
    (0: all of them). votes: the opinions on each portion.

    A criterion that one passage can meet is met if any portion meets it; one about something absent, only if all
    portions meet it. One about the whole must be met by all portions if it has positive points, and by any portion if
    it has negative ones.
    """
    anywhere = reach == "passage" or (reach == "whole" and one.points < 0)
    return [_joined(one, opinions, anywhere=anywhere) for opinions in zip(*votes, strict=False)]


def _joined(one: Criterion, votes: Sequence[Vote], *, anywhere: bool) -> tuple[Vote, int]:
    numbered_votes = list(enumerate(votes, start=1))
    deciding = [(vote, number) for number, vote in numbered_votes if vote.value == float(anywhere)]
    if deciding:
        # Portions overlap, so counts cannot be added: the largest count is a lower bound.
        vote, number = max(deciding, key=lambda found: found[0].count or 0)
        return replace(vote, reason=f"portion {number}: {vote.reason}"), number
    # No portion decides. If the judge is unsure about one portion, it is unsure about the response, unless that would
    # spare the response a no.
    doubts = [vote for vote in votes if vote.value is None]
    others = [vote for vote in votes if vote.value is not None]
    if doubts and not (one.points >= 0 and anywhere and others):
        return doubts[0], 0
    return others[0], 0
