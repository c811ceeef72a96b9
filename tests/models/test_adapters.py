"""LoRA adapters in PEFT's format: added by the formula of their definition, and refused where another one holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.settings import ProcessSettings
from rewarden_verifiers.inference import Classify, Input, Likelihood
from tests.models import tiny
from tests.models.real import packages_lacking
from tests.models.test_heads import computed, near

pytestmark = pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))

RANK, ALPHA = 3, 8
LAYERS = [f"model.layers.{place}.{part}" for place in (0, 1) for part in ("self_attn.q_proj", "mlp.down_proj")]
CONFIG: Mapping[str, Any] = {
    "peft_type": "LORA",
    "task_type": "CAUSAL_LM",
    "base_model_name_or_path": "acme/base",
    "r": RANK,
    "lora_alpha": ALPHA,
    "target_modules": ["q_proj", "down_proj"],
    "bias": "none",
    "lora_dropout": 0.05,
    "inference_mode": True,
    "init_lora_weights": True,
    "modules_to_save": None,
    "rank_pattern": {},
    "alpha_pattern": {},
    "use_dora": False,
    "use_rslora": False,
    "peft_version": "0.18.0",
}
TEXT = Input(text="The sky is blue.")


def base(folder: Path, **more: Any) -> Any:
    """Save a causal model with its tokenizer. Returns the model."""
    made = tiny.causal(**more)
    made.save_pretrained(folder / "base")
    tiny.tokenizer().save_pretrained(folder / "base")
    return made


def matrices(model: Any, ranks: Mapping[str, int]) -> dict[str, Any]:
    """Random matrices of an adapter, by the names of its file without their root."""
    import torch

    torch.manual_seed(5)
    made = {}
    for name, rank in ranks.items():
        wide, narrow = model.get_submodule(name).weight.shape
        made[f"{name}.lora_A.weight"] = torch.randn(rank, narrow) * 0.2
        made[f"{name}.lora_B.weight"] = torch.randn(wide, rank) * 0.2
    return made


def adapter(folder: Path, tensors: Mapping[str, Any], **changes: Any) -> Path:
    """Save an adapter; changes: of its configuration."""
    from safetensors.torch import save_file

    made = folder / "adapter"
    made.mkdir(exist_ok=True)
    (made / "adapter_config.json").write_text(json.dumps({**CONFIG, **changes}))
    if tensors:
        named = {f"base_model.model.{name}": tensor.contiguous() for name, tensor in tensors.items()}
        save_file(named, made / "adapter_model.safetensors")
    return made


def settings(folder: Path, **more: Any) -> ModelEndpoint:
    return ModelEndpoint(model=str(folder / "adapter"), base=str(folder / "base"), device="cpu", threads=1, **more)


def load(folder: Path, **more: Any) -> Any:
    from rewarden_models.loading import load as load_model

    return load_model("m", settings(folder, **more))


def refusal(folder: Path) -> str:
    """Returns what is said of an adapter that cannot be loaded, by loading and by the check of the files alone."""
    from rewarden_models.command import refusals

    with pytest.raises(Failure) as found:
        load(folder)
    assert found.value.kind == "loading"
    assert refusals(ProcessSettings(models={"m": settings(folder)}))["m"] == found.value.message
    return found.value.message


def likelihoods(model: Any, ids: list[int], more: list[int]) -> list[float]:
    """The log-probabilities of tokens behind others, by transformers."""
    import torch

    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*ids, *more]])).logits[0].log_softmax(-1)
    return [float(logits[len(ids) - 1 + place, token]) for place, token in enumerate(more)]


def change(model: Any, tensors: Mapping[str, Any], factors: Mapping[str, float]) -> Any:
    """Add to each layer's weights its factor times B A, in NumPy."""
    import torch

    for name, factor in factors.items():
        down, up = (tensors[f"{name}.lora_{side}.weight"].double().numpy() for side in "AB")
        weight = model.get_submodule(name).weight
        weight.data = torch.tensor(weight.detach().double().numpy() + factor * (up @ down), dtype=torch.float32)
    return model


