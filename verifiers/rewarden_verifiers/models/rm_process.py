"""The verifier `rm_process`: scores each step of a response by a process reward model or by the trainer's signals."""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.errors import InputTooLong
from rewarden.types import Outcome, Sample, StepScore
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.models.model_tasks import refused, too_long
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.models.rm_process_params import Params
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.signals import number
from rewarden_verifiers.models.step_values import Values, by_model, of_signals, together, total
from rewarden_verifiers.models.walk import Walk, walk_of
from rewarden_verifiers.models.written_steps import by_writing
from rewarden_verifiers.outcome import no_answer, scored, undecided, wrong
from rewarden_verifiers.view import SHOWN_TO_MODELS


@verifier(
    version="3",
    graded=True,
    determinism="tolerance",
    resources=ModelResources,
    optional=OWN_MODELS,
    bounds=lambda params: params.range,
    view=SHOWN_TO_MODELS,
)
async def rm_process(response: str, sample: Sample, params: Params, ctx: Context) -> Outcome:
    """A process reward model scores each step of the response; the score combines the steps.

    `head`: a token-classification head, as in Qwen2.5-Math-PRM. `token`: good or bad at the mark after the step, as in
    Math-Shepherd (arXiv 2312.08935). `prefix`: a value model on each prefix, as in ReST-MCTS* (arXiv 2406.03816).
    `written`: a generative model's verdicts on each step; the value is the share of verifications that call the step
    right, as in SPARK. `implicit`: the implicit rewards of a model trained on outcomes, as in EurusPRM (arXiv
    2412.01981). `signals`: values from the trainer, or how many continuations from each step succeed.

    `steps` contains the value of each step or, with `clip`, `delta`, `clip_delta` and `progress`, its reward. The
    evidence contains the values and the first wrong step (`first_error`). A step is `right`, `wrong`, or `empty`, which
    does not count. A policy that is rewarded for steps learns to write more of them. Therefore a sum is bounded unless
    `bounded` is false, `mean` and `sum` count repeated steps once and join short ones, and `least_steps` limits a
    product, which grows with fewer steps. If the score is a sum, its parts are for trainers that credit steps; for
    `delta` the sum alone is the value of the first step.

    Reasons for the lowest score: `no_steps`, `too_few_steps`, `too_many_steps`, `too_long`, and those of a response
    without substance. Other scores that do not pass have the reason `step_wrong`. Steps that make their verifications
    unreadable are all wrong, flagged `unreadable_reply`; if the model is at fault, the result is undecided.
    """
    if params.by == "signals":
        return await _of_signals(response, sample, params)
    walk = await offload(_size(response, sample), walk_of, response, sample, params)
    text = "\n\n".join(walk.shown) if sample.steps else response
    early = await offload(len(text), _early, text, len(walk.shown), params)
    if early is not None:
        return early
    seen = Seen()
    names: Sequence[str | None] = params.models or (params.model,)
    try:
        way = by_writing if params.by == "written" else by_model
        found = await gather(*(way(walk.shown, sample.prompt, name, params, ctx, seen) for name in names))
    except InputTooLong as error:
        return too_long(error, range=params.range)
    made = [one for one in found if one is not None]
    if len(made) < len(found):
        said = "half of the verifications or more end without one verdict on each step"
        return undecided("unreadable_reply", feedback=said, evidence=seen.evidence(), flags=tuple(seen.flags()))
    return _ended(together(made, names, params), walk, params.start, params, seen)


async def _of_signals(response: str, sample: Sample, params: Params) -> Outcome:
    """Combines the trainer's values. Without named steps, each value is a step: if steps were counted here, a policy
    that splits differently from the trainer would go unscored.
    """
    walk = await offload(_size(response, sample), walk_of, response, sample, params) if sample.steps else None
    made = of_signals(sample.signals, None if walk is None else len(walk.parts), params)
    if walk is None:
        count = len(made.values)
        walk = Walk((), range(count), [""] * count, range(count), ())
    text = response if not sample.steps else "\n\n".join(walk.shown)
    early = await offload(len(text), _early, text, len(walk.shown), params)
    if early is not None:
        return early
    given = None if sample.signals is None else sample.signals.get("start_value")
    start = params.start if given is None else number(given, "signals.start_value", params.low, params.high)
    values = Values([made.values[place] for place in walk.order], evidence=made.evidence)
    return _ended(values, walk, start, params, Seen())


def _size(response: str, sample: Sample) -> int:
    """The number of characters to process. For named steps this is a guess, since they may overlap."""
    return len(response) if not sample.steps else max(len(response), len(sample.steps) * 1000)


def _early(text: str, count: int, params: Params) -> Outcome | None:
    """The outcome of a response with too little or too much content; else None."""
    early = refused(text, params, prompted=params.by == "written", range=params.range)
    if early is not None:
        return early
    if not count:
        return no_answer("no_steps", feedback="The response has no steps.", range=params.range)
    if count < params.least_steps:
        message = f"The response has {count} steps; there must be {params.least_steps}."
        return wrong("too_few_steps", feedback=message, range=params.range, flags=("too_few_steps",))
    if count > params.most_steps:
        message = f"The response has {count} steps; at most {params.most_steps} are judged."
        return wrong("too_many_steps", feedback=message, range=params.range, flags=("too_many_steps",))
    return None


def _ended(made: Values, walk: Walk, start: float, params: Params, seen: Seen) -> Outcome:
    values = made.values
    found = total(values, walk.same, start, params)
    wrong_ones = [walk.order[place] for place, value in enumerate(values) if value < params.wrong_below]
    count = len(walk.parts) or len(values)
    steps = [StepScore(index=place, label="empty") for place in range(count)]
    for place, value, reward in zip(walk.order, values, found.rewards, strict=True):
        label = "wrong" if value < params.wrong_below else "right"
        steps[place] = StepScore(index=place, score=reward, label=label)
    evidence = {
        "by": params.by,
        "values": list(values),
        "first_error": wrong_ones[0] if wrong_ones else None,
        **made.evidence,
        **({"places": [part.place() for part in walk.parts]} if walk.parts else {}),
        **seen.evidence(),
    }
    passed = None if params.threshold is None else found.score >= params.threshold
    flags = [*walk.flags, *made.flags, *seen.flags()]
    return scored(
        found.score,
        range=params.range,
        passed=passed,
        reason=None if passed or not (wrong_ones or passed is False) else "step_wrong",
        raw=list(values),
        steps=steps,
        feedback=f"Step {wrong_ones[0] + 1} is the first that seems wrong." if wrong_ones and not passed else None,
        evidence=evidence,
        flags=list(dict.fromkeys([*flags, "clipped"] if found.clipped else flags)),
    )
