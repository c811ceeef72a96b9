"""From a configured name to a model that can run: weights, tokenizer and capabilities.

Code that comes with a model is never run (`trust_remote_code` is off), and weights are never unpickled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewarden_models.adapter import Adapter, locate, merge, onto, outputs, reads
from rewarden_models.checkpoint import Checkpoint, Head, Pooling, check, failure_of, refuse_unfit
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.folder import Folder
from rewarden_models.heads import DescribedHead
from rewarden_models.model_version import files_of, software, version_of
from rewarden_models.rendering import Reader
from rewarden_verifiers.inference import About

KINDS: Mapping[Head, tuple[str, ...]] = {
    "sequence": ("classify",),
    "token": ("rate",),
    "pair": ("pair",),
    "causal": ("choose", "likelihood", "rate", "write", "embed"),
    "encoder": ("embed",),
}
"""The kinds of task that a model can do, by its head."""

_AUTO: Mapping[Head, str] = {
    "sequence": "AutoModelForSequenceClassification",
    "token": "AutoModelForTokenClassification",
    "causal": "AutoModelForCausalLM",
    "encoder": "AutoModel",
}

_OF_CLASS = ("dtype", "attn_implementation", "device_map", "output_loading_info")
"""The loading options that do not concern files."""

_UNSAID = 4096
"""The context, in tokens, of a model that states none."""


@dataclass(slots=True, eq=False)
class Loaded:
    """A model that can run.

    model: in evaluation mode, on its device. tokenizer: from transformers; reader: wraps it for `rendering`. processor:
    of a vision model. head: what stands on top of the body. labels: a head's, as the model names them; multi: they do
    not exclude each other. context: the most tokens it reads. pad: the token that fills rows up. types: it tells the
    two texts of a pair apart. pooling: how a vector is made from the last layer's states. embeddings: the number of
    tokens that the model has, which may be fewer than its tokenizer's; None: unknown. architecture: of a described
    head; empty: the name of the model's class. turn: the tokens of the turn at which a gated head is read. ending: the
    token appended to a text, at which a described head is read. marks: the tokens before the prompt and before the two
    texts of a pair.
    """

    name: str
    model: Any
    tokenizer: Any
    reader: Reader
    head: Head
    processor: Any = None
    labels: tuple[str, ...] = ()
    multi: bool = False
    context: int = _UNSAID
    pad: int = 0
    types: bool = False
    pooling: Pooling = "mean"
    embeddings: int | None = None
    version: str = ""
    dtype: str = "float32"
    device: str = "cpu"
    source: str = ""
    architecture: str = ""
    turn: tuple[int, ...] = ()
    ending: int | None = None
    marks: tuple[tuple[str, int], ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of task that it can do."""
        return KINDS[self.head]

    @property
    def about(self) -> About:
        """The facts that callers may know."""
        return About(
            model=self.name,
            version=self.version,
            kinds=self.kinds,
            context=self.context,
            labels=self.labels,
            dtype=self.dtype,
            device=self.device,
            source=self.source,
            details={
                "architecture": self.architecture or type(self.model).__name__,
                "pooling": self.pooling,
                "sees": bool(self.processor),
            },
        )


def load(name: str, settings: ModelEndpoint) -> Loaded:
    """The model that a configuration calls `name`. Takes seconds to minutes, and blocks.

    Raises Failure, which names the location and the fix: `loading` if the model does not exist or `checkpoint.check`
    refuses it, `memory` if it does not fit on the device.
    """
    folder, adapter = locate(settings)
    try:
        return _load(name, settings, folder, adapter)
    except Failure:
        raise
    except Exception as error:  # noqa: BLE001  # a third party's checkpoint can break the library anywhere
        import torch

        if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
            raise Failure("memory", f"{folder.where}: does not fit {settings.device}; choose a smaller dtype") from None
        raise failure_of(folder, error) from None


