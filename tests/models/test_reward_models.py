"""Published reward models by the name of their architecture: each loads, or is refused with what a user can do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomllib

from rewarden.errors import InvalidParams
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_verifiers.inference import Facts, Logits
from rewarden_verifiers.models.outputs import place_of
from tests.models import internlm2, pairrm
from tests.models.heads import PUBLISHED, Published, body, loaded, save, tokenizer
from tests.models.real import packages_lacking

pytestmark = pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))

if packages_lacking() is None:
    from rewarden_models.loading import load

DESCRIBED = {
    "Qwen2.5-Math-PRM": "rate",
    "Qwen2.5-Math-RM": "classify",
    "Skywork-o1-PRM": "rate",
    "GRM": "classify",
    "UltraRM": "classify",
    "URM": "classify",
    "ArmoRM": "classify",
    "QRM": "classify",
    "INF-ORM": "classify",
    "Eurus-RM": "classify",
    "Nemotron": "classify",
}
"""By model, the task that it can do."""

PLAIN = {
    "FsfairX": ("LlamaForSequenceClassification", "classify"),
    "Skywork-Reward (Llama)": ("LlamaForSequenceClassification", "classify"),
    "Skywork-Reward (Gemma)": ("Gemma2ForSequenceClassification", "classify"),
    "Skywork-Reward (Qwen3)": ("Qwen3ForSequenceClassification", "classify"),
    "GRM, fine-tuned": ("LlamaForSequenceClassification", "classify"),
    "EurusPRM": ("Qwen2ForCausalLM", "likelihood"),
    "EurusPRM's reference": ("LlamaForCausalLM", "likelihood"),
}
"""Models of which transformers has the class."""

REFUSED = {
    "PairRM on another body": ({"architectures": ["DebertaV2PairRM"], "model_type": "bert"}, "is built on deberta-v2"),
    "PairRM in the layout of LLM-Blender": ({"architectures": None, "ranker_type": "pairranker"}, "PairRM-hf"),
    "a Nemotron saved as a classifier without its head": (
        {"architectures": ["LlamaForSequenceClassification"], "model_type": "llama"},
        "score.weight",
    ),
    "an architecture of a later release": (
        {"architectures": ["LlamaForGuessingRewards"], "model_type": "llama"},
        "what LlamaForGuessingRewards computes is not known here",
    ),
    "ArmoRM on another body": (
        {"architectures": ["LlamaForRewardModelWithGating"], "model_type": "qwen2"},
        "is built on llama",
    ),
}
"""By model, its config.json and what the refusal says."""


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_model_with_a_head_of_its_own_loads_by_its_architecture(name: str, tmp_path: Path) -> None:
    published = PUBLISHED[name]
    save(tmp_path, published)
    model = loaded(tmp_path, published)
    assert model.kinds == (DESCRIBED[name],)
    assert model.about.details["architecture"] == published.architecture


@pytest.mark.parametrize(
    ("save", "architecture", "kind"),
    [
        pytest.param(internlm2.save, "InternLM2ForRewardModel", "classify", id="internlm2-reward"),
        pytest.param(pairrm.save, "DebertaV2PairRM", "pair", id="PairRM"),
    ],
)
def test_a_model_of_another_body_or_task_loads_by_its_architecture(
    save: Callable[[Path], Any], architecture: str, kind: str, tmp_path: Path
) -> None:
    save(tmp_path)
    model = load("other", ModelEndpoint(model=str(tmp_path), device="cpu", threads=1))
    assert model.kinds == (kind,)
    assert model.about.details["architecture"] == architecture


@pytest.mark.parametrize("name", DESCRIBED)
def test_such_a_model_with_a_weight_too_many_or_too_few_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    published = PUBLISHED[name]
    save(tmp_path, published)
    tensors = load_file(tmp_path / "model.safetensors")
    lost = next(iter(published.shapes))
    for changed, said in (
        ({**tensors, "second_head.weight": tensors["model.norm.weight"].clone()}, "second_head.weight"),
        ({key: tensor for key, tensor in tensors.items() if key != lost}, lost),
    ):
        save_file(changed, tmp_path / "model.safetensors", {"format": "pt"})
        with pytest.raises(Failure) as found:
            loaded(tmp_path, published)
        assert (found.value.kind, said in found.value.message) == ("loading", True)


@pytest.mark.parametrize("name", PLAIN)
def test_a_model_of_a_class_of_transformers_loads(name: str, tmp_path: Path) -> None:
    import torch
    import transformers

    architecture, kind = PLAIN[name]
    config: Any = body(architecture.partition("For")[0]).config
    config.num_labels = 1
    torch.manual_seed(3)
    getattr(transformers, architecture)(config).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    assert kind in loaded(tmp_path, PUBLISHED["Eurus-RM"]).kinds


@pytest.mark.parametrize("labels", [("bad", "good"), None])
def test_a_plain_classifier_of_two_labels_loads_and_the_label_that_counts_is_asked_for(
    labels: tuple[str, ...] | None, tmp_path: Path
) -> None:
    """One of two logits is no reward by itself: whichever was taken, half of such models would be turned round."""
    import torch
    import transformers

    config: Any = body("Llama").config
    config.num_labels = 2
    if labels is not None:
        config.id2label = dict(enumerate(labels))
    torch.manual_seed(3)
    transformers.LlamaForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    model = loaded(tmp_path, PUBLISHED["Eurus-RM"])
    assert (model.kinds, model.labels) == (("classify",), labels or ("LABEL_0", "LABEL_1"))
    facts = Facts(model="main", version="1", tokens=1)
    logits = Logits(values=[-1.0, 2.0], labels=model.labels, multi=False, facts=facts)
    with pytest.raises(InvalidParams, match="name one of several outputs"):
        place_of(logits, None, "params.output")
    assert place_of(logits, labels[1] if labels else 1, "params.output") == 1


@pytest.mark.parametrize("name", ["reward", "prm", "embed"])
def test_the_configuration_pages_own_example_loads(name: str, tmp_path: Path) -> None:
    """With tiny weights of its models' architectures, and with its settings of the model, as far as a CPU has them."""
    import transformers

    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    examples = [part.split("```")[0] for part in page.split("```toml\n")[1:]]
    named = next(tomllib.loads(one)["models"]["named"] for one in examples if "[models.named.prm]" in one)
    assert {"reward", "prm", "embed"} == {key for key, told in named.items() if "backend" not in told}
    source, kind = {
        "reward": ("/srv/models/skywork-reward-8b", "classify"),
        "prm": ("Qwen/Qwen2.5-Math-PRM-7B", "rate"),
        "embed": ("sentence-transformers/all-MiniLM-L6-v2", "embed"),
    }[name]
    told = dict(named[name])
    assert told.pop("model") == source
    if name == "prm":
        save(tmp_path, PUBLISHED["Qwen2.5-Math-PRM"])
    else:
        made = body("Llama").config
        if name == "embed":
            bert = transformers.BertConfig(vocab_size=267, hidden_size=48, num_hidden_layers=1, num_attention_heads=2)
            transformers.BertModel(bert).save_pretrained(tmp_path)
        else:
            made.num_labels = 1
            transformers.LlamaForSequenceClassification(made).save_pretrained(tmp_path)
        tokenizer().save_pretrained(tmp_path)
    settings = ModelEndpoint(**{**told, "model": str(tmp_path), "revision": None, "device": "cpu", "threads": 1})
    model = load(name, settings)
    assert model.kinds == (kind,)
    assert model.context <= settings.context if settings.context else model.context


@pytest.mark.parametrize("name", REFUSED)
def test_another_model_is_refused_with_what_can_be_done(name: str, tmp_path: Path) -> None:
    told, said = REFUSED[name]
    headless = Published("LlamaForCausalLM", "Llama", "sequence", {}, lambda *_: None)
    save(tmp_path, headless)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **told}))
    with pytest.raises(Failure) as found:
        loaded(tmp_path, headless)
    assert found.value.kind == "loading"
    assert str(tmp_path) in found.value.message
    assert said in found.value.message
