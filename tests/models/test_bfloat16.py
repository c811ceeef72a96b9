"""Models in bfloat16, as they run on GPUs: our results are within 2e-2 of transformers' own in the same dtype."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import fmean
from typing import Any

import pytest

from rewarden_verifiers.inference import Choose, Classify, Embed, Input, Likelihood, Rate, Task
from tests.models.real import FOLDER, needs_models, settings

pytestmark = [pytest.mark.needs_server, needs_models]

TEXTS = ("The sum is 12, for 7 + 5 = 12.", "I do not know.", "Paris is the capital of France, and has long been so.")
CLOSE = 2e-2


@lru_cache(maxsize=1)
def ours(name: str) -> Any:
    from rewarden_models.loading import load

    return load(name, settings(name, dtype="bfloat16"))


@lru_cache(maxsize=1)
def plain(name: str, kind: str) -> tuple[Any, Any]:
    import torch
    import transformers

    model = getattr(transformers, kind).from_pretrained(FOLDER / name, dtype=torch.bfloat16).eval()
    return model, transformers.AutoTokenizer.from_pretrained(FOLDER / name)


def computed(name: str, tasks: list[Task[Any]]) -> list[Any]:
    """All of them in one batch, with what they share shared."""
    from rewarden_models.forward import forward
    from rewarden_models.tasks import prepare

    loaded = ours(name)
    prepared = [prepare(loaded, task) for task in tasks]
    outputs = iter(forward(loaded, [row for one in prepared for row in one.rows]))
    return [one.finish([next(outputs) for _ in one.rows]) for one in prepared]


def alone(name: str, kind: str, text: str) -> Any:
    """The model's own outputs for one text without padding, in float32."""
    import torch

    model, tokenizer = plain(name, kind)
    with torch.inference_mode():
        made = model(**tokenizer(text, return_tensors="pt"))
    return (made.logits if hasattr(made, "logits") else made.last_hidden_state)[0].float()


def near(values: Any, expected: Any) -> None:
    assert list(values) == [pytest.approx(float(one), abs=CLOSE, rel=CLOSE) for one in expected]


def test_a_scalar_head() -> None:
    name, kind = "smollm2-reward", "AutoModelForSequenceClassification"
    tasks = [Classify(input=Input(text=text)) for text in TEXTS]
    for task, text, together in zip(tasks, TEXTS, computed(name, list(tasks)), strict=True):
        expected = alone(name, kind, text)
        near(computed(name, [task])[0].values, expected)
        # What is scored is the share: of a raw output of 3 that transformers itself gives for a text in a batch and for
        # it alone, the fourth digit of bfloat16 differs on some processors, and with it the output by 0.06.
        near([1 / (1 + math.exp(-together.values[0]))], expected.sigmoid())


def test_steps_by_a_token_head() -> None:
    found = computed("smollm2-steps", [Rate(input=Input(text="Q:"), steps=[" It is 4."], mark="\n")])
    near(found[0].values[0], alone("smollm2-steps", "AutoModelForTokenClassification", "Q: It is 4.\n")[-1])


def test_probabilities_of_texts() -> None:
    tasks: list[Task[Any]] = [Choose(input=Input(text=text), choices=[" yes", " The"]) for text in TEXTS]
    tasks += [Likelihood(input=Input(text=text), continuation=" So it is.") for text in TEXTS]
    found = computed("smollm2", tasks)
    tokenizer = plain("smollm2", "AutoModelForCausalLM")[1]
    for one, text in zip(found[:3], TEXTS, strict=True):
        shares = alone("smollm2", "AutoModelForCausalLM", text)[-1].softmax(-1)
        expected = [shares[tokenizer(choice)["input_ids"][0]] for choice in (" yes", " The")]
        near(map(math.exp, one.logprobs), expected)
    for one, text in zip(found[3:], TEXTS, strict=True):
        ids = tokenizer(text)["input_ids"]
        more = tokenizer(" So it is.")["input_ids"]
        shares = alone("smollm2", "AutoModelForCausalLM", f"{text} So it is.").softmax(-1)
        expected = [float(shares[len(ids) - 1 + place][token]) for place, token in enumerate(more)]
        # What is scored is their mean (RLPR): a single logit of 20 is rounded to 0.125 in both, and so a probability to
        # an eighth of itself.
        near([fmean(map(math.exp, one.logprobs))], [fmean(expected)])


def test_vectors() -> None:
    found = computed("minilm", [Embed(input=Input(text=text)) for text in TEXTS])
    for one, text in zip(found, TEXTS, strict=True):
        pooled = alone("minilm", "AutoModel", text).mean(0)
        near(one.values, pooled / pooled.norm())
