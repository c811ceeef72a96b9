"""The verifier `rm_reflection`: the likelihood of a reference, by the tokens that depend on the reasoning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.errors import InputTooLong, InvalidParams, InvalidReference, InvalidSample, ModelError, SampleError
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.models.likely_tokens import Tokens, behind, reasoning_of, sent
from rewarden_verifiers.models.model_tasks import excess, refused
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.models.rm_likelihood import ended
from rewarden_verifiers.models.rm_likelihood_params import Params as LikelihoodParams
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import no_answer
from rewarden_verifiers.view import ALL_SHOWN_TO_MODELS


@dataclass(frozen=True, kw_only=True)
class Params(LikelihoodParams):
    """Options of `rm_reflection`: those of `rm_likelihood`, without `weighted`, `against` and `of: response`, and one
    more.

    least_spread: Tokens whose log-probabilities have a smaller standard deviation across the group do not count.
    """

    least_spread: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, only in (("of", "reference"), ("against", "nothing"), ("weighted", False)):
            if getattr(self, name) != only:
                raise InvalidParams(f"params.{name} is not for a group's key tokens", path=f"params.{name}")
        if self.measure in ("min", "sum"):
            raise InvalidParams("params.measure must weigh tokens: mean, geometric or log", path="params.measure")
        if not 0 <= self.least_spread < math.inf:
            raise InvalidParams("params.least_spread must be at least 0", path="params.least_spread")


@verifier(
    version="2",
    graded=True,
    determinism="tolerance",
    resources=ModelResources,
    optional=OWN_MODELS,
    view=ALL_SHOWN_TO_MODELS,
)
async def rm_reflection(samples: list[Member], params: Params, ctx: Context) -> Sequence[Outcome | SampleError]:
    """The likelihood of the reference after each member's reasoning, weighted by how much its tokens depend on it.

    R3 of DRO (arXiv 2506.13351): the weight of each token of the reference is the standard deviation of its
    log-probability (limited to `floor`) across the group, so tokens that are equally likely after every reasoning do
    not count. The paper's correction for earlier reference tokens that make up for poor reasoning is not implemented.
    All members must have the same reference, a text. The trainer can send `signals.reference_logprobs` instead of using
    a model.

    A member without an answer gets the lowest score, and a member that cannot be judged gets its own error; neither
    affects the weights. If no token differs, all count equally, with the flag `no_spread`.
    """
    reference = samples[0].sample.reference
    if any(member.sample.reference != reference for member in samples):
        raise InvalidSample("the members of a group must have the same reference", path="reference")
    if params.source == "model" and not (isinstance(reference, str) and reference.strip()):
        raise InvalidReference("the reference must be a string", path="reference")
    found = await gather(*(_of_member(member, reference, params, ctx) for member in samples))
    counts = Counter(len(one.tokens.logprobs) for one in found if isinstance(one, _Judged))
    if len(counts) > 1:
        if params.source == "signals":
            raise InvalidSample("the members' reference_logprobs differ in number", path="signals.reference_logprobs")
        usual = min(counts, key=lambda count: (-counts[count], count))
        odd = ModelError("the model tokenized the reference differently after the siblings' reasoning")
        found = [odd if isinstance(one, _Judged) and len(one.tokens.logprobs) != usual else one for one in found]
    return await offload(sum(count * members for count, members in counts.items()) * 4, _ended, found, params)


@dataclass(frozen=True, slots=True)
class _Judged:
    tokens: Tokens
    seen: Seen


async def _of_member(member: Member, reference: Any, params: Params, ctx: Context) -> _Judged | Outcome | SampleError:
    if member.response is None:
        return no_answer()
    answer = reference if isinstance(reference, str) else None
    early = await offload(len(member.response), refused, member.response, params, answer)
    if early is not None:
        return early
    try:
        if params.source == "signals":
            return _Judged(sent(member.sample.signals, "reference_logprobs"), Seen())
        reasoning = reasoning_of(member.response, params)
        if reasoning.text is None:
            return no_answer(reasoning.reason or "no_answer")
        seen = Seen()
        tokens = await behind(reasoning.text, reference, member.sample.prompt, params, ctx, seen)
    except InputTooLong as error:
        return excess(error)
    except SampleError as error:
        return error
    return _Judged(tokens, seen)


def _ended(found: Sequence[_Judged | Outcome | SampleError], params: Params) -> list[Outcome | SampleError]:
    judged = [one for one in found if isinstance(one, _Judged)]
    weights = _weights([one.tokens.logprobs for one in judged], params)
    even = not any(weights)
    shares = [1.0] * len(weights) if even else weights
    evidence: dict[str, Any] = {"spread": weights, "members": len(judged)}
    made: list[Outcome | SampleError] = []
    for one in found:
        if isinstance(one, _Judged):
            outcome = ended(one.tokens, None, shares, params, one.seen)
            flags = (*outcome.flags, "no_spread") if even else outcome.flags
            made.append(replace(outcome, evidence={**outcome.evidence, **evidence}, flags=flags))
        else:
            made.append(one)
    return made


def _weights(rows: Sequence[Sequence[float]], params: Params) -> list[float]:
    """For each token, the standard deviation of its log-probability across the rows; 0 below `least_spread`."""
    found: list[float] = []
    for column in zip(*rows, strict=True):
        kept = [max(one, params.lowest) for one in column]
        mean = math.fsum(kept) / len(kept)
        spread = math.sqrt(math.fsum((one - mean) ** 2 for one in kept) / len(kept))
        found.append(spread if spread > max(params.least_spread, 1e-9) else 0.0)
    return found
