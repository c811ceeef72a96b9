"""The check of a checkpoint before it is loaded: whether the model built from it would be the one it holds.

transformers builds the class that config.json names, drops weights that the class does not take, initialises missing
ones at random, and says so only in a log; and where a model's own code is not run, it builds a class of its own
instead. Either way the result is another model, whose numbers look like any other. Loading refuses such a checkpoint by
name, and so does `rewarden doctor`, by the same function: without torch as far as the files tell, with torch for every
weight.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from rewarden_models.failure import Failure
from rewarden_models.folder import Folder
from rewarden_models.heads import DescribedHead, describe
from rewarden_models.weights import Weight, read_weights, weights_in

Head = Literal["sequence", "token", "pair", "causal", "encoder"]
Pooling = Literal["mean", "cls", "last"]

_SUFFIXES: Mapping[Head, tuple[str, ...]] = {
    "sequence": ("ForSequenceClassification",),
    "token": ("ForTokenClassification",),
    "causal": ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForImageTextToText"),
    "encoder": ("Model", "ForMaskedLM", "Encoder", "ForPreTraining"),
}

_HEADS: Mapping[Head, frozenset[str]] = {
    "sequence": frozenset(
        {
            *("score", "classifier", "pre_classifier", "classification_head", "pooler", "dense", "head"),
            *("sequence_summary", "logits_proj"),
        }
    ),
    "token": frozenset({"score", "classifier", "head"}),
}
"""The names that the classes of transformers 5 give to what stands on top of the body."""

_SIBLINGS = (
    *("AutoModel", "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForPreTraining"),
    "AutoModelForImageTextToText",
)
"""The plain classes of a body. What they add to it (a pooler, or the head that predicts words in pretraining) affects
no output of the body's other classes. Many reward checkpoints still carry these weights; the number is the same without
them."""

_CODE = ("tokenization_internlm2.InternLM2Tokenizer", "tokenization_internlm2_fast.InternLM2TokenizerFast")
"""Tokenizers of described architectures that are published both as code and as a tokenizer.json."""

_POOLED: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}

WRAPPED = "pretrained_model."
"""The prefix of weight names in a model that TRL has wrapped."""

_FLOATS = ("BF16", "F16", "F32", "F64")

_NAMED = 4
"""The number of weights that a message names."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder that is about to be loaded. architecture: the class that its config.json names; weights: empty for a
    GGUF file, which names them its own way; pooling: how a vector is made, if a sentence-transformers folder says so;
    described: the head, if no transformers class has it."""

    folder: Folder
    config: Mapping[str, Any]
    architecture: str
    head: Head
    weights: Mapping[str, Weight]
    pooling: Pooling | None = None
    described: DescribedHead | None = None

    @property
    def prefix(self) -> str:
        """The prefix of the weight names if TRL wrapped the model, otherwise empty."""
        return WRAPPED if any(name.startswith(WRAPPED) for name in self.weights) else ""

    @property
    def where(self) -> str:
        """Its location, for messages."""
        return self.folder.where

    @property
    def sees(self) -> bool:
        """Returns whether it reads images."""
        return self.head in ("causal", "sequence") and "vision_config" in self.config and self.folder.gguf is None


def check(folder: Folder, head: str = "auto") -> Checkpoint:
    """The checkpoint, if it would load as the model that it is; otherwise raises Failure (`loading`). head: the
    setting.

    Reads the configuration and the headers of the weights. If torch and transformers are installed, the class is built
    without memory and compared with the weights by transformers' own rules; otherwise only the names of heads are
    compared.
    """
    try:
        return _checked(folder, head)
    except Failure:
        raise
    except Exception as error:  # noqa: BLE001  # a third party's checkpoint can break the libraries anywhere
        raise failure_of(folder, error) from None


def _checked(folder: Folder, setting: str) -> Checkpoint:
    config = folder.read("config.json")
    if folder.gguf is not None:
        if setting != "auto":
            raise Failure("loading", f"{folder.where}: the setting head = {setting!r} needs a safetensors checkpoint")
        with (folder.path / folder.gguf).open("rb") as file:
            if file.read(4) != b"GGUF":
                raise Failure("loading", f"{folder.path / folder.gguf}: is not a GGUF file; copy it again")
        return Checkpoint(folder, config, "", "causal", {}, _pooling(folder, "causal"))
    described = describe(config, setting, folder.where)
    # The code of a described architecture is not needed; that of its tokenizer would be.
    refuse_own_code(folder, config, tokenizer_alone=described is not None, known=_known(described))
    architecture, head = _architecture(folder, config, described)
    made = Checkpoint(folder, config, architecture, head, read_weights(folder), _pooling(folder, head), described)
    _refuse_elsewhere(made)
    _refuse_unscaled(made)
    if described is not None:
        _compare_described(made, described)
    if described is not None and described.body is not None:
        return made  # all of its weights have been checked by name
    if all(find_spec(package) is not None for package in ("torch", "transformers")):
        _compare(made)
    elif described is None and not made.sees:
        _compare_heads(made)
    return made


def _known(described: DescribedHead | None) -> Sequence[str]:
    return _CODE if described is not None and described.body is not None else ()


def failure_of(folder: Folder, error: Exception) -> Failure:
    """The failure for an exception that a library raised on a checkpoint."""
    if isinstance(error, ImportError):
        return Failure("loading", f"{folder.where}: {error}")
    said = " ".join(str(error).split())[:500]
    if "trust_remote_code" in said or "custom code" in said:
        said = "brings code of its own, which is not run; take a checkpoint of an architecture of transformers"
    return Failure("loading", f"{folder.where}: {type(error).__name__}: {said}")


def refuse_own_code(
    folder: Folder, config: Mapping[str, Any], *, tokenizer_alone: bool = False, known: Sequence[str] = ()
) -> None:
    """Raises Failure if a file maps a class to code that comes with the model (`auto_map`). That code is not run, and a
    transformers class of the same name would silently take its place. tokenizer_alone: only the tokenizer's code
    matters, as for a model that another engine runs. known: tokenizers whose code does no more than tokenizer.json
    says, provided that file is there."""
    parts = [config, *(part for part in config.values() if isinstance(part, dict))]
    found = [("config.json", part.get("auto_map")) for part in parts]
    names = ["tokenizer_config.json"]
    if "vision_config" in config:
        names += ["processor_config.json", "preprocessor_config.json"]
    found += [(name, folder.read(name).get("auto_map")) for name in names]
    for file, mapped in found:
        classes = mapped if isinstance(mapped, dict) else {"AutoTokenizer": mapped} if mapped else {}
        for auto, code in classes.items():
            concerned = auto == "AutoTokenizer" or not (tokenizer_alone or file == "tokenizer_config.json")
            given = [each for each in (code if isinstance(code, list) else [code]) if each]
            if auto == "AutoTokenizer" and given and {*given} <= {*known}:
                if (folder.path / "tokenizer.json").is_file():
                    continue
                raise Failure(
                    "loading",
                    f"{folder.where}: its tokenizer is code of its own ({given[0]}), which is not run, and there is no "
                    "tokenizer.json that says the same; where you trust that code, write one with it "
                    "(AutoTokenizer.from_pretrained(…, use_fast=True, trust_remote_code=True).save_pretrained)",
                )
            if concerned and given:
                raise Failure(
                    "loading",
                    f"{folder.where}: brings code of its own, which is not run: {file} maps {auto} to "
                    f"{given[0]} (`auto_map`). Take a checkpoint of an architecture that transformers has; if the "
                    "classes of transformers compute the same as that code, remove `auto_map` from the file",
                )


def _architecture(folder: Folder, config: Mapping[str, Any], described: DescribedHead | None) -> tuple[str, Head]:
    where = folder.where
    if not config:
        raise Failure("loading", f"{where}: has no config.json")
    names: Sequence[str] = config.get("architectures") or ()
    if not names:
        raise Failure("loading", f"{where}: its config.json does not name `architectures`")
    name = str(names[0])
    if config.get("is_encoder_decoder"):
        raise Failure("loading", f"{where}: {name} reads and writes with two models; that is not supported")
    if config.get("transformers_weights"):
        # That would not be the file that is checked here and hashed into the version.
        raise Failure("loading", f"{where}: its config.json names other weights (`transformers_weights`); remove that")
    if described is not None:
        return name, described.kind
    for head, suffixes in _SUFFIXES.items():
        if name.endswith(suffixes):
            return name, head
    raise Failure(
        "loading",
        f"{where}: what {name} computes is not known here; known are sequence and token classification, causal and "
        "image-text models, and plain encoders",
    )


def _pooling(folder: Folder, head: Head) -> Pooling | None:
    """The pooling set by the modules of a sentence-transformers folder. Raises Failure for an unsupported
    module."""
    modules = folder.path / "modules.json"
    if head not in ("encoder", "causal") or not modules.is_file():
        return None
    found: Pooling | None = None
    for module in json.loads(modules.read_text(encoding="utf-8")):
        whole, path = str(module.get("type", "")), str(module.get("path", ""))
        package, kind = whole.partition(".")[0], whole.rpartition(".")[2]
        if package == "sentence_transformers" and kind == "Pooling":
            modes = folder.read(f"{path}/config.json")
            named = [mode for mode, on in modes.items() if mode.startswith("pooling_mode_") and on is True]
            if len(named) != 1 or named[0] not in _POOLED:
                known = ", ".join(_POOLED)
                raise Failure("loading", f"{folder.source}: pools by {', '.join(named)}, not by one of {known}")
            found = _POOLED[named[0]]
        elif package != "sentence_transformers" or kind not in ("Transformer", "Normalize"):
            # A module of the folder's own code may have the name of a plain one.
            raise Failure("loading", f"{folder.source}: its vectors pass a module {whole}, which is not supported")
    return found


def _refuse_elsewhere(checkpoint: Checkpoint) -> None:
    """Raises Failure for weights in a file that nothing reads, such as a value head saved separately. Copies under the
    same names are allowed, and so is the original form of some checkpoints (consolidated.safetensors)."""
    folder = checkpoint.folder
    for file in sorted({*folder.path.glob("*.safetensors")} - {*folder.weights}):
        if not file.name.startswith("consolidated"):
            beside = sorted(set(weights_in(file)) - set(checkpoint.weights))
            if beside:
                raise Failure(
                    "loading",
                    f"{checkpoint.where}: {file.name} holds {_some(beside)}, which nothing reads; save the whole model "
                    "by the class that config.json names, or take the file away if it is of another model",
                )


_SCALES = ("_scale_inv", "_scale")
"""Suffixes that turn the name of an 8-bit weight into that of its scales: in transformers' own FP8, and elsewhere."""


