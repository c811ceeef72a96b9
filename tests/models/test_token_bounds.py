"""A tokenizer may have more tokens than its model: what holds one of those is refused, and never computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="models need torch")
pytest.importorskip("transformers", reason="models need transformers")

from rewarden_server.engine.settings import ModelEndpoint
from rewarden_server.models.host.failure import Failure
from rewarden_server.models.host.forward import forward
from rewarden_server.models.host.loading import Loaded, load
from rewarden_server.models.host.tasks import prepare
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
        Choose(input=SMALL, choices=["<big>", "b"]),
        Choose(input=SMALL, choices=["b<big>", "c"]),
        Likelihood(input=BIG, continuation="c"),
    ],
)
def test_a_token_beyond_the_model_is_refused(loaded: Loaded, task: Task[Any]) -> None:
    with pytest.raises(Failure, match="token 264, and model 'm' has only 264 embeddings") as found:
        prepare(loaded, task)
    assert found.value.kind == "invalid"


def test_the_last_token_of_the_model_is_read(loaded: Loaded) -> None:
    ready = prepare(loaded, Choose(input=SMALL, choices=["<263>", "b"]))
    assert ready.rows[0].targets is not None
    assert ready.rows[0].targets[0][0] == 263
    assert len(ready.finish(forward(loaded, ready.rows)).logprobs) == 2
