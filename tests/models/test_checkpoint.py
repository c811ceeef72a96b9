"""The check before loading: what a checkpoint's own files say of it, with torch and without."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewarden_models import checkpoint
from rewarden_models.checkpoint import check
from rewarden_models.failure import Failure
from rewarden_models.folder import find
from tests.models.checkpoints import BODY, REWARD, Shapes, make, passes, refusal, shard, write
from tests.models.real import packages_lacking

BY_CLASS = pytest.param(
    "classes",
    marks=(pytest.mark.slow, pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))),
)


REGRESSION: Shapes = {"regression_head.weight": (1, 8)}
"""The head of Eurus-RM and UltraRM."""


@pytest.fixture(autouse=True, params=["names", BY_CLASS])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The check as it is without torch, by names, and as it is with it, by the classes of transformers."""
    if request.param == "names":
        monkeypatch.setattr(checkpoint, "find_spec", lambda name: None)
    return str(request.param)


def edit(file: Path, **changes: Any) -> None:
    """Change fields of a JSON file, which need not be there."""
    told = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**told, **changes}))


def test_a_checkpoint_that_is_what_it_says_passes(tmp_path: Path) -> None:
    found = check(find(str(make(tmp_path / "honest")), None))
    assert (found.architecture, found.head) == ("LlamaForSequenceClassification", "sequence")
    assert found.weights["score.weight"].shape == (1, 8)


@pytest.mark.parametrize(
    "strange",
    [
        {"gating.0.weight": (8, 8), "gating.2.weight": (19, 8)},
        {"regression_layer.weight": (19, 8)},
        {"v_head.summary.weight": (1, 8), "v_head.summary.bias": (1,)},
        {"reward_transform_matrix": (19, 19)},
        {"second_score.weight": (1, 8)},
    ],
    ids=lambda shapes: next(iter(shapes)),
)
def test_a_head_that_the_class_has_no_place_for_is_refused_by_name(strange: Shapes, tmp_path: Path) -> None:
    # A gated mixture of rewards is another number than the plain head, and was loaded as one without a word.
    said = refusal(make(tmp_path / "gated", {**REWARD, **strange}))
    assert all(name in said for name in strange)
    assert "no place in LlamaForSequenceClassification" in said


def test_of_many_strange_weights_a_few_are_named_and_all_are_counted(tmp_path: Path) -> None:
    strange = {f"gating.{place}.weight": (8, 8) for place in range(9)}
    said = refusal(make(tmp_path / "gated", {**REWARD, **strange}))
    assert "9 weights" in said
    assert "gating.3.weight and 5 more" in said


def test_a_head_that_is_not_there_is_not_made_up(tmp_path: Path) -> None:
    said = refusal(make(tmp_path / "headless", BODY))
    assert "score.weight" in said
    assert "random" in said


@pytest.mark.parametrize(
    "spare",
    [
        {"lm_head.weight": (16, 8)},
        {"model.layers.0.self_attn.rotary_emb.inv_freq": (2,)},
        {"model.position_ids": (1, 64)},
        {"model.layers.0.attn.bias": (1, 1, 64, 64), "model.layers.0.attn.masked_bias": ()},
    ],
    ids=lambda shapes: next(iter(shapes)),
)
def test_what_changes_no_score_may_be_carried(spare: Shapes, tmp_path: Path) -> None:
    assert passes(make(tmp_path / "legacy", {**REWARD, **spare}))