def _refuse_unscaled(checkpoint: Checkpoint) -> None:
    """Raises Failure for weights that are stored as integers or in 8 bits and would be read as plain numbers, without
    their scales: a checkpoint that lost its `quantization_config` or its scales."""
    parts = (checkpoint.config, checkpoint.config.get("text_config") or {})
    method = any(part.get("quantization_config") for part in parts)
    kinds = ("F8",) if method else ("I", "U", "F8")
    found = [
        name
        for name, weight in checkpoint.weights.items()
        if weight.dtype.startswith(kinds) and len(weight.shape) > 1 and name.endswith(".weight")
    ]
    if not method and found:
        raise Failure(
            "loading",
            f"{checkpoint.where}: {_some(found)} are stored as integers or in 8 bits, and config.json has no "
            "`quantization_config` that says how to read them; take the checkpoint in floating point of 16 bits or "
            "more, or the config.json of these weights",
        )
    bare = [name for name in found if not any(name + scale in checkpoint.weights for scale in _SCALES)]
    if bare:
        raise Failure(
            "loading",
            f"{checkpoint.where}: {_some(bare)} are stored in 8 bits without their scales ({bare[0]}{_SCALES[0]}); "
            "copy the checkpoint again, or take it in floating point of 16 bits or more",
        )


