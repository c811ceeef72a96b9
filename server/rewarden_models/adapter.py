"""LoRA adapters in PEFT's format: read, checked against the model they adapt, and merged into its weights.

An adapter is merged once, at loading, so the model runs at the cost of its base. Only the plain form is supported: a
product of two matrices on linear layers, and at most the head that was trained with them. Every other form computes
something else and is refused, naming the setting; so is any setting that is not known here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewarden_models.checkpoint import Checkpoint, Head, refuse_own_code
from rewarden_models.endpoint import ModelEndpoint, is_local
from rewarden_models.failure import Failure
from rewarden_models.folder import Folder, adapter_folder, find, if_here
from rewarden_models.weights import Weight, weights_in

_FILE = "adapter_model.safetensors"
_ROOT = "base_model.model."
_KEY = re.compile(r"(?P<module>.+)\.lora_(?P<side>[AB])(?:\.default)?\.weight")
_HEADS = ("score", "classifier")
"""Names of heads that are trained along with an adapter (`modules_to_save`)."""

_TASKS: Mapping[str, tuple[Head, str]] = {
    "SEQ_CLS": ("sequence", "ForSequenceClassification"),
    "TOKEN_CLS": ("token", "ForTokenClassification"),
}
_BARE = ("ForCausalLM", "LMHeadModel")

_READ = (
    *("alpha_pattern", "base_model_name_or_path", "exclude_modules", "init_lora_weights", "layers_to_transform"),
    *("lora_alpha", "modules_to_save", "peft_type", "r", "rank_pattern", "target_modules", "task_type", "use_rslora"),
)
_IDLE = (
    *("auto_mapping", "corda_config", "eva_config", "fan_in_fan_out", "inference_mode", "layers_pattern"),
    *("loftq_config", "lora_dropout", "lora_ga_config", "megatron_config", "megatron_core", "peft_version"),
    *("qalora_group_size", "revision", "runtime_config", "ensure_weight_tying"),
)
"""Settings that do not change what a trained adapter on linear layers computes."""

_PLAIN_STARTS = (True, False, None, "gaussian", "orthogonal", "eva")
"""Initialisations that leave the base unchanged. PiSSA, OLoRA and others modify the base, and their files belong to the
modified one."""


_PARTS = ("exclude_modules", "layers_to_transform")
"""Settings that restrict an adapter to some of the layers in `target_modules`."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter's files. source: the name that callers may see; config: its adapter_config.json; weights: by their
    names in the file."""

    folder: Path
    source: str
    config: Mapping[str, Any]
    weights: Mapping[str, Weight]

    @property
    def file(self) -> Path:
        """The file with its weights."""
        return self.folder / _FILE

    @property
    def modules(self) -> list[str]:
        """The layers it changes."""
        return sorted({found["module"] for name in self.weights if (found := _KEY.fullmatch(_inner(name)))})

    @property
    def head(self) -> Mapping[str, str]:
        """The weights of the head it brings, mapped to their names in the file."""
        names = (name for name in self.weights if _KEY.fullmatch(_inner(name)) is None)
        return {re.sub(r"\.modules_to_save(?:\.default)?", "", _inner(name)): name for name in names}

    def refuse(self, said: str) -> Failure:
        """The failure that reports a problem with this adapter."""
        return Failure("loading", f"{self.folder}: {said}")

    def key(self, module: str, side: str) -> str:
        """The name in the file of one of a layer's two matrices. Raises Failure if it is missing."""
        for name in (f"{_ROOT}{module}.lora_{side}.weight", f"{_ROOT}{module}.lora_{side}.default.weight"):
            if name in self.weights:
                return name
        raise self.refuse(f"{_FILE} has no lora_{side} of {module}; copy it again")

    def rank(self, module: str) -> int:
        """The rank configured for a layer."""
        return int(self._of("rank_pattern", module, self.config.get("r")))

    def scale(self, module: str) -> float:
        """The factor that multiplies the product of a layer's matrices."""
        alpha = float(self._of("alpha_pattern", module, self.config.get("lora_alpha")))
        return alpha / (math.sqrt(self.rank(module)) if self.config.get("use_rslora") else self.rank(module))

    def _of(self, pattern: str, module: str, default: Any) -> Any:
        """The number for `module`: from `pattern` if a key matches, else `default`. Keys match the end of a layer's
        name. Any other expression is refused: a file from others must not give this process a regular expression to
        search with."""
        found = default
        for key, value in reversed(list((self.config.get(pattern) or {}).items())):
            if not re.fullmatch(r"\^?[\w.]+", key):
                raise self.refuse(f"{pattern} has the expression {key!r}; merge it with peft's merge_and_unload")
            bare = key.removeprefix("^")
            if module == bare or (bare == key and module.endswith(f".{bare}")):
                found = value
        if not isinstance(found, (int, float)) or isinstance(found, bool) or not 0 < found < math.inf:
            raise self.refuse(f"adapter_config.json states no {pattern.partition('_')[0]} for {module}")
        return found


