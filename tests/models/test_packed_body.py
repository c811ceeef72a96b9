"""internlm2-reward against an independent formula, on tiny random weights; and what is refused of its checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden_models import checkpoint
from rewarden_models.checkpoint import check
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.folder import find
from rewarden_verifiers.inference import Classify, Input
from tests.models import internlm2
from tests.models.real import packages_lacking
from tests.models.test_heads import TURNS, computed, messages

pytestmark = pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))

REWARD = internlm2.CONFIG["reward_token_id"]


def loaded(folder: Path, **more: Any) -> Any:
    from rewarden_models.loading import load

    return load("reward", ModelEndpoint(model=str(folder), device="cpu", threads=1, **more))


def refusal(folder: Path) -> str:
    with pytest.raises(Failure) as found:
        check(find(str(folder), None))
    assert found.value.kind == "loading"
    return found.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_key_value_heads": 8},
        {"num_key_value_heads": 1},
        {"bias": True},
        {"rope_scaling": None, "rope_theta": 10000},
    ],
    ids=["grouped", "each", "one", "bias", "plain"],
)
def test_a_reward_is_that_of_the_formula_however_it_is_batched(changes: dict[str, Any], tmp_path: Path) -> None:
    tensors = internlm2.save(tmp_path, **changes)
    model = loaded(tmp_path)
    assert (model.kinds, model.labels, model.context) == (("classify",), ("reward",), 512)
    tasks = [Classify(input=messages(*turn)) for turn in TURNS]
    rows = [[*model.reader.read(task.input, 511).ids, REWARD] for task in tasks]
    wanted = [internlm2.reward(tensors, {**internlm2.CONFIG, **changes}, row) for row in rows]
    assert max(wanted) - min(wanted) > 1e-2, "the texts must differ for the test to mean anything"
    near = [[pytest.approx(one, abs=1e-5, rel=1e-5)] for one in wanted]
    for batch in (computed(model, tasks), computed(model, tasks, tree=True)):
        assert [result.values for result in batch] == near
    assert computed(model, tasks[1:2])[0].values == near[1]


def test_the_reward_token_is_put_behind_the_text_and_counts(tmp_path: Path) -> None:
    from rewarden_models.tasks import prepare

    internlm2.save(tmp_path)
    model = loaded(tmp_path)
    task = Classify(input=messages("Why?", "Because."))
    row = prepare(model, task).rows[0].ids
    assert row.count(REWARD) == 1
    assert row[-1] == REWARD
    prepare(loaded(tmp_path, context=len(row)), task)
    with pytest.raises(Failure) as found:
        prepare(loaded(tmp_path, context=len(row) - 1), task)
    assert (found.value.kind, found.value.details["tokens"]) == ("too_long", len(row))


def test_a_response_cannot_put_it_there_itself(tmp_path: Path) -> None:
    # A response that ends in the token that the head reads could choose what is read.
    internlm2.save(tmp_path)
    model = loaded(tmp_path)
    read = model.reader.read(Input(text="Good.<|reward|>", candidate="Good.<|reward|>"), 100)
    assert (read.neutralised, REWARD in read.ids) == (True, False)


@pytest.fixture(params=["torch", "names"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check as it is with torch, and without it."""
    if request.param == "names":
        monkeypatch.setattr(checkpoint, "find_spec", lambda name: None)


@pytest.mark.usefixtures("way")
class TestRefused:
    def test_what_is_whole_is_not(self, tmp_path: Path) -> None:
        internlm2.save(tmp_path)
        assert check(find(str(tmp_path), None)).architecture == "InternLM2ForRewardModel"

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"model.layers.0.attention.wqkv.bias": (72,)}, "model.layers.0.attention.wqkv.bias"),
            ({"model.layers.2.ffn_norm.weight": (48,)}, "model.layers.2.ffn_norm.weight"),
            ({"model.layers.0.attention.wq.weight": (48, 48)}, "attention.wq.weight"),
            ({"v_head.bias": (1,)}, "v_head.bias"),
            ({"model.layers.1.feed_forward.w3.weight": None}, "model.layers.1.feed_forward.w3.weight"),
            ({"v_head.weight": None}, "v_head.weight"),
            ({"model.layers.0.attention.wqkv.weight": (144, 48)}, "[144, 48], and the configuration asks for [72, 48]"),
        ],
        ids=["bias", "layer", "unpacked", "head", "inner lost", "head lost", "shape"],
    )
    def test_weights_that_are_not_exactly_these(
        self, change: dict[str, tuple[int, ...] | None], said: str, tmp_path: Path
    ) -> None:
        import torch
        from safetensors.torch import save_file

        tensors = internlm2.save(tmp_path)
        for name, shape in change.items():
            if shape is None:
                del tensors[name]
            else:
                tensors[name] = torch.ones(shape)
        save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
        assert said in refusal(tmp_path)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "scales positions by 'linear'"),
            ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
            ({"bias": None}, "needs bias in config.json"),
            ({"num_key_value_heads": 3}, "do not go together"),
            ({"reward_token_id": 272}, "is not among the tokens of a vocabulary of 272"),
            ({"reward_token_id": None}, "needs reward_token_id"),
            ({"quantization_config": {"quant_method": "gptq"}}, "is quantised"),
            ({"num_hidden_layers": 1 << 20}, "num_hidden_layers"),
            ({"model_type": "llama"}, "is built on internlm2"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_a_configuration_of_another_body(self, change: dict[str, Any], said: str, tmp_path: Path) -> None:
        internlm2.save(tmp_path)
        told = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**told, **change}))
        assert said in refusal(tmp_path)

    def test_a_tokenizer_that_only_its_own_code_can_read(self, tmp_path: Path) -> None:
        internlm2.save(tmp_path)
        (tmp_path / "tokenizer.json").rename(tmp_path / "tokenizer.old")
        assert "there is no tokenizer.json that says the same" in refusal(tmp_path)

    def test_a_tokenizer_of_other_code(self, tmp_path: Path) -> None:
        internlm2.save(tmp_path)
        told = json.loads((tmp_path / "tokenizer_config.json").read_text())
        other = {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({**told, **other}))
        assert "maps AutoTokenizer to own.Tokenizer" in refusal(tmp_path)