def _compare_heads(checkpoint: Checkpoint) -> None:
    """Raises Failure for a head that no transformers class has, or for a missing one, judged by the first part of the
    weights' names. The most frequent first part is the body."""
    known = _HEADS.get(checkpoint.head)
    if known is None:
        return
    names = [name for name, weight in checkpoint.weights.items() if not _constant(name, weight)]
    tops = [name.partition(".")[0] for name in names]
    body = max(dict.fromkeys(tops), key=tops.count, default="")
    words = ("lm_head", "cls", "lm_predictions")  # pretraining heads, see _SIBLINGS
    strange = [name for name, top in zip(names, tops, strict=True) if top not in (body, *known, *words)]
    if strange:
        raise _unexpected(checkpoint, strange)
    if not known & {*tops} - {body}:
        raise _missing(checkpoint, ["score.weight or classifier.weight"])


def _compare_described(checkpoint: Checkpoint, head: DescribedHead) -> None:
    """Raises Failure if a described head's weights are missing or have another shape. A described body is checked as
    well; any other body is left to `_compare`, and without torch only its names are checked."""
    missing, wrong = [], []
    body = {} if head.body is None else head.body.shapes
    for name, needs in {**body, **head.shapes}.items():
        found = checkpoint.weights.get(name) or checkpoint.weights.get(checkpoint.prefix + name)
        if found is None:
            missing.append(name)
        elif found.dtype not in _FLOATS and not name.endswith(".num_batches_tracked"):
            # The raw numbers of a quantised head would be read as its weights.
            raise Failure(
                "loading",
                f"{checkpoint.where}: {name} is stored as {found.dtype}; take the checkpoint with its "
                f"{'weights' if name in body else 'head'} in floating point of 16 bits or more",
            )
        elif found.shape != needs:
            wrong.append(f"{name} ({list(found.shape)}, and the configuration asks for {list(needs)})")
    if missing or wrong:
        raise _missing(checkpoint, [*missing, *wrong])
    whole = f"{checkpoint.prefix}{head.inside}"
    strange = [
        name
        for name, weight in checkpoint.weights.items()
        if not (name in body if body else name.startswith(whole))
        and name.removeprefix(checkpoint.prefix) not in (*head.shapes, "lm_head.weight")
        and not _constant(name, weight)
    ]
    if strange:
        raise _unexpected(checkpoint, strange)