def _load(name: str, settings: ModelEndpoint, folder: Folder, adapter: Adapter | None) -> Loaded:
    import torch
    import transformers
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    device = _device(settings.device)
    dtype = settings.dtype if settings.dtype != "auto" else "bfloat16" if device.type == "cuda" else "float32"
    checkpoint = check(folder, settings.head)
    if adapter is not None:
        checkpoint = onto(adapter, checkpoint)
    words = reads(adapter, folder)
    head, sees = checkpoint.head, checkpoint.sees
    common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    if folder.gguf:
        common["gguf_file"] = folder.gguf
    processor: Any = transformers.AutoProcessor.from_pretrained(folder.path, **common) if sees else None
    # A processor's tokenizer knows the image placeholders, which the folder's own may lack.
    described = checkpoint.described
    # A body that transformers has no class for needs no tokenizer class either: tokenizer.json says it all.
    plain = described is not None and described.body is not None
    words_of = transformers.PreTrainedTokenizerFast if plain else transformers.AutoTokenizer
    tokenizer = processor.tokenizer if sees else words_of.from_pretrained(words, **common)
    options: dict[str, Any] = {**common, "dtype": getattr(torch, dtype), "output_loading_info": True}
    if not folder.gguf:
        options["use_safetensors"] = True
    if settings.attention != "auto":
        options["attn_implementation"] = settings.attention
    if device.type == "cuda":
        options["device_map"] = {"": str(device)}  # weights go there directly and are never in memory twice
    if described is None:
        auto = getattr(transformers, "AutoModelForImageTextToText" if sees and head == "causal" else _AUTO[head])
        brought = outputs(adapter, checkpoint)
        sized = {} if brought is None else {"num_labels": brought}
        model, told = auto.from_pretrained(folder.path, **options, **sized)
        if adapter is not None and brought is not None:
            told = {**told, "missing_keys": set(told["missing_keys"]) - set(adapter.head)}
        refuse_unfit(checkpoint, model, told)
        if adapter is not None:
            merge(adapter, model)
    else:
        model = _described(checkpoint, described, tokenizer, options)
    model.to(device)
    model.eval()
    model.requires_grad_(False)
    if settings.compile:
        model.base_model.compile(dynamic=True)  # heads run separately, see `forward`
    pooling = checkpoint.pooling or settings.pooling or ("last" if head == "causal" else "mean")
    embeddings = _embeddings(model)
    pad = _pad(tokenizer, model.config, embeddings)
    context = _context(folder, model, tokenizer, settings.context)
    if described and described.context:
        context = min(described.context, settings.context or described.context)
    version = version_of(
        folder.path,
        files_of(folder.path, folder.weights),
        *(dtype, settings.revision or "", pooling, head, described.name if described else ""),
        *(str(context), settings.attention, str(settings.compile)),
        software("torch", "transformers", "tokenizers"),
    )
    if adapter is not None:
        version = version_of(adapter.folder, files_of(adapter.folder, [adapter.file]), version)
    marks = _marks(described, tokenizer, folder.where) if described else []
    headed = head in ("sequence", "token")
    labels: Mapping[int, str] = dict(enumerate(described.labels)) if described else _labels(model) if headed else {}
    return Loaded(
        name=name,
        model=model,
        tokenizer=tokenizer,
        reader=Reader(tokenizer, processor, embeddings, marks),
        head=head,
        processor=processor,
        labels=tuple(str(labels[place]) for place in sorted(labels)),
        multi=headed
        and described is None
        and getattr(model.config, "problem_type", None) == "multi_label_classification",
        context=context,
        pad=pad,
        types=head != "causal"
        and "token_type_ids" in tokenizer.model_input_names
        and getattr(model.config, "type_vocab_size", 0) > 1,
        pooling=pooling,
        embeddings=embeddings,
        version=version,
        dtype=dtype,
        device=str(device),
        source=folder.source if adapter is None else adapter.source,
        architecture=checkpoint.architecture if described else "",
        turn=tuple(model.turn) if described else (),
        ending=described.ending if described else None,
        marks=described.marks if described else (),
    )


