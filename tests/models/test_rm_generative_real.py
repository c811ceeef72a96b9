"""Generative and pairwise verdicts of a real small model: the shares that plain transformers computes."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rewarden.types import Sample
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.models import rm_generative, rm_pairwise
from tests.models.real import lacking

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.skipif(lacking("smollm2") is not None, reason=str(lacking("smollm2"))),
]

GOOD, BAD = "Paris is the capital of France.", "Bananas."
ASKED = "What is the capital of France?"
GRADE = "{{ prompt }}\n{{ response }}\nIs that right, Yes or No?"
COMPARE = "{{ prompt }}\nA: {{ response_a }}\nB: {{ response_b }}\nWhich is better, A or B?"


class Real:
    """A context whose only model is the small one; `tasks` are those that came."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.tasks: list[Any] = []

    @property
    def model(self) -> Real:
        return self

    async def run(self, task: Any, model: str | None = None) -> Any:
        self.tasks.append(task)
        return await self.engine.run(task)


@pytest.fixture
async def ctx() -> AsyncIterator[Real]:
    from rewarden_models.engine import ModelEngine
    from tests.models import real

    engine = ModelEngine("smollm2", real.settings("smollm2"), real.loaded("smollm2"))
    yield Real(engine)
    engine.close()


def share(task: Any) -> float:
    """The first choice's share of both, as plain transformers computes it."""
    import torch

    from tests.models import real

    model, tokenizer = real.plain("smollm2")
    text = tokenizer.apply_chat_template(list(task.input.messages), tokenize=False, add_generation_prompt=True)
    with torch.no_grad():
        logits = model(**tokenizer(text, return_tensors="pt", add_special_tokens=False)).logits[0, -1]
    yes, no = (logits[tokenizer(one, add_special_tokens=False).input_ids[0]].item() for one in task.choices)
    return 1 / (1 + math.exp(no - yes))


async def test_the_share_of_a_word_is_that_of_plain_transformers(ctx: Any) -> None:
    params = rm_generative.Params(
        accept=("Yes",), reject=("No",), least_mass=0.0, plain=True, prompt=Prompt(user=GRADE)
    )
    sample = Sample(response=GOOD, prompt=ASKED)
    found = await rm_generative.rm_generative(GOOD, ASKED, None, sample, params, ctx)
    (task,) = ctx.tasks
    assert found.score == pytest.approx(share(task), abs=1e-3)


async def test_a_preference_is_the_mean_of_both_orders_or_none(ctx: Any) -> None:
    params = rm_pairwise.Params(least_mass=0.0, plain=True, prompt=Prompt(user=COMPARE))
    sample = Sample(response=GOOD, prompt=ASKED)
    found = await rm_pairwise.rm_pairwise(GOOD, ASKED, BAD, None, sample, params, ctx)
    first, second = sorted(
        ctx.tasks, key=lambda task: str(task.input.messages).find(GOOD) > str(task.input.messages).find(BAD)
    )
    shares = share(first), 1 - share(second)
    agreed = (shares[0] - 0.5) * (shares[1] - 0.5) > 0
    assert found.score == pytest.approx(sum(shares) / 2 if agreed else 0.5, abs=1e-3)