def _compare(checkpoint: Checkpoint) -> None:
    """Raises Failure if the class that config.json names would not take the weights as they are. The class is built on
    torch's meta device, without memory, and given their names and shapes."""
    import torch
    import transformers

    where, architecture = checkpoint.where, checkpoint.architecture
    described = checkpoint.described
    found: Any = getattr(transformers, architecture, None)
    if found is None and described is None:
        raise Failure(
            "loading",
            f"{where}: transformers {transformers.__version__} has no {architecture}, so that what it computes is not "
            "known here; take a checkpoint of an architecture that transformers has",
        )
    config = transformers.AutoConfig.from_pretrained(
        checkpoint.folder.path, trust_remote_code=False, local_files_only=True
    )
    if described is not None:
        found = transformers.MODEL_MAPPING[type(config)]
    if found.config_class is None or not isinstance(config, found.config_class):
        raise Failure(
            "loading",
            f"{where}: its config.json says model_type {config.model_type!r}, of which {architecture} is not a class; "
            "correct one of the two",
        )
    for part in (config, config.get_text_config()):
        quantised = getattr(part, "quantization_config", None)
        if quantised:
            # transformers would only warn, and read the raw numbers as weights.
            if not transformers.quantizers.AutoHfQuantizer.supports_quant_method(quantised):
                raise Failure(
                    "loading",
                    f"{where}: is quantised by {quantised.get('quant_method')!r}, which transformers does not know; "
                    "take the checkpoint in floating point",
                )
            return  # the quantiser names its weights: loading compares them
    model, told = found.from_pretrained(
        None,
        config=config,
        state_dict={
            name.removeprefix(checkpoint.prefix): torch.empty(weight.shape, device="meta")
            for name, weight in checkpoint.weights.items()
        },
        device_map={"": "meta"},
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # so that all are reported; they are refused
    )
    if described is not None:
        refuse_unfit(checkpoint, model, told)
        return
    expected = model.state_dict()
    inside = f"{model.base_model_prefix}."
    twice = [name for name in checkpoint.weights if inside + name in checkpoint.weights]
    twice = [name for name in twice if name not in expected or inside + name not in expected]
    if twice:
        raise Failure(
            "loading", f"{where}: has {_some(twice)} and the same under {inside[:-1]}, of which one would be lost"
        )
    refuse_unfit(checkpoint, model, told)