@pytest.mark.parametrize(
    ("changes", "ranks", "factors"),
    [
        ({}, [3, 3, 3, 3], [8 / 3] * 4),
        ({"use_rslora": True}, [3, 3, 3, 3], [8 / 3**0.5] * 4),
        (
            {"rank_pattern": {"layers.1.self_attn.q_proj": 2}, "alpha_pattern": {"down_proj": 5, "0.mlp.down_proj": 6}},
            [3, 3, 2, 3],
            [8 / 3, 5 / 3, 8 / 2, 5 / 3],
        ),
    ],
    ids=["alpha over rank", "rank stabilised", "patterns"],
)
def test_an_adapter_is_added_by_its_formula(
    changes: dict[str, Any], ranks: list[int], factors: list[float], tmp_path: Path
) -> None:
    made = base(tmp_path)
    tensors = matrices(made, dict(zip(LAYERS, ranks, strict=True)))
    adapter(tmp_path, tensors, **changes)
    model = load(tmp_path)
    ids, more = model.tokenizer(TEXT.text)["input_ids"], model.tokenizer(" So?")["input_ids"]
    plain = likelihoods(made, ids, more)
    wanted = likelihoods(change(made, tensors, dict(zip(LAYERS, factors, strict=True))), ids, more)
    assert plain != [near(one) for one in wanted], "the adapter must matter for the test to mean anything"
    found = computed(model, [Likelihood(input=TEXT, continuation=" So?")])[0]
    assert found.logprobs == [near(one) for one in wanted]


def test_a_reward_model_is_a_causal_base_with_an_adapter_and_its_head(tmp_path: Path) -> None:
    """As trainers of reward models save it: task_type SEQ_CLS, and `score` in modules_to_save."""
    import torch
    from transformers import LlamaForSequenceClassification

    made = base(tmp_path)
    tensors = matrices(made, dict.fromkeys(LAYERS, RANK))
    score = torch.randn(1, made.config.hidden_size)
    adapter(tmp_path, {**tensors, "score.weight": score}, task_type="SEQ_CLS", modules_to_save=["classifier", "score"])
    model = load(tmp_path)
    assert model.kinds == ("classify",)
    whole = LlamaForSequenceClassification.from_pretrained(tmp_path / "base", num_labels=1).eval()
    whole.score.weight.data = score
    change(whole, tensors, dict.fromkeys(LAYERS, ALPHA / RANK))
    with torch.inference_mode():
        wanted = float(whole(input_ids=torch.tensor([model.tokenizer(TEXT.text)["input_ids"]])).logits[0, 0])
    assert computed(model, [Classify(input=TEXT)])[0].values == [near(wanted)]


def test_the_version_is_of_both_and_the_name_is_the_adapters(tmp_path: Path) -> None:
    made = base(tmp_path)
    tensors = matrices(made, dict.fromkeys(LAYERS, RANK))
    adapter(tmp_path, tensors)
    first = load(tmp_path)
    assert first.about.source == "adapter"
    adapter(tmp_path, {name: tensor * 2 for name, tensor in tensors.items()})
    second = load(tmp_path)
    base(tmp_path, rope_theta=5000.0)
    assert len({first.version, second.version, load(tmp_path).version}) == 3


def test_the_adapters_own_tokenizer_reads_where_it_brings_one(tmp_path: Path) -> None:
    made = base(tmp_path)
    folder = adapter(tmp_path, matrices(made, dict.fromkeys(LAYERS, RANK)))
    own = tiny.tokenizer()
    own.chat_template = "own:{{ messages[0]['content'] }}"
    own.save_pretrained(folder)
    assert load(tmp_path).tokenizer.chat_template == own.chat_template
    told = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**told, "auto_map": {"AutoTokenizer": ["own.T", None]}}))
    with pytest.raises(Failure, match=r"own\.T"):
        load(tmp_path)


