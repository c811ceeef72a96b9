"""Implicit rewards: how much likelier a text is under a model trained on preferences than under its base model.

With beta and the log-probabilities of both models, the reward of a text is beta * (log p - log p_reference) (DPO, arXiv
2305.18290), and that of a step is its part of the sum (arXiv 2412.01981). Each model's tokens are summed over the same
characters, so the two models can tokenise a text differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rewarden.errors import InvalidParams, ModelError
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Input, Likelihood
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.models.model_tasks import ask
from rewarden_verifiers.models.seen import Seen


@dataclass(frozen=True, slots=True)
class Ratios:
    """own, other: for each model, the sums of log-probabilities up to each requested end; own_tokens, other_tokens: the
    number of tokens of the whole text.
    """

    own: Sequence[float]
    other: Sequence[float]
    own_tokens: int
    other_tokens: int

    @property
    def sums(self) -> list[float]:
        """The log of the ratio of both probabilities, up to each end."""
        return [mine - theirs for mine, theirs in zip(self.own, self.other, strict=True)]

    @property
    def mean(self) -> float:
        """The difference between the models' mean log-probabilities per token."""
        return self.own[-1] / self.own_tokens - self.other[-1] / self.other_tokens


async def ratios(
    given: Input, text: str, ends: Sequence[int], names: tuple[str | None, str], ctx: Context, seen: Seen
) -> Ratios:
    """The likelihoods of a text after an input under two models. ends: increasing character positions, the last of
    which is the length of the text. names: the trained model and its reference model. Raises what `ctx.model.run`
    raises, and ModelError if the results are not log-probabilities of this text.
    """
    task = Likelihood(input=given, continuation=text)
    found = await gather(*(ask(ctx, task, name, seen) for name in names))
    made: list[list[float]] = []
    for result in found:
        read = "".join(result.tokens)
        same = read == text or result.facts.neutralised
        if not same or not result.tokens or len(result.tokens) != len(result.logprobs):
            raise ModelError("the model's tokens do not match the text that it was given")
        if not all(-math.inf < one <= 1e-3 for one in result.logprobs):
            raise ModelError("the model's values are not log-probabilities")
        made.append(_sums(result.tokens, result.logprobs, _shifted(text, read, ends)))
    own, other = made
    return Ratios(own, other, len(found[0].tokens), len(found[1].tokens))


def check_reference(name: str | None, wanted: bool, model: str | None, way: str) -> None:
    """Raises InvalidParams if the reference model is missing, unused, or the model itself."""
    path = "params.reference_model"
    if wanted and not name:
        raise InvalidParams(f"{path} is missing: {way} compares params.model with it", path=path)
    if not wanted and name is not None:
        raise InvalidParams(f"{path} is for {way}", path=path)
    if wanted and name == model:
        raise InvalidParams(f"{path} must be another model: every ratio to itself is 1", path=path)


def _sums(tokens: Sequence[str], logprobs: Sequence[float], ends: Sequence[int]) -> list[float]:
    """The sums up to each end. A token belongs to the part in which its first character lies."""
    sums, total, place, at = [], 0.0, 0, 0
    for end in ends[:-1]:
        while at < len(tokens) and place < end:
            total, place, at = total + logprobs[at], place + len(tokens[at]), at + 1
        sums.append(total)
    return [*sums, math.fsum(logprobs)]


def _shifted(text: str, read: str, ends: Sequence[int]) -> list[int]:
    """Maps the ends to positions in the text as the model read it, in which a space may have been inserted into the
    names of control tokens.
    """
    if read == text:
        return list(ends)
    found, at = [], 0
    wanted = iter(ends)
    end = next(wanted, None)
    for place, character in enumerate(text):
        while end is not None and place >= end:
            found.append(at)
            end = next(wanted, None)
        if at < len(read) and read[at] != character and read[at] == " ":
            at += 1
        at += 1
    return [*found, *[len(read)] * (len(ends) - len(found))]