def refuse_unfit(checkpoint: Checkpoint, model: Any, told: Mapping[str, Any]) -> None:
    """Raises Failure for weights that transformers dropped, initialised at random or found with another shape when it
    built a checkpoint's model, as it reports in `told`; and for a model of another class than the checkpoint's."""
    built = type(model).__name__
    plain = checkpoint.folder.gguf is None and checkpoint.described is None
    if plain and checkpoint.head != "encoder" and built != checkpoint.architecture:
        raise Failure("loading", f"{checkpoint.where}: is of {checkpoint.architecture}, and would be loaded as {built}")
    missing = sorted(told.get("missing_keys") or ())
    if checkpoint.head == "encoder":
        body = f"{model.base_model_prefix}."
        if hasattr(model, model.base_model_prefix):  # the head is not used
            missing = [name for name in missing if name.startswith(body)]
        missing = [name for name in missing if "pooler." not in name]  # vectors are pooled here, not by it
    wrong = [
        f"{name} ({list(has)}, and the configuration asks for {list(needs)})"
        for name, has, needs in sorted(told.get("mismatched_keys") or ())
    ]
    if missing or wrong:
        raise _missing(checkpoint, [*missing, *wrong])
    if checkpoint.folder.gguf is None:  # from a GGUF file transformers takes only weights that it has a name for
        own = checkpoint.described.shapes if checkpoint.described is not None else {}
        names = [name for name in told.get("unexpected_keys") or () if name.removeprefix(checkpoint.prefix) not in own]
        extra = _without_spare(checkpoint, model, names)
        if extra:
            raise _unexpected(checkpoint, extra)


def _without_spare(checkpoint: Checkpoint, model: Any, names: Iterable[str]) -> list[str]:
    """The weights among `names` without which it would be another model. Constants are recomputed, and weights that
    only a sibling class uses change no output of this one."""
    buffers = {name for name, _ in model.named_buffers()}
    inside = f"{model.base_model_prefix}."
    left = sorted(
        name
        for name in names
        if not {name, inside + name, name.removeprefix(inside)} & buffers
        and not _constant(name, checkpoint.weights.get(name))
    )
    for sibling in _siblings(model) if left else ():
        shapes = {key: tuple(value.shape) for key, value in sibling.state_dict().items()}
        shapes |= {inside + key: shape for key, shape in shapes.items()}  # of the bare body
        left = [name for name in left if name not in shapes or _shape(checkpoint, name) not in (None, shapes[name])]
    return left


def _siblings(model: Any) -> Iterator[Any]:
    """The plain classes of the same configuration, built without memory."""
    import torch
    import transformers

    for name in _SIBLINGS:
        try:
            with torch.device("meta"):
                made = getattr(transformers, name).from_config(model.config, trust_remote_code=False)
        except Exception:  # noqa: BLE001  # no such class; an unfit weight is then refused
            continue
        yield made


def _shape(checkpoint: Checkpoint, name: str) -> tuple[int, ...] | None:
    weight = checkpoint.weights.get(name)
    return None if weight is None else weight.shape


_POSITIONS = re.compile(r"(?:^|\.)(?:position_ids|inv_freq)$")
_MASK = re.compile(r"\.(?:attn|attention)\.bias$")
_MASKED = re.compile(r"\.masked_bias$")


def _constant(name: str, weight: Weight | None) -> bool:
    """Returns whether this is not a weight but a constant that older versions of transformers saved: positions,
    frequencies, a causal mask or the number that fills it."""
    if weight is None:
        return False
    if _MASK.search(name) is not None:
        return len(weight.shape) == 4 and weight.shape[:2] == (1, 1)
    return _POSITIONS.search(name) is not None or (_MASKED.search(name) is not None and weight.shape in ((), (1,)))


def _missing(checkpoint: Checkpoint, names: Sequence[str]) -> Failure:
    return Failure(
        "loading",
        f"{checkpoint.where}: {len(names)} weights are missing or of another shape, among them {_some(names)}; they "
        "would be random. config.json must be that of the weights",
    )


def _unexpected(checkpoint: Checkpoint, names: Sequence[str]) -> Failure:
    return Failure(
        "loading",
        f"{checkpoint.where}: {len(names)} weights have no place in {checkpoint.architecture or 'the model'}, among "
        f"them {_some(names)}; without them it would be another model. config.json must be that of the weights: take "
        "a checkpoint of an architecture that transformers has, or let an engine serve it that runs its code",
    )


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