def _inner(name: str) -> str:
    return name.removeprefix(_ROOT)


def locate(settings: ModelEndpoint) -> tuple[Folder, Adapter | None]:
    """The files of a configured model: its own, or those of `base` and of the adapter in `model`. Raises Failure
    (`loading`) as `find` does, and for an adapter of an unsupported form."""
    if settings.base is None:
        return find(settings.model, settings.revision), None
    adapter = _read(adapter_folder(settings.model, settings.revision), settings.model)
    return find(settings.base, None), adapter


def locate_here(settings: ModelEndpoint) -> tuple[Folder, Adapter | None] | None:
    """Like `locate`, but downloads nothing. Returns None if the files of a model on the hub are not all here."""
    model, base, revision = settings.model, settings.base, settings.revision
    if base is None:
        folder = if_here(model, lambda: find(model, revision, fetch=False))
        return None if folder is None else (folder, None)
    path = if_here(model, lambda: adapter_folder(model, revision, fetch=False))
    adapter = None if path is None else _read(path, model)
    folder = if_here(base, lambda: find(base, None, fetch=False))
    return None if folder is None or adapter is None else (folder, adapter)


def _read(path: Path, model: str) -> Adapter:
    config = Folder(path, (), path.name).read("adapter_config.json")
    source = path.resolve().name if is_local(model) or Path(model).is_dir() else model
    adapter = Adapter(path, source, config, weights_in(path / _FILE) if (path / _FILE).is_file() else {})
    if not config:
        raise adapter.refuse("has no adapter_config.json; with the setting base, model must be a LoRA adapter")
    if config.get("peft_type") != "LORA":
        raise adapter.refuse(f"is an adapter of type {config.get('peft_type')!r}; only LORA is read")
    merge = "merge the adapter into its model with peft's merge_and_unload, and give the merged folder as model"
    if config.get("bias", "none") != "none":
        raise adapter.refuse(f"trains biases (bias = {config['bias']!r}), which is not supported; {merge}")
    strange = [name for name, value in config.items() if value and name not in (*_READ, *_IDLE, "bias")]
    if strange:
        raise adapter.refuse(f"its adapter_config.json sets {', '.join(strange)}, which is not supported; {merge}")
    if config.get("init_lora_weights") not in _PLAIN_STARTS:
        start = config["init_lora_weights"]
        raise adapter.refuse(f"was begun by {start!r}, which changes the weights of the base as well; {merge}")
    if not adapter.weights:
        raise adapter.refuse(f"has no weights in {_FILE}; save the adapter as safetensors (save_pretrained)")
    other = [name for name in adapter.head if name.partition(".")[0] not in _HEADS]
    if other:
        raise adapter.refuse(f"{_FILE} holds {', '.join(other[:4])}, neither of a linear layer nor of a head; {merge}")
    if not adapter.modules:
        raise adapter.refuse(f"{_FILE} changes no layer")
    return adapter


