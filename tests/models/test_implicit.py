"""Implicit rewards of two causal models: for a response in `rm_likelihood`, for steps in `rm_process`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidParams, ModelError
from rewarden.types import Outcome, Sample
from rewarden_verifiers.inference import Facts, Likelihoods
from rewarden_verifiers.models import rm_likelihood_params, rm_process_params
from rewarden_verifiers.models.rm_likelihood import rm_likelihood
from rewarden_verifiers.models.rm_process import rm_process
from tests.models import tiny
from tests.models.real import packages_lacking

RESPONSE = "One hen.\n\nTwo hens.\n\nThree hens."
PROMPT = "How many hens?"


class Two:
    """A context whose models give each token of their own its logarithm. tokens: by model, the pattern of a token;
    logs: by model. neutral: they put a space into `<s>`, as a model process does."""

    def __init__(self, tokens: Mapping[str, str], logs: Mapping[str, Sequence[float]], neutral: bool = False) -> None:
        self.tokens, self.logs, self.neutral = tokens, logs, neutral
        self.asked: list[tuple[str | None, Any]] = []

    @property
    def model(self) -> Two:
        return self

    async def run(self, task: Any, model: str | None = None) -> Likelihoods:
        self.asked.append((model, task))
        text = task.continuation.replace("<s>", "< s>") if self.neutral else task.continuation
        pieces = re.findall(self.tokens[str(model)], text, re.DOTALL)
        facts = Facts(model=str(model), version="1", neutralised=self.neutral)
        return Likelihoods(tokens=pieces, logprobs=self.logs[str(model)][: len(pieces)], facts=facts)


class Computed:
    """A context whose models are loaded from folders."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        from rewarden_models.endpoint import ModelEndpoint
        from rewarden_models.loading import load

        self.loaded = {
            name: load(name, ModelEndpoint(model=str(folder), device="cpu", threads=1))
            for name, folder in folders.items()
        }

    @property
    def model(self) -> Computed:
        return self

    async def run(self, task: Any, model: str | None = None) -> Any:
        from tests.models.test_heads import computed

        return computed(self.loaded[str(model)], [task])[0]


async def whole(ctx: Any, response: str = RESPONSE, **params: Any) -> Outcome:
    """The outcome of `rm_likelihood`."""
    given = {"of": "response", "measure": "sum", "against": "model", "model": "trained", "reference_model": "began"}
    made = rm_likelihood_params.Params(**{**given, **params})
    result = await rm_likelihood(
        response=response, sample=Sample(response=response, prompt=PROMPT), params=made, ctx=ctx, reference=None
    )
    assert isinstance(result, Outcome)
    return result


async def stepwise(ctx: Any, response: str = RESPONSE, **params: Any) -> Outcome:
    """The outcome of `rm_process`."""
    given = {"by": "implicit", "model": "trained", "reference_model": "began", "beta": 0.1}
    made = rm_process_params.Params(**{**given, **params})
    result = await rm_process(response=response, sample=Sample(response=response, prompt=PROMPT), params=made, ctx=ctx)
    assert isinstance(result, Outcome)
    return result


WORDS = r"\S+\s*"
PAIRS = r"\S+\s*(?:\S+\s*)?"
TRAINED = [-1.0, -2.0, -0.5, -0.25, -3.0, -1.5]
BEGAN = [-2.0, -2.5, -1.0, -2.0, -1.0, -1.0]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


async def test_the_reward_of_a_response_is_beta_times_the_logarithm_of_the_ratio() -> None:
    ctx = Two({"trained": WORDS, "began": WORDS}, {"trained": TRAINED, "began": BEGAN})
    outcome = await whole(ctx, beta=0.2)
    assert outcome.raw == pytest.approx(0.2 * (sum(TRAINED) - sum(BEGAN)))
    assert outcome.score == pytest.approx(sigmoid(0.2 * (sum(TRAINED) - sum(BEGAN))))
    assert {name for name, _ in ctx.asked} == {"trained", "began"}
    assert len({repr(task) for _, task in ctx.asked}) == 1, "both models must be asked the same"
    assert ctx.asked[0][1].continuation == RESPONSE


async def test_by_length_each_model_has_the_mean_of_its_own_tokens() -> None:
    # The two may split the text otherwise: three tokens of two words each, and six of one.
    ctx = Two({"trained": WORDS, "began": PAIRS}, {"trained": TRAINED, "began": BEGAN})
    outcome = await whole(ctx, measure="log", beta=2.0)
    assert outcome.raw == pytest.approx(2.0 * (sum(TRAINED) / 6 - sum(BEGAN[:3]) / 3))


