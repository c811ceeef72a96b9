"""The verifier `rubric`: scores a response by weighted criteria, which a language model or programs judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidSample
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.criterion import Given, gather, read_criteria
from rewarden_verifiers.judges.generation import Generation, written
from rewarden_verifiers.judges.itemised import ItemisedParams, Sheet, itemised
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import refused_subject
from rewarden_verifiers.judges.panel import seated
from rewarden_verifiers.judges.panel_passes import Passes
from rewarden_verifiers.judges.params import check_portions
from rewarden_verifiers.judges.parts import Itemised, Vote
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.showing import Subject
from rewarden_verifiers.outcome import scored, undecided, wrong
from rewarden_verifiers.view import SHOWN_TO_MODELS

_PROPERTIES = {
    "evidence": {"type": "string"},
    "reason": {"type": "string"},
    "verdict": {"type": "string", "enum": ["met", "not_met", "cannot_tell"]},
}


@dataclass(frozen=True, kw_only=True)
class RubricParams(ItemisedParams):
    """Options of `rubric`, in addition to those of every verifier that judges criterion by criterion.

    criteria: Criteria for every sample, in the same forms as in the reference. The reference's criteria follow them.
    floor: The lowest possible score, from -100 to 0 (HealthBench itself has no lower bound for a response). It is the
        lower end of the verdict's range, and the score of responses that are not judged (no answer, no substance).
    generate: Criteria that a judge writes for each prompt, without seeing a response. They follow those in `criteria`;
        the reference's come last, and may be missing.
    grader: The form of the question: `own`; or `healthbench`, the form of HealthBench's published grader: one criterion
        with its points to a question, after the conversation whose last turn is the response, and a reply of
        `explanation` and `criteria_met`, which cannot abstain or quote. Published graders are comparable only so.
    portions: The maximum number of portions in which a response longer than the judge's context is judged; one that
        needs more gets the lowest score (`too_long`). Portions are judged in the form `own` (flag `own_grader`),
        because credit in a portion needs a quote, and the form `healthbench` has none.
    """

    criteria: tuple[Any, ...] = ()
    floor: float = 0.0
    generate: Generation = field(default_factory=Generation)
    grader: Literal["own", "healthbench"] = "own"
    portions: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -100 <= self.floor <= 0:
            raise InvalidParams("params.floor must be from -100 to 0", path="params.floor")
        if self.grader == "healthbench" and self.quotes == "require":
            raise InvalidParams("params.quotes: the grader `healthbench` does not quote", path="params.quotes")
        if self.grader == "healthbench" and self.tools.use:
            raise InvalidParams("params.tools: the grader `healthbench` does not call tools", path="params.tools")
        read_criteria(self.criteria, "params.criteria", InvalidParams)
        self.generate.check("params.generate")
        check_portions(self.portions)


def _children(params: RubricParams) -> list[Use]:
    own = read_criteria(params.criteria, "params.criteria", InvalidParams)
    return [one.use for one in own if one.use is not None]


def _bounds(params: RubricParams) -> tuple[float, float]:
    return params.floor, 1.0


@verifier(
    version="4",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    children=_children,
    bounds=_bounds,
    view=SHOWN_TO_MODELS,
)
async def rubric(
    response: str,
    prompt: str | None,
    sample: Sample,
    params: RubricParams,
    ctx: Context,
    reference: Given | None = None,
) -> Outcome:
    """The points of the criteria that the response meets, as a share of all positive points, from `floor` to 1.

    For each criterion, a language model decides whether it is met and quotes the evidence; it can also answer that it
    cannot tell. Criteria of kind `program` are decided by a verifier or recipe. A criterion with negative points
    describes a mistake, and is met if the response makes it. The reference is a list of criteria: texts, objects
    `{text, points, kind, use, of, id, tags}`, or unchanged rows of HealthBench or of Rubrics as Rewards. See
    `rewarden_verifiers.judges.criterion`.

    A response that is longer than the judge's context is judged in up to `portions` overlapping portions, which
    `evidence.portions` lists. A criterion that a single passage can meet is met if any portion meets it, with a quote
    if the criterion is worth points. A criterion about something absent is met only if all portions meet it.

    With `generate`, a judge first writes criteria for the prompt; `evidence.generation` contains them. If they are
    unreadable, the verdict is undecided (`no_rubric`).

    `raw` is the score before it is limited to its range; each criterion is a step and a component. Reasons for the
    lowest score: `criteria_missed`, `pitfall_met` (all positive criteria are met, and so is a negative one),
    `cannot_tell` (all criteria were skipped), `unreadable_reply`, `too_long`, `blank`, `opener_only`, `claim_only`. If
    all criteria are programs, no judge is called. Sources: HealthBench (arXiv 2505.08775), RuscaRL (arXiv 2508.16949).
    """
    subject = Subject(response=response, prompt=prompt, sample=sample, show=params.show)
    made: dict[str, Any] = {}
    own = params.criteria
    if params.generate.most:
        if not (prompt or "").strip():
            raise InvalidSample("prompt is missing: the prompt to write criteria for", path="prompt")
        early = refused_subject(subject, params, in_portions=params.portions > 1, range=_bounds(params))
        if early is not None:
            return early  # a response without substance scores the lowest even if no rubric could be written
        ledger = Ledger()
        found = await written(ctx, params, params.generate, prompt or "", ledger)
        made = {"generation": {"criteria": found or [], **ledger.evidence()}}
        if found is None:
            return undecided("no_rubric", feedback="the judge wrote no criteria that can be read", evidence=made)
        # The prefix keeps a generated id, which is only an index, from colliding with the caller's ids.
        own = (*own, *({**one, "id": f"generated {number}"} for number, one in enumerate(found, start=1)))
    criteria = gather(own, reference)

    async def judged(one: RubricParams) -> Outcome:
        found = await itemised(ctx, one, criteria, subject, _SHEETS[one.grader], one.portions, range=_bounds(one))
        return found if isinstance(found, Outcome) else _outcome(found, one)

    outcome = await seated(params, judged, Passes(params, params.passing))
    return replace(outcome, evidence={**outcome.evidence, **made}) if made else outcome


def _vote(row: Mapping[str, Any]) -> Vote:
    value = {"met": 1.0, "not_met": 0.0, "cannot_tell": None}[row["verdict"]]
    return Vote(value=value, quote=row["evidence"], reason=row["reason"])


def _graded(row: Mapping[str, Any]) -> Vote:
    return Vote(value=float(row["criteria_met"]), reason=row["explanation"])


_OWN = Sheet(prompt="rubric.criteria", name="criteria", properties=_PROPERTIES, read=_vote, met="met")

_SHEETS = {
    "own": _OWN,
    "healthbench": Sheet(
        prompt="rubric.healthbench",
        name="criteria",
        properties={"explanation": {"type": "string"}, "criteria_met": {"type": "boolean"}},
        read=_graded,
        met="met",
        alone=True,
        in_portions=_OWN,
    ),
}
"""By `grader`."""


def _outcome(found: Itemised, params: RubricParams) -> Outcome:
    details = {**found.details(), "range": _bounds(params)}
    if found.score is None:
        return wrong("cannot_tell", feedback="The judge cannot decide any criterion that is worth points.", **details)
    score = min(1.0, max(params.floor, found.score))
    passed = score >= params.passing
    wanted = all(part.value in (1, None) for part in found.parts if part.criterion.points > 0)
    return scored(
        score,
        passed=passed,
        reason=None if passed else "pitfall_met" if wanted else "criteria_missed",
        raw=found.score,
        feedback=found.feedback(params.shown),
        **details,
    )
