"""The check before loading, where transformers is there: every weight is held to the class that would be built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.checkpoints import BODY, LAYER, REWARD, make, passes, refusal, write
from tests.models.real import packages_lacking

pytestmark = [pytest.mark.slow, pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))]


def test_a_layer_that_is_missing_or_too_many(tmp_path: Path) -> None:
    assert "model.layers.2.mlp.down_proj.weight" in refusal(make(tmp_path / "short", num_hidden_layers=3))
    more = {f"model.layers.2.{name}": shape for name, shape in LAYER.items()}
    said = refusal(make(tmp_path / "long", {**REWARD, **more}))
    assert "9 weights have no place" in said


def test_a_weight_of_another_shape_is_told_with_both(tmp_path: Path) -> None:
    said = refusal(make(tmp_path / "wide", {**REWARD, "score.weight": (3, 8)}))
    assert "score.weight ([3, 8], and the configuration asks for [1, 8])" in said


def test_a_bias_that_the_head_has_no_place_for(tmp_path: Path) -> None:
    assert "score.bias" in refusal(make(tmp_path / "biased", {**REWARD, "score.bias": (1,)}))


def test_a_head_of_words_that_is_none(tmp_path: Path) -> None:
    assert "lm_head.weight" in refusal(make(tmp_path / "narrow", {**REWARD, "lm_head.weight": (1, 8)}))


def test_a_mask_that_is_a_bias(tmp_path: Path) -> None:
    assert "attn.bias" in refusal(make(tmp_path / "biased", {**REWARD, "model.layers.0.attn.bias": (8,)}))


def test_a_second_head_beneath_the_body_is_not_taken_for_the_first(tmp_path: Path) -> None:
    said = refusal(make(tmp_path / "twice", {**REWARD, "model.score.weight": (1, 8)}))
    assert "score.weight and the same under model" in said


def test_a_head_of_rewards_over_a_model_that_writes(tmp_path: Path) -> None:
    writes = {**BODY, "lm_head.weight": (16, 8)}
    causal = {"architectures": ["LlamaForCausalLM"]}
    assert passes(make(tmp_path / "causal", writes, **causal))
    for name in ("score.weight", "v_head.summary.weight"):
        assert name in refusal(make(tmp_path / name, {**writes, name: (1, 8)}, **causal))


def test_embeddings_that_are_tied_are_saved_once(tmp_path: Path) -> None:
    tied = {"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True}
    assert passes(make(tmp_path / "once", BODY, **tied))
    assert "lm_head.weight" in refusal(make(tmp_path / "lost", BODY, **{**tied, "tie_word_embeddings": False}))


def test_a_class_of_its_own_is_not_taken_for_the_plain_one(tmp_path: Path) -> None:
    # transformers goes by model_type alone, and would load the plain class of Llama.
    name = "LlamaGatedForSequenceClassification"
    assert f"has no {name}" in refusal(make(tmp_path / "own", architectures=[name]))


def test_a_class_of_another_model_is_told(tmp_path: Path) -> None:
    said = refusal(make(tmp_path / "mixed", architectures=["Qwen2ForSequenceClassification"]))
    assert "model_type 'llama', of which Qwen2ForSequenceClassification is not a class" in said


def test_a_way_to_quantise_that_nobody_knows(tmp_path: Path) -> None:
    said = refusal(make(tmp_path / "packed", quantization_config={"quant_method": "own"}))
    assert "'own', which transformers does not know" in said


def test_what_pretraining_left_is_spare_in_an_encoder(tmp_path: Path) -> None:
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaForSequenceClassification, RobertaModel

    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = RobertaConfig(vocab_size=16, max_position_embeddings=20, **shape)
    body = {f"roberta.{name}": weight for name, weight in RobertaModel(config).state_dict().items()}
    words = RobertaForMaskedLM(config).state_dict()
    reward = RobertaForSequenceClassification(config).state_dict()
    for name, kind, weights in (
        ("reward", RobertaForSequenceClassification, {**body, **words, **reward}),
        ("words", RobertaForMaskedLM, words),
        ("vectors", RobertaModel, {**body, **words}),
    ):
        kind(config).save_pretrained(tmp_path / name)
        write(tmp_path / name / "model.safetensors", {key: tuple(each.shape) for key, each in weights.items()})
        assert passes(tmp_path / name), name
    gated = {key: tuple(each.shape) for key, each in {**body, **words, **reward}.items()}
    write(tmp_path / "reward" / "model.safetensors", {**gated, "roberta.gate.weight": (8, 8)})
    assert "roberta.gate.weight" in refusal(tmp_path / "reward")