def _described(checkpoint: Checkpoint, head: DescribedHead, tokenizer: Any, options: Mapping[str, Any]) -> Any:
    """A body under a described head."""
    import transformers

    from rewarden_models.described_model import DescribedModel, head_weights, tensors_of, turn_of

    turn = turn_of(head, tokenizer, checkpoint.where)
    weights = head_weights(head, checkpoint.folder.weights, checkpoint.where, checkpoint.prefix)
    if head.body is not None:
        config, tensors = (
            head.body.configuration(),
            head.body.unpacked(tensors_of(checkpoint.folder.weights).__getitem__),
        )
        kept = {key: options[key] for key in options if key in _OF_CLASS}
        body, told = transformers.LlamaModel.from_pretrained(None, config=config, state_dict=tensors, **kept)
    else:
        renamed = {"key_mapping": {f"^{re.escape(checkpoint.prefix)}": ""}} if checkpoint.prefix else {}
        body, told = transformers.AutoModel.from_pretrained(checkpoint.folder.path, **options, **renamed)
    refuse_unfit(checkpoint, body, told)
    return DescribedModel(body, head, weights, turn)


def _marks(head: DescribedHead, tokenizer: Any, where: str) -> list[str]:
    """The texts of the tokens at which a head is read. Raises Failure if the tokenizer gives them other ids."""
    for mark, number in head.marks:
        found = tokenizer.convert_tokens_to_ids(mark)
        if found != number:
            raise Failure("loading", f"{where}: the tokenizer reads {mark} as {found}, and config.json has {number}")
    ending = [] if head.ending is None else [str(tokenizer.convert_ids_to_tokens(head.ending))]
    return [*ending, *(mark for mark, _ in head.marks)]


def _labels(model: Any) -> Mapping[int, str]:
    return getattr(model.config, "id2label", None) or {}


def _device(name: str) -> Any:
    import torch

    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise Failure("loading", f"unknown device {name!r}; use auto, cpu, cuda or cuda:N") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise Failure("loading", f"device {name!r} does not exist: torch sees {torch.cuda.device_count()} GPUs")
    return device


def _embeddings(model: Any) -> int | None:
    try:
        return getattr(model.get_input_embeddings(), "num_embeddings", None)
    except NotImplementedError:  # an architecture that does not say which module they are
        return None


def _pad(tokenizer: Any, config: Any, embeddings: int | None) -> int:
    """The token that fills rows up. It must be one that the model has: it is read, though its output is not used."""
    text = config.get_text_config()
    for pad in (tokenizer.pad_token_id, getattr(text, "pad_token_id", None), tokenizer.eos_token_id):
        if isinstance(pad, int) and pad >= 0 and (embeddings is None or pad < embeddings):
            break
    else:
        pad = 0
    if tokenizer.pad_token is None and tokenizer.eos_token is not None:
        tokenizer.pad_token = tokenizer.eos_token
    return int(pad)


def _context(folder: Folder, model: Any, tokenizer: Any, setting: int | None) -> int:
    """The smallest limit among the configuration, the tokenizer, a sentence-transformers folder and the setting."""
    text = model.config.get_text_config()
    limits = [getattr(text, key, None) for key in ("max_position_embeddings", "n_positions", "max_seq_len")]
    embeddings = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    padding = getattr(embeddings, "padding_idx", None)
    if padding is not None and limits[0]:
        limits[0] -= padding + 1  # RoBERTa counts positions from after its padding index
    limits += [tokenizer.model_max_length, folder.read("sentence_bert_config.json").get("max_seq_length"), setting]
    known = [limit for limit in limits if isinstance(limit, int) and 0 < limit < 10**9]
    return min(known, default=_UNSAID)
