"""The verifier `checklist`: scores how well a response satisfies a list of items, or finds behaviours in it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.criterion import Given, gather, read_criteria
from rewarden_verifiers.judges.itemised import ItemisedParams, Sheet, itemised
from rewarden_verifiers.judges.panel import seated
from rewarden_verifiers.judges.panel_passes import Passes
from rewarden_verifiers.judges.params import check_portions
from rewarden_verifiers.judges.parts import Itemised, Part, Vote
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.showing import Subject
from rewarden_verifiers.outcome import scored, wrong
from rewarden_verifiers.view import SHOWN_TO_MODELS

Mode = Literal["yes_no", "score", "behaviours"]

_GROUNDS = {"evidence": {"type": "string"}, "reason": {"type": "string"}}

_FORMS: Mapping[Mode, Mapping[str, Any]] = {
    "yes_no": {**_GROUNDS, "verdict": {"type": "string", "enum": ["yes", "no", "cannot_tell"]}},
    "score": {"reason": {"type": "string"}, "score": {"type": "number", "minimum": 0, "maximum": 100}},
    "behaviours": {**_GROUNDS, "occurrences": {"type": "integer", "minimum": 0, "maximum": 10_000}},
}


@dataclass(frozen=True, kw_only=True)
class ChecklistParams(ItemisedParams):
    """Options of `checklist`, in addition to those of every verifier that judges criterion by criterion.

    items: Items for every sample, in the same forms as in the reference. The reference's items follow them.
    mode: `yes_no`: each item is satisfied or not, and the score is the share of the weight that is satisfied (ACE-RL).
        `score`: each item gets 0 to 100 points, averaged over the opinions (RLCF, arXiv 2507.18624); the judge never
        abstains and gives no quotes. `behaviours`: which of the items occur in the response, and how often; the score
        is the share of items that occur, which says nothing about quality, so nothing passes.
    portions: The maximum number of portions in which a response longer than the judge's context is judged; one that
        needs more gets the lowest score (`too_long`).
    """

    items: tuple[Any, ...] = ()
    mode: Mode = "yes_no"
    portions: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode == "score" and self.quotes == "require":
            raise InvalidParams("params.quotes: mode `score` asks for no quotes", path="params.quotes")
        if self.mode == "behaviours" and self.panel.judges:
            raise InvalidParams("params.panel: mode `behaviours` does not decide passed or failed", path="params.panel")
        read_criteria(self.items, "params.items", InvalidParams)
        check_portions(self.portions)


def _children(params: ChecklistParams) -> list[Use]:
    own = read_criteria(params.items, "params.items", InvalidParams)
    return [one.use for one in own if one.use is not None]


@verifier(
    version="3",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    children=_children,
    view=SHOWN_TO_MODELS,
)
async def checklist(
    response: str,
    prompt: str | None,
    sample: Sample,
    params: ChecklistParams,
    ctx: Context,
    reference: Given | None = None,
) -> Outcome:
    """The weighted mean of how well the response satisfies each item of a checklist.

    A language model judges each item. Items of kind `program` are decided by a verifier or recipe; with `"of": "score"`
    the program's score is the item's value. The reference is a list of items: texts, or objects `{text, weight, kind,
    use, of, id, tags}`; see `rewarden_verifiers.judges.criterion`. Weights cannot be negative: for undesirable content
    use `rubric`, or phrase the item the other way round.

    A response that is longer than the judge's context is judged in up to `portions` overlapping portions, by the rules
    of `rubric`; in the mode `score`, the lowest portion counts for each item, and a behaviour occurs at least as often
    as in one portion.

    Each item is a step and a component; `evidence.behaviours` counts behaviours by id. Reasons for score 0:
    `items_missed`, `cannot_tell` (all items were skipped), `unreadable_reply`, `too_long`, `blank`, `opener_only`,
    `claim_only`. If all items are programs, no judge is called. Sources: ACE-RL, RLCF (arXiv 2507.18624), Behavior
    Priming.
    """
    items = gather(params.items, reference, "params.items")
    for one in items:
        if one.points < 0:
            error = InvalidParams if one.path.startswith("params") else InvalidReference
            message = f"{one.path}: a checklist has no negative weights; `rubric` has"
            raise error(message, path=f"{one.path}.weight")
    sheet = Sheet(
        prompt=f"checklist.{params.mode}",
        name="items",
        properties=_FORMS[params.mode],
        read=_vote,
        met="satisfied",
        passing=params.passing if params.mode == "score" else 0.5,
        graded=params.mode == "score",
    )
    subject = Subject(response=response, prompt=prompt, sample=sample, show=params.show)

    async def judged(one: ChecklistParams) -> Outcome:
        found = await itemised(ctx, one, items, subject, sheet, one.portions)
        return found if isinstance(found, Outcome) else _outcome(found, one)

    return await seated(params, judged, Passes(params, params.passing))


def _vote(row: Mapping[str, Any]) -> Vote:
    quote, reason = row.get("evidence", ""), row["reason"]
    if "score" in row:
        return Vote(value=row["score"] / 100, reason=reason)
    if "occurrences" in row:
        return Vote(value=float(row["occurrences"] > 0), quote=quote, reason=reason, count=row["occurrences"])
    return Vote(value={"yes": 1.0, "no": 0.0, "cannot_tell": None}[row["verdict"]], quote=quote, reason=reason)


def _outcome(found: Itemised, params: ChecklistParams) -> Outcome:
    details = found.details()
    if found.score is None:
        return wrong("cannot_tell", feedback="The judge cannot decide any item.", **details)
    # Rounding can lift a sum of shares slightly above 1.
    score = min(1.0, found.score)
    if params.mode == "behaviours":
        details["evidence"]["behaviours"] = {part.criterion.id: _count(part) for part in found.parts}
        return scored(score, **details)
    passed = score >= params.passing
    reason = None if passed else "items_missed"
    return scored(score, passed=passed, reason=reason, feedback=found.feedback(params.shown), **details)


def _count(part: Part) -> int:
    """Returns how often a behaviour occurs: the median of the opinions, rounded down to the lower one. A program counts
    it once or not at all.
    """
    counts = [vote.count for vote in part.votes if vote.count is not None]
    return statistics.median_low(counts) if counts else int(bool(part.value))