async def test_a_reload_names_another_adapter_to_the_same_base(tmp_path: Path) -> None:
    """As a policy's adapter is swapped in during training."""
    from rewarden_models.hosted_model import HostedModel
    from rewarden_models.loading import load as load_model

    tensors = matrices(base(tmp_path), dict.fromkeys(LAYERS, RANK))
    first = adapter(tmp_path, tensors)
    (tmp_path / "steps").mkdir()
    second = first.rename(tmp_path / "steps" / "adapter")
    adapter(tmp_path, {name: tensor * 2 for name, tensor in tensors.items()})
    own = settings(tmp_path, reload_from=(str(tmp_path / "steps"),))
    with ThreadPoolExecutor(1) as loads:
        hosted = HostedModel("m", own, loads)
        begun = load_model("m", own).version
        about = await hosted.reload(str(second), None)
        assert about.version == load_model("m", replace(own, model=str(second))).version != begun
        with pytest.raises(Failure, match="can only be reloaded from"):
            await hosted.reload(str(tmp_path / "base"), None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"peft_type": "IA3"}, "'IA3'; only LORA"),
        ({"use_dora": True}, "sets use_dora"),
        ({"bias": "lora_only"}, "bias = 'lora_only'"),
        ({"layer_replication": [[0, 2]]}, "sets layer_replication"),
        ({"some_new_form": {"a": 1}}, "sets some_new_form"),
        ({"init_lora_weights": "pissa"}, "begun by 'pissa'"),
        ({"rank_pattern": {"(a+)+$": 3}}, "the expression '(a+)+$'"),
        ({"r": None}, "states no rank"),
        ({"r": 4}, "of rank 4 on [48, 48]"),
        ({"target_modules": ["q_proj", "down_proj", "k_proj"]}, "no weights for model.layers.0.self_attn.k_proj"),
        ({"task_type": "SEQ_CLS"}, "modules_to_save = ['score']"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_adapter_of_another_form_is_refused_with_the_reason(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    made = base(tmp_path)
    adapter(tmp_path, matrices(made, dict.fromkeys(LAYERS, RANK)), **changes)
    assert said in refusal(tmp_path)


class TestWeights:
    def tensors(self, folder: Path) -> dict[str, Any]:
        return matrices(base(folder), dict.fromkeys(LAYERS, RANK))

    def test_a_module_trained_whole_beside_it_is_refused_unless_it_is_a_head(self, tmp_path: Path) -> None:
        tensors = self.tensors(tmp_path)
        import torch

        adapter(tmp_path, {**tensors, "model.embed_tokens.weight": torch.zeros(264, 48)})
        assert "model.embed_tokens.weight, neither of a linear layer nor of a head" in refusal(tmp_path)

    def test_half_of_a_layer_is_refused(self, tmp_path: Path) -> None:
        tensors = self.tensors(tmp_path)
        del tensors[f"{LAYERS[0]}.lora_B.weight"]
        adapter(tmp_path, tensors)
        assert f"no lora_B of {LAYERS[0]}" in refusal(tmp_path)

    def test_a_layer_that_the_base_lacks_is_refused(self, tmp_path: Path) -> None:
        tensors = {name.replace("layers.1", "layers.7"): tensor for name, tensor in self.tensors(tmp_path).items()}
        adapter(tmp_path, tensors)
        assert "model.layers.7.mlp.down_proj (which the base does not have)" in refusal(tmp_path)

    def test_a_number_that_is_not_finite_is_refused(self, tmp_path: Path) -> None:
        tensors = self.tensors(tmp_path)
        tensors[f"{LAYERS[0]}.lora_A.weight"][0, 0] = float("inf")
        adapter(tmp_path, tensors)
        with pytest.raises(Failure, match="not a finite number"):
            load(tmp_path)

    def test_pickled_weights_are_not_read(self, tmp_path: Path) -> None:
        self.tensors(tmp_path)
        (adapter(tmp_path, {}) / "adapter_model.bin").write_bytes(b"\x80\x04.")
        assert "save the adapter as safetensors" in refusal(tmp_path)


def test_a_folder_with_an_adapter_alone_names_the_base_that_it_needs(tmp_path: Path) -> None:
    adapter(tmp_path, {})
    from rewarden_models.loading import load as load_model

    with pytest.raises(Failure, match=r"set base to .*'acme/base'"):
        load_model("m", replace(settings(tmp_path), base=None))


def test_a_base_that_is_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    from tests.models.heads import PUBLISHED, save

    made = base(tmp_path)
    adapter(tmp_path, matrices(made, dict.fromkeys(LAYERS, RANK)))
    save(tmp_path / "base", PUBLISHED["UltraRM"])
    assert "whose head transformers has a class for" in refusal(tmp_path)
