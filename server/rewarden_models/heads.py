"""Descriptions of heads that transformers has no class for: their weights and layers, where they read, their output.

A description is data that this module checks; the checkpoint's own code is never run. It is found by the name of the
architecture in config.json, or by the setting `head` for heads that config.json does not mention. The weights that a
description requires follow from the configuration alone, so a checkpoint can be checked without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden_models.config_fields import ConfigFields
from rewarden_models.failure import Failure
from rewarden_models.packed_body import PackedBody, packed_body

Shapes = Mapping[str, tuple[int, ...]]
Combine = Literal["value", "gated", "weighted", "pair"]

_DECODERS = ("gemma", "gemma2", "gemma3_text", "llama", "mistral", "phi3", "qwen2", "qwen3")
"""Model types whose plain body can carry a value head."""

_TURN = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
"""The text between the prompt and the judged turn in Llama 3's chat template."""


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear layer: the name of its weights, its input and output width, and whether it has a bias."""

    name: str
    before: int
    behind: int
    bias: bool = True

    @property
    def shapes(self) -> Shapes:
        """The shapes of its weights."""
        bias = {f"{self.name}.bias": (self.behind,)} if self.bias else {}
        return {f"{self.name}.weight": (self.behind, self.before), **bias}


@dataclass(frozen=True, slots=True)
class Norm:
    """Batch normalisation with stored statistics."""

    name: str
    size: int

    @property
    def shapes(self) -> Shapes:
        """The shapes of its weights."""
        names = ("weight", "bias", "running_mean", "running_var")
        return {**{f"{self.name}.{name}": (self.size,) for name in names}, f"{self.name}.num_batches_tracked": ()}


Layer = Dense | Norm | Literal["relu", "selu", "tanh"]
Stack = tuple[Layer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedHead:
    """A head over the hidden states of a body.

    name: of the description. kind: `sequence`: one output for a text; `token`: outputs at each step's mark; `pair`: one
    output for two texts after a prompt. value: the layers over the state that is read. labels: of its outputs. ends:
    where a sequence head reads: at the last token, or at the last one that is not the configuration's padding token.
    combine: `value`: the outputs of `value` as they are; `gated`: `value` gives objectives, each the mean of
    `quantiles` outputs; they are mixed by `transform` and added up with the weights of `other`, read where `turn`
    begins, after a softmax at `temperature`, times `scale`; `weighted`: `value` gives pairs of a mean and a spread, and
    the means are added up with the weights that `other` gives for the same state; `pair`: `value` rates each of the two
    texts by the states at the prompt's mark and at its own, concatenated, and the output is the mean of the
    differences. row: the row of the language model's own head that is the reward. ending: the token appended to the
    text, at which the head reads. marks: the tokens before the prompt and before the two texts of a pair, with their
    ids. context: the length in tokens that the head was trained to read, if the body itself has no limit. inside: the
    prefix of the body's weight names. body: its description, if transformers has no class for it.
    """

    name: str
    kind: Literal["sequence", "token", "pair"]
    value: Stack
    labels: tuple[str, ...] = ("reward",)
    ends: Literal["last", "unpadded"] = "unpadded"
    combine: Combine = "value"
    other: Stack = ()
    transform: str = ""
    scale: str = ""
    temperature: float = 1.0
    quantiles: int = 1
    turn: str = ""
    row: int | None = None
    ending: int | None = None
    marks: tuple[tuple[str, int], ...] = ()
    context: int | None = None
    inside: str = "model."
    body: PackedBody | None = None
    extra: Shapes = field(default_factory=dict)

    @property
    def together(self) -> int:
        """The number of states from which one output is computed."""
        return {"gated": 2, "pair": 3}.get(self.combine, 1)

    @property
    def shapes(self) -> Shapes:
        """The names and shapes of all weights that the head needs."""
        found = dict(self.extra)
        for layer in (*self.value, *self.other):
            if not isinstance(layer, str):
                found |= layer.shapes
        return found


def describe(config: Mapping[str, Any], setting: str, where: str) -> DescribedHead | None:
    """The head of a checkpoint; None if a transformers class has it.

    Raises Failure (`loading`) for a layout that is known to describe too little, for a body that does not belong to the
    head, and for widths that config.json does not state as whole numbers.
    """
    names = config.get("architectures") or ()
    name = str(names[0]) if names else ""
    if setting != "auto":
        if name not in _CAUSAL:
            raise Failure("loading", f"{where}: the setting head = {setting!r} is for causal models, not for {name}")
        return _SETTINGS[setting](ConfigFields(config, where, ""), setting)
    if not name and config.get("ranker_type") == "pairranker":
        raise Failure(
            "loading",
            f"{where}: is in LLM-Blender's layout, whose config.json does not describe the model; take "
            "llm-blender/PairRM-hf, which is the same model, or its config.json and tokenizer next to these weights",
        )
    if name not in _ARCHITECTURES:
        return None
    bodies, made = _ARCHITECTURES[name]
    if config.get("model_type") not in bodies:
        raise Failure(
            "loading",
            f"{where}: its config.json says model_type {config.get('model_type')!r}, and {name} is built on "
            f"{' or '.join(bodies)}; correct one of the two",
        )
    return made(ConfigFields(config, where, name), name)


def turn_at(turn: Sequence[int], ids: Sequence[int]) -> int | None:
    """The place where these tokens last begin; None if they do not occur."""
    wanted, size = list(turn), len(turn)
    places = range(len(ids) - size, -1, -1)
    return next((first for first in places if list(ids[first : first + size]) == wanted), None)


def _mlp(fields: ConfigFields, outputs: int) -> Stack:
    hidden = fields.hidden
    return (Dense("score.0", hidden, hidden), "relu", Dense("score.2", hidden, outputs))


def _qwen_steps(fields: ConfigFields, name: str) -> DescribedHead:
    labels = fields.labels(("bad", "good"))
    return DescribedHead(name=name, kind="token", value=_mlp(fields, 2), labels=labels)


def _qwen_reward(fields: ConfigFields, name: str) -> DescribedHead:
    return DescribedHead(name=name, kind="sequence", value=_mlp(fields, 1), labels=fields.labels(("reward",)))


def _regression(fields: ConfigFields, name: str) -> DescribedHead:
    value = (Dense("regression_head", fields.hidden, 1, bias=False),)
    return DescribedHead(name=name, kind="sequence", value=value, ends="last")


def _summary(fields: ConfigFields) -> Stack:
    return (Dense("v_head.summary", fields.hidden, 1),)


def _value_steps(fields: ConfigFields, name: str) -> DescribedHead:
    return DescribedHead(name=name, kind="token", value=_summary(fields))


def _value(fields: ConfigFields, name: str) -> DescribedHead:
    return DescribedHead(name=name, kind="sequence", value=_summary(fields), ends="last")


def _grm(fields: ConfigFields, name: str) -> DescribedHead:
    kind = fields.config.get("vhead_layer_type", "mlp")
    if kind == "linear":
        return _value(fields, name)
    if kind != "mlp":
        raise Failure("loading", f"{fields.where}: vhead_layer_type {kind!r} is unknown; known: linear, mlp")
    before, width = fields.hidden, fields.whole("vhead_num_neurons", 1024)
    value: list[Layer] = []
    count = fields.whole("vhead_num_layers", 1)
    for place in range(min(count, 16)):
        value += [Dense(f"v_head.summary.{2 * place}", before, width), "relu"]
        before = width
    value.append(Dense(f"v_head.summary.{2 * count}", width, 1))
    return DescribedHead(name=name, kind="sequence", value=tuple(value), ends="last")


def _gated(fields: ConfigFields, name: str) -> DescribedHead:
    """The head of ArmoRM; with `num_quantiles`, that of QRM, whose gate is normalised and has no biases."""
    hidden, objectives = fields.hidden, fields.whole("num_objectives", 19)
    quantiles = fields.whole("num_quantiles") if "num_quantiles" in fields.config else 1
    normalised = "num_quantiles" in fields.config
    before, width = hidden, fields.whole("gating_hidden_dim", 1024)
    gate: list[Layer] = []
    place = 0
    for _ in range(min(fields.whole("gating_n_hidden", 3), 16)):
        gate += [Dense(f"gating.layers.{place}", before, width, bias=not normalised), "relu"]
        if normalised:
            gate.append(Norm(f"gating.layers.{place + 2}", width))
        place += 3 if normalised else 1
        before = width
    gate.append(Dense(f"gating.layers.{place}", before, objectives))
    return DescribedHead(
        name=name,
        kind="sequence",
        value=(Dense("regression_layer", hidden, objectives * quantiles, bias=False),),
        combine="gated",
        other=tuple(gate),
        transform="reward_transform_matrix",
        scale="gating.logit_scale",
        temperature=fields.number("gating_temperature", 10),
        quantiles=quantiles,
        turn=_TURN,
        extra={"reward_transform_matrix": (objectives, objectives), "gating.logit_scale": (1,)},
    )


def _urm(fields: ConfigFields, name: str) -> DescribedHead:
    told = fields.config.get("id2label")
    outputs = len(told) if isinstance(told, Mapping) else fields.whole("num_labels", 10)
    if outputs < 2 or outputs % 2:
        raise Failure("loading", f"{fields.where}: {name} has a mean and a spread a label, and not {outputs} outputs")
    hidden = fields.hidden
    weights: Stack = (
        *(Dense("weights.fc.0", hidden, hidden), "selu"),
        *(Dense("weights.fc.2", hidden, hidden), "selu"),
        Dense("weights.fc.4", hidden, outputs // 2),
    )
    value = (Dense("score", hidden, outputs, bias=False),)
    return DescribedHead(name=name, kind="sequence", value=value, combine="weighted", other=weights)


def _internlm2(fields: ConfigFields, name: str) -> DescribedHead:
    value = (Dense("v_head", fields.hidden, 1, bias=False),)
    body, ending = packed_body(fields), fields.whole("reward_token_id")
    if ending >= body.vocabulary:
        raise Failure(
            "loading",
            f"{fields.where}: reward_token_id {ending} is not among the tokens of a vocabulary of {body.vocabulary}",
        )
    return DescribedHead(name=name, kind="sequence", value=value, ends="last", ending=ending, body=body)


def _pair(fields: ConfigFields, name: str) -> DescribedHead:
    """PairRM's head. Its body has relative positions and no limit of its own; 2048 tokens is the published input
    length."""
    hidden = fields.hidden
    keys = {"<|source|>": "source_prefix_id", "<|candidate1|>": "cand1_prefix_id", "<|candidate2|>": "cand2_prefix_id"}
    return DescribedHead(
        name=name,
        kind="pair",
        value=(
            *(Dense("head_layer.1", 2 * hidden, hidden), "tanh"),
            Dense("head_layer.4", hidden, fields.whole("n_tasks", 1)),
        ),
        labels=(),
        combine="pair",
        marks=tuple((mark, fields.whole(key)) for mark, key in keys.items()),
        context=None if fields.config.get("position_biased_input", True) else 2048,
        inside="",
    )


def _logit(fields: ConfigFields, name: str) -> DescribedHead:
    """The logit of token 0 after the text, as NVIDIA's Nemotron reward models are read."""
    if fields.config.get("final_logit_softcapping") or fields.config.get("logit_scale"):
        raise Failure("loading", f"{fields.where}: head = 'logit' cannot be read from a model that scales its logits")
    if fields.config.get("tie_word_embeddings"):
        # If the reward's row were also a token's embedding, it would change what the body reads.
        raise Failure("loading", f"{fields.where}: head = 'logit' needs an lm_head of its own; this model's is tied")
    extra = {"lm_head.weight": (fields.whole("vocab_size"), fields.hidden)}
    return DescribedHead(name=name, kind="sequence", value=(), ends="last", row=0, extra=extra)


