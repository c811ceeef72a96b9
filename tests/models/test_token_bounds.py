"""A tokenizer may have more tokens than its model: none of those is ever computed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="models need torch")
pytest.importorskip("transformers", reason="models need transformers")

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.forward import forward
from rewarden_models.loading import Loaded, load
from rewarden_models.tasks import prepare
from rewarden_verifiers.inference import Choose, Embed, Input, Likelihood, Task, Write
from tests.models import tiny

pytestmark = pytest.mark.needs_server


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A model of 264 embeddings, whose tokenizer has one token more: `<big>`."""
    folder: Path = tmp_path_factory.mktemp("big")
    words = tiny.tokenizer()
    words.add_tokens([f"<{number}>" for number in range(len(words), 264)] + ["<big>"])
    tiny.causal().save_pretrained(folder)
    words.save_pretrained(folder)
    return load("m", ModelEndpoint(model=str(folder), device="cpu"))


BIG, SMALL = Input(text="a <big> b"), Input(text="a <263> b")


@pytest.mark.parametrize(
    "task",
    [
        Embed(input=BIG),
        Write(input=BIG),
        Choose(input=BIG, choices=["b", "c"]),
        Likelihood(input=SMALL, continuation="c <big>"),
    ],
)
def test_in_what_others_wrote_it_is_read_as_letters(loaded: Loaded, task: Task[Any]) -> None:
    # Attack: a response that holds one would go unscored.
    ready = prepare(loaded, task)
    assert ready.facts.neutralised
    assert max(max(row.ids) for row in ready.rows) < 264


@pytest.mark.parametrize("choices", [["<big>", "b"], ["b<big>", "c"]])
def test_as_a_choice_it_is_refused(loaded: Loaded, choices: list[str]) -> None:
    with pytest.raises(Failure, match="token 264, and model 'm' has only 264 embeddings") as found:
        prepare(loaded, Choose(input=SMALL, choices=choices))
    assert found.value.kind == "invalid"


def test_rows_are_not_filled_up_with_one(loaded: Loaded, tmp_path: Path) -> None:
    loaded.model.save_pretrained(tmp_path)
    words = copy.deepcopy(loaded.tokenizer)
    words.add_special_tokens({"pad_token": "<big>"})
    words.save_pretrained(tmp_path)
    assert load("m", ModelEndpoint(model=str(tmp_path), device="cpu")).pad < 264


def test_the_last_token_of_the_model_is_read(loaded: Loaded) -> None:
    ready = prepare(loaded, Choose(input=SMALL, choices=["<263>", "b"]))
    assert ready.rows[0].targets is not None
    assert ready.rows[0].targets[0][0] == 263
    assert len(ready.finish(forward(loaded, ready.rows)).logprobs) == 2