class TestDescribed:
    """Architectures of which transformers has no class, and their heads a description here."""

    def test_its_own_code_is_not_missed(self, tmp_path: Path) -> None:
        own = {"AutoModel": "modeling_ultra_rm.LlamaRewardModel"}
        folder = make(tmp_path / "own", {**BODY, **REGRESSION}, architectures=["LlamaRewardModel"], auto_map=own)
        found = check(find(str(folder), None))
        assert (found.head, found.described is not None) == ("sequence", True)
        edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["own.Tokenizer", None]})
        assert "own.Tokenizer" in refusal(folder)

    @pytest.mark.parametrize(
        ("shapes", "said"),
        [
            (BODY, "regression_head.weight"),
            ({**BODY, "regression_head.weight": (2, 8)}, "[2, 8], and the configuration asks for [1, 8]"),
            ({**BODY, **REGRESSION, "regression_head.bias": (1,)}, "regression_head.bias"),
            ({**REWARD, **REGRESSION}, "score.weight"),
        ],
        ids=["missing", "shape", "more", "other"],
    )
    def test_a_head_that_is_not_the_described_one_is_refused_by_name(
        self, shapes: Shapes, said: str, tmp_path: Path
    ) -> None:
        assert said in refusal(make(tmp_path / "other", shapes, architectures=["LlamaRewardModel"]))

    def test_a_body_that_is_not_the_described_one(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "body", {**BODY, **REGRESSION}, architectures=["EurusRewardModel"])
        assert "says model_type 'llama', and EurusRewardModel is built on mistral" in refusal(folder)

    def test_a_layout_that_says_too_little_says_what_to_take_instead(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "other", architectures=None, ranker_type="pairranker")
        assert "take llm-blender/PairRM-hf" in refusal(folder)

    def test_a_quantised_head_is_not_read_as_bare_numbers(self, tmp_path: Path) -> None:
        quantised = {"quant_method": "bitsandbytes", "load_in_8bit": True}
        folder = make(tmp_path / "int8", architectures=["LlamaRewardModel"], quantization_config=quantised)
        write(folder / "model.safetensors", {**BODY, **REGRESSION}, dtype="I8")
        assert "regression_head.weight is stored as I8" in refusal(folder)

    def test_the_setting_is_not_passed_over_for_a_gguf_file(self, tmp_path: Path) -> None:
        file = tmp_path / "model.gguf"
        file.write_bytes(b"GGUF\x03\0\0\0")
        with pytest.raises(Failure, match="needs a safetensors checkpoint"):
            check(find(str(file), None), "value")

    def test_a_width_that_is_none_is_refused(self, tmp_path: Path) -> None:
        for wrong in ("8", 0, True, 1 << 40):
            folder = make(tmp_path / "width", architectures=["LlamaForRewardModelWithGating"], num_objectives=wrong)
            assert "num_objectives in config.json, a whole number" in refusal(folder)

    def test_the_setting_is_for_causal_models_alone(self, tmp_path: Path) -> None:
        with pytest.raises(Failure, match="is for causal models"):
            check(find(str(make(tmp_path / "reward")), None), "value")


class TestOwnCode:
    def test_code_that_is_not_run_is_named(self, tmp_path: Path) -> None:
        own = "modeling_custom.LlamaForRewardModelWithGating"
        said = refusal(make(tmp_path / "own", auto_map={"AutoModelForSequenceClassification": own}))
        assert f"maps AutoModelForSequenceClassification to {own}" in said
        assert "code of its own, which is not run" in said
        assert "remove `auto_map`" in said

    def test_a_map_of_nothing_is_none(self, tmp_path: Path) -> None:
        assert passes(make(tmp_path / "plain", auto_map={}))

    def test_a_part_of_the_configuration_may_have_it(self, tmp_path: Path) -> None:
        part = {"model_type": "llama", "auto_map": {"AutoConfig": "configuration_own.OwnConfig"}}
        assert "configuration_own.OwnConfig" in refusal(make(tmp_path / "own", text_config=part))

    @pytest.mark.parametrize("mapped", [["own.Tokenizer", None], [None, "own.Tokenizer"], "own.Tokenizer"], ids=str)
    def test_a_tokenizer_that_is_not_run_reads_other_tokens(self, mapped: Any, tmp_path: Path) -> None:
        folder = make(tmp_path / "own")
        edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": mapped})
        assert "tokenizer_config.json maps AutoTokenizer to own.Tokenizer" in refusal(folder)

    def test_a_processor_of_images_does_not_concern_a_model_of_text(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "text")
        edit(folder / "tokenizer_config.json", auto_map={"AutoProcessor": "own.Processor"})
        edit(folder / "preprocessor_config.json", auto_map={"AutoImageProcessor": "own.Processor"})
        assert passes(folder)
        edit(folder / "config.json", vision_config={})
        assert "preprocessor_config.json maps AutoImageProcessor" in refusal(folder)

    def test_a_module_of_vectors_that_only_bears_a_plain_name(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "vectors", architectures=["LlamaModel"])
        write(folder / "model.safetensors", {name.removeprefix("model."): shape for name, shape in BODY.items()})
        plain = {"type": "sentence_transformers.models.Transformer", "path": ""}
        (folder / "modules.json").write_text(json.dumps([plain]))
        assert passes(folder)
        (folder / "modules.json").write_text(json.dumps([{**plain, "type": "custom_st.Transformer"}]))
        assert "custom_st.Transformer" in refusal(folder)

    def test_other_weights_than_those_that_are_read_are_not_named(self, tmp_path: Path) -> None:
        assert "transformers_weights" in refusal(make(tmp_path / "other", transformers_weights="other.safetensors"))