Make = Callable[[ConfigFields, str], DescribedHead]

_ARCHITECTURES: Mapping[str, tuple[tuple[str, ...], Make]] = {
    "Qwen2ForProcessRewardModel": (("qwen2",), _qwen_steps),
    "Qwen2ForRewardModel": (("qwen2",), _qwen_reward),
    "INFORMForSequenceClassification": (("llama",), _qwen_reward),
    "Qwen2ForPrmModel": (("qwen2",), _value_steps),
    "EurusRewardModel": (("mistral",), _regression),
    "LlamaRewardModel": (("llama",), _regression),
    "UltraRM": (("llama",), _regression),
    "GRewardModel": (_DECODERS, _grm),
    "LlamaForRewardModelWithGating": (("llama",), _gated),
    "LlamaForSequenceClassificationWithNormal_Weights": (("llama",), _urm),
    "InternLM2ForRewardModel": (("internlm2",), _internlm2),
    "DebertaV2PairRM": (("deberta-v2",), _pair),
}

_SETTINGS: Mapping[str, Make] = {"value": _value, "step_value": _value_steps, "logit": _logit}

_CAUSAL = frozenset(
    f"{family}ForCausalLM" for family in ("Gemma", "Gemma2", "Gemma3", "Llama", "Mistral", "Phi3", "Qwen2", "Qwen3")
)

NAMES = tuple(_ARCHITECTURES)
"""The architectures that are loaded by a description."""
