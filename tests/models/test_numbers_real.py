"""`rm_scalar`, `style_metric` and embeddings with real small models: the numbers of plain transformers."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from tests.models.real import lacking
from tests.verifiers.direct import DirectContext, group_outcomes, outcome_of

NAMES = ("smollm2-reward", "smollm2-classes", "minilm")
pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.skipif(lacking(*NAMES) is not None, reason=str(lacking(*NAMES))),
]

PLANNER = Planner(Registry())
NEAR = 1e-3
"""The most that scores may differ by from transformers'."""


class Real(DirectContext):
    """A context with the small models."""

    def __init__(self, engines: dict[str, Any]) -> None:
        super().__init__(PLANNER, Sample(response=""))
        self.engines = engines

    @property
    def model(self) -> Any:
        return self

    async def run(self, task: Any, model: str | None = None) -> Any:
        return await self.engines[model or ""].run(task)


@pytest.fixture
async def ctx() -> AsyncIterator[Real]:
    from rewarden_models.engine import ModelEngine
    from tests.models import real

    engines = {name: ModelEngine(name, real.settings(name), real.loaded(name)) for name in NAMES}
    async with AsyncExitStack() as closing:
        for engine in engines.values():
            closing.callback(engine.close)
        yield Real(engines)


async def judged(ctx: Real, name: str, params: dict[str, Any], sample: Sample) -> Outcome:
    ctx._sample = sample
    outcome = await outcome_of(PLANNER, Use(name=name, params=params), sample, ctx)
    assert outcome.status == "scored", outcome.feedback
    return outcome


def logits(name: str, render: Callable[[Any], str]) -> list[float]:
    import torch

    from tests.models import real

    model, tokenizer = real.plain(name)
    with torch.no_grad():
        found = model(**tokenizer(render(tokenizer), return_tensors="pt", add_special_tokens=False)).logits[0]
    return [float(value) for value in found]


async def test_a_reward_is_that_of_plain_transformers(ctx: Real) -> None:
    prompt, response = "Name a fruit.", "A pear is a fruit."
    chat = [{"role": "user", "content": prompt}, {"role": "assistant", "content": response}]
    [wanted] = logits("smollm2-reward", lambda one: one.apply_chat_template(chat, tokenize=False))
    outcome = await judged(
        ctx, "rm_scalar", {"model": "smollm2-reward"}, Sample(prompt=prompt, response=f"<think>?</think>{response}")
    )
    assert outcome.raw == pytest.approx(wanted, abs=NEAR)
    assert outcome.score == pytest.approx(1 / (1 + math.exp(-wanted)), abs=NEAR)


async def test_a_share_of_a_label_is_that_of_plain_transformers(ctx: Real) -> None:
    text = "The pear was a delight, and so was the company."
    found = logits("smollm2-classes", lambda one: text)
    whole = sum(map(math.exp, found))
    params = {"model": "smollm2-classes", "label": 1}
    outcome = await judged(ctx, "style_metric", params, Sample(response=text))
    assert outcome.score == pytest.approx(math.exp(found[1]) / whole, abs=NEAR)


async def test_meaning_is_nearer_than_words(ctx: Real) -> None:
    params = {"metrics": "embedding", "embedding": {"model": "minilm"}}
    reference = "The doctor gave the child some medicine."
    same = await judged(
        ctx, "similarity", params, Sample(response="A physician treated the kid with a drug.", reference=reference)
    )
    other = await judged(
        ctx, "similarity", params, Sample(response="The doctor sold the boat some years ago.", reference=reference)
    )
    equal = await judged(ctx, "similarity", params, Sample(response=reference, reference=reference))
    assert same.score is not None
    assert other.score is not None
    assert same.score > other.score
    assert equal.score == 1.0


async def test_a_group_is_apart_by_meaning(ctx: Real) -> None:
    texts = ["The cat sleeps on the sofa.", "A cat is asleep on the couch.", "Interest rates rose by one percent."]
    samples = [Sample(response=text, group="g") for text in texts]
    params = {"by": "embedding", "embedding": {"model": "minilm"}}
    outcomes = await group_outcomes(PLANNER, Use(name="diversity", params=params), samples, ctx)
    apart = [outcome.score for outcome in outcomes]
    assert max(range(3), key=lambda place: apart[place] or 0) == 2
    params = {"embedding": {"model": "minilm", "threshold": 0.6}}
    agreed = await group_outcomes(PLANNER, Use(name="consensus", params=params), samples, ctx)
    assert [outcome.score for outcome in agreed] == [1.0, 1.0, 0.0]