async def test_the_value_of_a_step_is_the_sum_up_to_its_end() -> None:
    ctx = Two({"trained": WORDS, "began": PAIRS}, {"trained": TRAINED, "began": BEGAN})
    outcome = await stepwise(ctx)
    ratios = [sum(TRAINED[: 2 * step]) - sum(BEGAN[:step]) for step in (1, 2, 3)]
    assert [step.score for step in outcome.steps] == [pytest.approx(sigmoid(0.1 * one)) for one in ratios]
    assert outcome.evidence["log_ratios"] == [pytest.approx(one) for one in ratios]


async def test_a_steps_own_part_is_the_difference_of_two_values() -> None:
    ctx = Two({"trained": WORDS, "began": WORDS}, {"trained": TRAINED, "began": BEGAN})
    outcome = await stepwise(ctx, activation="none", aggregate="progress", low=-5, high=5)
    parts = [0.1 * (sum(TRAINED[at : at + 2]) - sum(BEGAN[at : at + 2])) for at in (0, 2, 4)]
    assert [step.score for step in outcome.steps] == [pytest.approx(one) for one in parts]
    assert outcome.score == pytest.approx(sum(parts))


async def test_a_control_token_in_a_step_moves_no_border_of_steps() -> None:
    # Attack: a space put into each would give the tokens of one step to the one before.
    response = "<s> <s> <s> <s>.\n\nTwo hens."
    single = {"trained": r".", "began": r"."}
    read = len("< s> < s> < s> < s>.\n\n")
    logs = {"trained": [-2.0] * read + [-9.0] * 9, "began": [-1.0] * (read + 9)}
    outcome = await stepwise(Two(single, logs, neutral=True), response)
    assert outcome.evidence["log_ratios"] == [pytest.approx(-read), pytest.approx(-read - 8 * 9)]
    assert "neutralised" in outcome.flags


async def test_tokens_that_are_not_the_text_are_the_models_fault() -> None:
    ctx = Two({"trained": r"\S+", "began": WORDS}, {"trained": TRAINED, "began": BEGAN})
    for ask in (whole, stepwise):
        with pytest.raises(ModelError, match="do not match the text"):
            await ask(ctx)


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"reference_model": None}, "reference_model"),
        ({"reference_model": "trained"}, "reference_model"),
        ({"against": "nothing"}, "reference_model"),
        ({"measure": "geometric"}, "measure"),
        ({"of": "reference"}, "against"),
        ({"source": "signals"}, "against"),
        ({"per_token": True}, "per_token"),
        ({"floor": -5.0}, "floor"),
        ({"beta": 0.0}, "beta"),
    ],
)
async def test_what_makes_no_implicit_reward_of_a_response_is_refused(params: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidParams) as found:
        await whole(None, **params)
    assert found.value.details["path"] == f"params.{path}"


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"reference_model": None}, "reference_model"),
        ({"by": "prefix"}, "reference_model"),
        ({"model": None, "models": ("a", "b")}, "models"),
        ({"output": 1}, "output"),
        ({"activation": "softmax"}, "activation"),
        ({"beta": -1.0}, "beta"),
    ],
)
async def test_what_makes_no_implicit_reward_of_steps_is_refused(params: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidParams) as found:
        await stepwise(None, **params)
    assert found.value.details["path"] == f"params.{path}"


@pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))
async def test_the_rewards_of_models_are_those_of_transformers(tmp_path: Path) -> None:
    import torch

    sums = {}
    for seed, name in enumerate(("trained", "began")):
        made = tiny.causal()
        torch.manual_seed(seed)
        for weights in made.parameters():
            weights.data += 0.05 * torch.randn_like(weights)
        made.save_pretrained(tmp_path / name)
        words = tiny.tokenizer()
        words.save_pretrained(tmp_path / name)
        chat = [{"role": "user", "content": PROMPT}]
        begun = words.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        before = words(begun, add_special_tokens=False)["input_ids"]
        ids = words(RESPONSE, add_special_tokens=False)["input_ids"]
        assert len(ids) == len(RESPONSE)
        with torch.inference_mode():
            logits = made(input_ids=torch.tensor([[*before, *ids]])).logits[0, len(before) - 1 : -1].double()
        own = logits.log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)].cumsum(0)
        sums[name] = [float(own[end - 1]) for end in (10, 21, 32)]
    ratios = [mine - theirs for mine, theirs in zip(sums["trained"], sums["began"], strict=True)]
    assert max(map(abs, ratios)) > 0.1, "the models must differ for the test to mean anything"
    ctx = Computed({name: tmp_path / name for name in sums})
    assert (await whole(ctx)).raw == pytest.approx(0.1 * ratios[-1], abs=1e-4)
    outcome = await stepwise(ctx)
    assert outcome.evidence["log_ratios"] == [pytest.approx(one, abs=1e-3) for one in ratios]