class TestFiles:
    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: data[:-1],
            lambda data: data[:5],
            lambda data: data + b"more",
            lambda data: (1 << 62).to_bytes(8, "little") + data[8:],
            lambda data: data.replace(b'"shape": [16, 8]', b'"shape": [16, 9]'),
            lambda data: data.replace(b'"score.weight"', b'"model.norm.weight"').replace(b"[0, ", b"[0,", 5),
            lambda data: data[:8] + b"[" * 100 + data[108:],
        ],
        ids=["cut", "stub", "longer", "endless", "shape", "twice", "nested"],
    )
    def test_damaged_weights_are_told_by_their_file(self, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
        file = make(tmp_path / "damaged") / "model.safetensors"
        file.write_bytes(damage(file.read_bytes()))
        said = refusal(file.parent)
        assert str(file) in said
        assert "copy it again" in said

    def test_shards_are_read_as_one(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "sharded")
        shard(folder, {"a.safetensors": BODY, "b.safetensors": {"score.weight": (1, 8)}})
        assert passes(folder)

    def test_a_weight_that_its_shard_lacks_is_named(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "sharded")
        index = dict.fromkeys(BODY, "a.safetensors") | {"score.weight": "b.safetensors"}
        shard(folder, {"a.safetensors": BODY, "b.safetensors": {"other.weight": (1, 8)}}, index)
        assert "score.weight in b.safetensors" in refusal(folder)

    def test_a_weight_of_two_shards_is_none_that_can_be_known(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "sharded")
        index = dict.fromkeys(BODY, "a.safetensors") | {"score.weight": "b.safetensors"}
        shard(folder, {"a.safetensors": REWARD, "b.safetensors": {"score.weight": (1, 8)}}, index)
        assert "score.weight" in refusal(folder)

    def test_a_head_that_was_saved_apart_is_not_left_out(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "apart")
        write(folder / "consolidated.safetensors", {"output.weight": (16, 8)})  # the same model in another form
        write(folder / "copy.safetensors", BODY)
        assert passes(folder)
        write(folder / "value_head.safetensors", {"v_head.summary.weight": (1, 8)})
        said = refusal(folder)
        assert "value_head.safetensors holds v_head.summary.weight" in said

    def test_integers_are_no_weights_without_their_scales(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "integers")
        write(folder / "model.safetensors", REWARD, dtype="I8")
        assert "stored as integers" in refusal(folder)

    def test_weights_of_8_bits_are_none_without_their_scales(self, tmp_path: Path) -> None:
        """Cast to more bits they load, and are another model's."""
        folder = make(tmp_path / "eight")
        write(folder / "model.safetensors", REWARD, dtype="F8_E4M3")
        assert "in 8 bits, and config.json has no `quantization_config`" in refusal(folder)
        told = make(tmp_path / "told", quantization_config={"quant_method": "fp8"})
        write(told / "model.safetensors", REWARD, dtype="F8_E4M3")
        assert "in 8 bits without their scales" in refusal(told)

    def test_a_gguf_file_is_one_by_its_first_bytes(self, tmp_path: Path) -> None:
        file = tmp_path / "model.gguf"
        file.write_bytes(b"GGUF\x03\0\0\0")
        assert check(find(str(file), None)).head == "causal"
        file.write_bytes(b"PK\x03\x04")
        assert "is not a GGUF file" in refusal(file)