def onto(adapter: Adapter, checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint that results from merging an adapter into a base, with the head that the adapter brings, if any.
    Raises Failure (`loading`) for an adapter whose layers or widths do not match this base."""
    if checkpoint.folder.gguf is not None or checkpoint.described is not None or checkpoint.sees:
        raise adapter.refuse(
            f"cannot be added to {checkpoint.where}: adapters are for safetensors checkpoints of text models whose "
            "head transformers has a class for; merge it with peft's merge_and_unload"
        )
    if checkpoint.config.get("quantization_config"):
        raise adapter.refuse(f"cannot be added to {checkpoint.where}, which is quantised; take it in floating point")
    wrong = []
    for module in adapter.modules:
        down, up = (adapter.weights[adapter.key(module, side)] for side in "AB")
        rank, base = adapter.rank(module), _held(checkpoint, module)
        if base is None:
            wrong.append(f"{module} (which the base does not have)")
        elif down.shape != (rank, base.shape[-1]) or up.shape != (base.shape[0], rank) or len(base.shape) != 2:
            wrong.append(f"{module} ({list(up.shape)} times {list(down.shape)} of rank {rank} on {list(base.shape)})")
    if wrong:
        raise adapter.refuse(
            f"does not fit {checkpoint.where}: {', '.join(wrong[:4])}; base must be the model that it was trained on"
        )
    _refuse_lost(adapter, checkpoint)
    return _headed(adapter, checkpoint)


def _held(checkpoint: Checkpoint, module: str) -> Weight | None:
    """The weight of a layer. In a bare body, layer names lack the prefix that they have below a head."""
    names = (module, module.removeprefix("model."), f"model.{module}")
    return next((found for name in names if (found := checkpoint.weights.get(f"{name}.weight"))), None)


def _refuse_lost(adapter: Adapter, checkpoint: Checkpoint) -> None:
    """Raises Failure for a layer that the adapter was trained on but has no weights for: it would stay as it is in the
    base."""
    targets = adapter.config.get("target_modules")
    if not isinstance(targets, list) or any(adapter.config.get(some) for some in _PARTS):
        return
    known = {name for module in adapter.modules for name in (module, module.removeprefix("model."), f"model.{module}")}
    named = [name.removesuffix(".weight") for name in checkpoint.weights if name.endswith(".weight")]
    lost = [
        name
        for name in named
        if any(name == target or name.endswith(f".{target}") for target in targets) and name not in known
    ]
    if lost:
        raise adapter.refuse(f"{_FILE} has no weights for {', '.join(lost[:4])}, which target_modules names")


def _headed(adapter: Adapter, checkpoint: Checkpoint) -> Checkpoint:
    task = adapter.config.get("task_type")
    head, suffix = _TASKS.get(str(task), (None, ""))
    if head is None:
        if adapter.head or (task == "CAUSAL_LM" and checkpoint.head != "causal"):
            raise adapter.refuse(f"is of task_type {task!r}, and {checkpoint.where} is of {checkpoint.architecture}")
        return checkpoint
    brought = {name: adapter.weights[stored] for name, stored in adapter.head.items()}
    if checkpoint.head == head:
        wrong = [name for name, weight in brought.items() if checkpoint.weights.get(name, weight).shape != weight.shape]
        if wrong or set(brought) - set(checkpoint.weights):
            raise adapter.refuse(f"its head ({', '.join(sorted(brought))}) is not that of {checkpoint.where}")
        return checkpoint
    if checkpoint.head != "causal" or not checkpoint.architecture.endswith(_BARE):
        raise adapter.refuse(f"is of task_type {task!r}, and {checkpoint.where} is of {checkpoint.architecture}")
    if "score.weight" not in brought:
        raise adapter.refuse(
            f"is of task_type {task!r}, and neither it nor {checkpoint.where} has a head (score.weight), which would "
            "be random; save the adapter with modules_to_save = ['score']"
        )
    family = next(checkpoint.architecture.removesuffix(end) for end in _BARE if checkpoint.architecture.endswith(end))
    return replace(
        checkpoint, architecture=f"{family}{suffix}", head=head, weights={**checkpoint.weights, **brought}, pooling=None
    )


def reads(adapter: Adapter | None, folder: Folder) -> Path:
    """The folder whose tokenizer reads texts: the adapter's if it has a tokenizer, with the template used in training.
    Raises Failure (`loading`) for a tokenizer that is code."""
    if adapter is None or not (adapter.folder / "tokenizer_config.json").is_file():
        return folder.path
    refuse_own_code(Folder(adapter.folder, (), adapter.source), {}, tokenizer_alone=True)
    return adapter.folder


def outputs(adapter: Adapter | None, checkpoint: Checkpoint) -> int | None:
    """The number of outputs of the head that an adapter brings to a causal base; None if the base has its own head."""
    if adapter is None or checkpoint.architecture in (checkpoint.config.get("architectures") or ()):
        return None
    return checkpoint.weights["score.weight"].shape[0]


def merge(adapter: Adapter, model: Any) -> None:
    """Merge an adapter into the weights of a loaded model, in float32, and put its head in place. Raises Failure
    (`loading`) for numbers that are not finite and for layers that are not plain linear layers."""
    import torch
    from safetensors import safe_open

    with safe_open(adapter.file, framework="pt") as opened, torch.no_grad():

        def read(name: str) -> Any:
            tensor = opened.get_tensor(name).float()
            if not bool(torch.isfinite(tensor).all()):
                raise adapter.refuse(f"{name} contains a value that is not a finite number; copy it again")
            return tensor

        embeddings = model.get_input_embeddings().weight
        for module in adapter.modules:
            layer = _layer(model, module)
            if type(layer) is not torch.nn.Linear:
                raise adapter.refuse(f"{module} is a {type(layer).__name__}; adapters are for plain linear layers")
            if layer.weight is embeddings:
                # Merging would also change the input embeddings.
                raise adapter.refuse(f"changes {module}, whose weights are also the embeddings; merge it with peft")
            added = read(adapter.key(module, "B")) @ read(adapter.key(module, "A")) * adapter.scale(module)
            layer.weight.copy_(layer.weight.float() + added.to(layer.weight.device))
        own = dict(model.named_parameters())
        for name, stored in adapter.head.items():
            if name not in own or own[name].shape != adapter.weights[stored].shape:
                raise adapter.refuse(f"its {name} has no place in {type(model).__name__}, or another shape there")
            own[name].copy_(read(stored))


def _layer(model: Any, module: str) -> Any:
    for root in (model, model.base_model):
        try:
            return root.get_submodule(module)
        except AttributeError:
            continue
    return None
