"""The verifier `rm_likelihood`: the likelihood of the reference after the response's reasoning, or of the response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewarden.errors import InputTooLong, InvalidReference
from rewarden.types import Outcome, Sample, StepScore
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.references import accepted
from rewarden_verifiers.models.implicit import ratios
from rewarden_verifiers.models.likely_tokens import Tokens, behind, measured, reasoning_of, sent, weights_of, whole
from rewarden_verifiers.models.model_tasks import beginning, refused, too_long
from rewarden_verifiers.models.outputs import sigmoid
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.models.rm_likelihood_params import Params
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import no_answer, scored, wrong
from rewarden_verifiers.view import ALL_SHOWN_TO_MODELS

_MOST_REFERENCES = 64

_SHORTEST = 256
_WINDOWS = ((256, 4), (8192, 32))
_VARIED = 0.25
"""The minimum share of distinct n-grams within windows of these sizes (characters: window, n). The likeliest text of
all repeats itself, be it a word or a page.
"""


@verifier(
    version="2",
    graded=True,
    determinism="tolerance",
    resources=ModelResources,
    optional=OWN_MODELS,
    view=ALL_SHOWN_TO_MODELS,
    bounds=lambda params: params.range,
)
async def rm_likelihood(
    response: str,
    sample: Sample,
    params: Params,
    ctx: Context,
    reference: str | list[str] | None = None,
) -> Outcome:
    """The likelihood of the reference after the response's reasoning, token by token; or of the response itself.

    The reference takes the place of the answer, as in RLPR (arXiv 2506.18254), whose reward is `measure: mean` with
    `against: no_reasoning`. If there are several references, the likeliest counts. `of: response` gives the likelihood
    of the whole response, as in sharpening (arXiv 2412.01951) with `measure: sum`; with `per_token` each token is a
    step. With `source: signals` the trainer sends natural logarithms, one for each token: `reference_logprobs`, and
    `baseline_logprobs` without reasoning; or `logprobs` of the response. All tokens of the reference count equally,
    unless the trainer weights them (`weighted`).

    A likely answer is not necessarily right: the score measures what the model believes after reading the reasoning.
    With `against: model`, the measured value is DPO's implicit reward: beta times the logarithm of how much likelier
    `model` finds the response than `reference_model` does. The token that ends a turn is not counted.

    `group_stats` with `exclude_std_at_most` excludes groups whose members are all equally likely.

    Reasons for the lowest score: `no_answer`, `unclosed_thought`, `too_long`, `repetitive` (models find repetition very
    likely), and those of a response without substance. Scores below the threshold have the reason `unlikely`.
    """
    early = await offload(len(response), refused, response, params, reference, range=params.range)
    if early is not None:
        return early
    if params.of == "response" and await offload(len(response) * 4, _repetitive, response):
        said = "The response repeats itself."
        return wrong("repetitive", feedback=said, range=params.range, flags=("repetitive",))
    seen = Seen()
    try:
        if params.source == "signals":
            return await offload(_numbers_in(sample), _of_signals, sample, params, seen)
        if params.against == "model":
            return await _implicit(response, sample, params, ctx, seen)
        if params.of == "response":
            tokens = await whole(response, sample.prompt, params, ctx, seen)
            return await offload(len(tokens.logprobs) * 4, ended, tokens, None, None, params, seen)
        return await _of_reference(response, sample, reference, params, ctx, seen)
    except InputTooLong as error:
        return too_long(error, range=params.range)


async def _implicit(response: str, sample: Sample, params: Params, ctx: Context, seen: Seen) -> Outcome:
    text = params.text if params.input == "text" else None
    given = beginning(sample.prompt, "", response, text=text, system=params.system, fit=params.fit)
    assert params.reference_model is not None  # checked with the parameters
    names = params.model, params.reference_model
    found = await ratios(given, response, [len(response)], names, ctx, seen)
    reward = params.beta * (found.sums[-1] if params.measure == "sum" else found.mean)
    score = sigmoid(reward)
    passed = None if params.threshold is None else score >= params.threshold
    evidence = {
        "measure": params.measure,
        "source": params.source,
        "log_ratio": found.sums[-1],
        "tokens": found.own_tokens,
        "sum_logprob": found.own[-1],
        "reference_sum_logprob": found.other[-1],
        **seen.evidence(),
    }
    reason = "unlikely" if passed is False else None
    return scored(score, passed=passed, reason=reason, raw=reward, evidence=evidence, flags=seen.flags())


async def _of_reference(
    response: str, sample: Sample, reference: str | list[str] | None, params: Params, ctx: Context, seen: Seen
) -> Outcome:
    answers = accepted(reference)
    if not answers:
        raise InvalidReference("reference is missing: the text whose likelihood is measured", path="reference")
    if len(answers) > _MOST_REFERENCES:
        raise InvalidReference(f"more than {_MOST_REFERENCES} references", path="reference")
    reasoning = reasoning_of(response, params)
    if reasoning.text is None:
        said = f"The response has no answer after {params.cut!r}."
        return no_answer(reasoning.reason or "no_answer", feedback=said, range=params.range)
    texts = [reasoning.text] if params.against == "nothing" else [reasoning.text, ""]
    found = await gather(
        *(behind(text, answer, sample.prompt, params, ctx, seen) for answer in answers for text in texts)
    )
    flags = ["answer_repeated"] * reasoning.again
    made: list[Outcome] = []
    for place in range(len(answers)):
        own = found[place * len(texts)]
        bare = found[place * len(texts) + 1] if len(texts) > 1 else None
        weights = weights_of(sample.signals, len(own.logprobs)) if params.weighted else None
        made.append(ended(own, bare, weights, params, seen, flags, reference=place))
    return max(made, key=lambda one: one.score or 0.0)


def _numbers_in(sample: Sample) -> int:
    return max((len(one) for one in (sample.signals or {}).values() if isinstance(one, Sequence)), default=0)


def _of_signals(sample: Sample, params: Params, seen: Seen) -> Outcome:
    own = sent(sample.signals, "logprobs" if params.of == "response" else "reference_logprobs")
    count = len(own.logprobs)
    bare = None if params.against == "nothing" else sent(sample.signals, "baseline_logprobs", length=count)
    weights = weights_of(sample.signals, count) if params.weighted else None
    return ended(own, bare, weights, params, seen)


def ended(
    own: Tokens,
    bare: Tokens | None,
    weights: Sequence[float] | None,
    params: Params,
    seen: Seen,
    flags: Sequence[str] = (),
    **more: Any,
) -> Outcome:
    """The outcome of the tokens. bare: the tokens without reasoning. more: further evidence."""
    found = measured(own.logprobs, weights, params)
    before = None if bare is None else measured(bare.logprobs, weights, params)
    low, high = params.range
    score = min(max(found.score - (before.score if before else 0.0), low), high)
    evidence: dict[str, Any] = {
        "measure": params.measure,
        "source": params.source,
        **more,
        **own.evidence(),
        **({} if before is None else {"likelihood": found.score, "baseline": before.score}),
        **seen.evidence(),
    }
    clipped = found.clipped or (before is not None and before.clipped)
    passed = None if params.threshold is None else score >= params.threshold
    return scored(
        score,
        range=params.range,
        passed=passed,
        reason="unlikely" if passed is False else None,
        raw=found.raw if before is None else found.raw - before.raw,
        steps=_steps(own) if params.per_token else (),
        evidence=evidence,
        flags=[*flags, *["clipped"] * clipped, *seen.flags()],
    )


def _steps(tokens: Tokens) -> list[StepScore]:
    texts: Sequence[str | None] = tokens.texts or [None] * len(tokens.logprobs)
    return [
        StepScore(index=place, score=logprob, label=text)
        for place, (text, logprob) in enumerate(zip(texts, tokens.logprobs, strict=True))
    ]


def _repetitive(response: str) -> bool:
    """Returns whether a text of some length keeps repeating itself, in any script."""
    text = " ".join(response.split())
    return len(text) >= _SHORTEST and any(_share(text, window, gram) < _VARIED for window, gram in _WINDOWS)


def _share(text: str, window: int, gram: int) -> float:
    """The share of distinct runs of `gram` characters within windows. The rest after the last whole window is only
    counted if there is no whole one.
    """
    windows = [text[at : at + window] for at in range(0, max(len(text) - window, 0) + 1, window)]
    different = sum(len({one[at : at + gram] for at in range(len(one) - gram + 1)}) for one in windows)
    return different / sum(len(one) - gram + 1 for one in windows)
