"""Checkpoints of tiny random bodies under published heads, and what those heads compute, in NumPy.

The modules that define these heads are published with their weights. The formulas are written from those definitions,
independently of `rewarden_models.described_model`, over the hidden states of transformers' own body.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.models import tiny

HIDDEN = 48
Arrays = Mapping[str, Any]

LLAMA_3 = {
    "eot": "<|eot_id|>",
    "start": "<|start_header_id|>",
    "end": "<|end_header_id|>",
}
TEMPLATE = (
    "{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
    "{{ message['content'] }}<|eot_id|>{% endfor %}"
)


@dataclass(frozen=True, slots=True)
class Published:
    """A published head. family: of the body; shapes: of its weights; formula: its outputs from the states [T, H] of a
    text, its tokens, the weights and the place of the assistant's turn; config: what config.json says besides."""

    architecture: str
    family: str
    kind: str
    shapes: Mapping[str, tuple[int, ...]]
    formula: Callable[[Any, Arrays, int], Any]
    config: Mapping[str, Any] = field(default_factory=dict)
    head: Literal["auto", "value", "step_value", "logit"] = "auto"
    labels: tuple[str, ...] = ("reward",)
    prefix: str = ""


def relu(values: Any) -> Any:
    """The positive part."""
    return values * (values > 0)


def selu(values: Any) -> Any:
    """As Klambauer et al. define it."""
    import numpy as np

    return 1.0507009873554805 * np.where(values > 0, values, 1.6732632423543772 * (np.exp(np.minimum(values, 0)) - 1))


def softmax(values: Any) -> Any:
    """Of one row."""
    import numpy as np

    raised = np.exp(values - values.max())
    return raised / raised.sum()


def mlp(states: Any, w: Arrays) -> Any:
    """Linear, ReLU, linear."""
    return relu(states @ w["score.0.weight"].T + w["score.0.bias"]) @ w["score.2.weight"].T + w["score.2.bias"]


def grm(states: Any, w: Arrays, turn: int) -> Any:
    """GRM's value head: linear, ReLU, linear, under the name `v_head.summary`."""
    inner = relu(states @ w["v_head.summary.0.weight"].T + w["v_head.summary.0.bias"])
    return (inner @ w["v_head.summary.2.weight"].T + w["v_head.summary.2.bias"])[-1]


def armorm(states: Any, w: Arrays, turn: int) -> Any:
    """ArmoRM: objectives of the last state, mixed, times a gate of the state where the assistant's turn begins."""
    gate = states[turn]
    for place in range(2):
        gate = relu(w[f"gating.layers.{place}.weight"] @ gate + w[f"gating.layers.{place}.bias"])
    gate = softmax((w["gating.layers.2.weight"] @ gate + w["gating.layers.2.bias"]) / 5.0) * w["gating.logit_scale"][0]
    return [(gate * (w["regression_layer.weight"] @ states[-1] @ w["reward_transform_matrix"])).sum()]


def qrm(states: Any, w: Arrays, turn: int) -> Any:
    """QRM: each objective is the mean of its quantiles; the gate has batch normalisation behind each ReLU."""
    import numpy as np

    gate = states[turn]
    for place in (0, 3):
        gate = relu(w[f"gating.layers.{place}.weight"] @ gate)
        n = f"gating.layers.{place + 2}"
        gate = (gate - w[f"{n}.running_mean"]) / np.sqrt(w[f"{n}.running_var"] + 1e-5) * w[f"{n}.weight"]
        gate = gate + w[f"{n}.bias"]
    gate = softmax((w["gating.layers.6.weight"] @ gate + w["gating.layers.6.bias"]) / 10.0) * w["gating.logit_scale"][0]
    quantiles = (w["regression_layer.weight"] @ states[-1]).reshape(4, 3)
    return [(gate * (quantiles.mean(1) @ w["reward_transform_matrix"])).sum()]


def urm(states: Any, w: Arrays, turn: int) -> Any:
    """URM: the means of the pairs of mean and spread, weighted by a network of the same state."""
    weights = states[-1]
    for place in (0, 2):
        weights = selu(w[f"weights.fc.{place}.weight"] @ weights + w[f"weights.fc.{place}.bias"])
    weights = w["weights.fc.4.weight"] @ weights + w["weights.fc.4.bias"]
    return [((w["score.weight"] @ states[-1])[::2] * weights).sum()]


def layer(name: str, behind: int, before: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a linear layer with a bias."""
    return {f"{name}.weight": (behind, before), f"{name}.bias": (behind,)}


def norm(name: str, size: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a batch normalisation."""
    return {f"{name}.{part}": (size,) for part in ("weight", "bias", "running_mean", "running_var")} | {
        f"{name}.num_batches_tracked": ()
    }


VALUE = layer("v_head.summary", 1, HIDDEN)
GATE = {"reward_transform_matrix": (4, 4), "gating.logit_scale": (1,)}


def value(states: Any, w: Arrays, turn: int) -> Any:
    """TRL's value head, at each token."""
    return states @ w["v_head.summary.weight"].T + w["v_head.summary.bias"]


def eurus(states: Any, w: Arrays, turn: int) -> Any:
    """A linear head without bias at the last token."""
    return w["regression_head.weight"] @ states[-1]


PUBLISHED: Mapping[str, Published] = {
    "Qwen2.5-Math-PRM": Published(
        "Qwen2ForProcessRewardModel",
        "Qwen2",
        "token",
        {**layer("score.0", HIDDEN, HIDDEN), **layer("score.2", 2, HIDDEN)},
        lambda states, w, turn: mlp(states, w),
        {"auto_map": {"AutoModel": "modeling_qwen2_rm.Qwen2ForProcessRewardModel"}},
        labels=("bad", "good"),
    ),
    "Qwen2.5-Math-RM": Published(
        "Qwen2ForRewardModel",
        "Qwen2",
        "sequence",
        {**layer("score.0", HIDDEN, HIDDEN), **layer("score.2", 1, HIDDEN)},
        lambda states, w, turn: mlp(states, w)[-1],
    ),
    "INF-ORM": Published(
        "INFORMForSequenceClassification",
        "Llama",
        "sequence",
        {**layer("score.0", HIDDEN, HIDDEN), **layer("score.2", 1, HIDDEN)},
        lambda states, w, turn: mlp(states, w)[-1],
    ),
    "Skywork-o1-PRM": Published("Qwen2ForPrmModel", "Qwen2", "token", VALUE, value),
    "TRL": Published(
        *("LlamaForCausalLM", "Llama", "sequence", VALUE, lambda states, w, turn: value(states, w, turn)[-1]),
        head="value",
        prefix="pretrained_model.",
    ),
    "TRL-steps": Published("Qwen3ForCausalLM", "Qwen3", "token", VALUE, value, head="step_value"),
    "Eurus-RM": Published("EurusRewardModel", "Mistral", "sequence", {"regression_head.weight": (1, HIDDEN)}, eurus),
    "UltraRM": Published("LlamaRewardModel", "Llama", "sequence", {"regression_head.weight": (1, HIDDEN)}, eurus),
    "GRM": Published(
        "GRewardModel",
        "Gemma2",
        "sequence",
        {**layer("v_head.summary.0", 32, HIDDEN), **layer("v_head.summary.2", 1, 32)},
        grm,
        {"vhead_layer_type": "mlp", "vhead_num_neurons": 32, "vhead_num_layers": 1},
    ),
    "ArmoRM": Published(
        "LlamaForRewardModelWithGating",
        "Llama",
        "sequence",
        {
            **GATE,
            "regression_layer.weight": (4, HIDDEN),
            **layer("gating.layers.0", 16, HIDDEN),
            **layer("gating.layers.1", 16, 16),
            **layer("gating.layers.2", 4, 16),
        },
        armorm,
        {"num_objectives": 4, "gating_hidden_dim": 16, "gating_n_hidden": 2, "gating_temperature": 5},
    ),
    "QRM": Published(
        "LlamaForRewardModelWithGating",
        "Llama",
        "sequence",
        {
            **GATE,
            "regression_layer.weight": (12, HIDDEN),
            "gating.layers.0.weight": (16, HIDDEN),
            **norm("gating.layers.2", 16),
            "gating.layers.3.weight": (16, 16),
            **norm("gating.layers.5", 16),
            **layer("gating.layers.6", 4, 16),
        },
        qrm,
        {"num_objectives": 4, "num_quantiles": 3, "gating_hidden_dim": 16, "gating_n_hidden": 2},
    ),
    "URM": Published(
        "LlamaForSequenceClassificationWithNormal_Weights",
        "Llama",
        "sequence",
        {
            "score.weight": (6, HIDDEN),
            **layer("weights.fc.0", HIDDEN, HIDDEN),
            **layer("weights.fc.2", HIDDEN, HIDDEN),
            **layer("weights.fc.4", 3, HIDDEN),
        },
        urm,
        {"id2label": {str(place): f"LABEL_{place}" for place in range(6)}},
    ),
    "Nemotron": Published(
        "LlamaForCausalLM",
        "Llama",
        "sequence",
        {"lm_head.weight": (267, HIDDEN)},
        lambda states, w, turn: w["lm_head.weight"][:1] @ states[-1],
        head="logit",
    ),
}


def tokenizer() -> Any:
    """One token a byte, with the marks and the template of Llama 3."""
    made = tiny.tokenizer(**LLAMA_3)
    made.chat_template = TEMPLATE
    return made


def body(family: str) -> Any:
    """A body of two layers, the same each time."""
    import torch
    import transformers

    size = {**tiny._SIZE, "vocab_size": 267, "max_position_embeddings": 512, "tie_word_embeddings": False}
    more = {"head_dim": 12} if family in ("Qwen3", "Gemma2") else {}
    config = getattr(transformers, f"{family}Config")(**size, **more)
    torch.manual_seed(0)
    return getattr(transformers, f"{family}Model")(config).eval()


def weights(shapes: Mapping[str, tuple[int, ...]], seed: int = 1) -> dict[str, Any]:
    """Random weights, with positive variances."""
    import torch

    torch.manual_seed(seed)
    made: dict[str, Any] = {}
    for name, shape in shapes.items():
        made[name] = torch.randn(shape) * 0.3
        if name.endswith("running_var"):
            made[name] = made[name].abs() + 0.5
        if name.endswith("tracked"):
            made[name] = torch.tensor(7)
    return made


def save(folder: Path, published: Published, **changes: Any) -> tuple[Any, dict[str, Any]]:
    """Write a checkpoint of it; changes: of config.json. Returns the body and the head's weights."""
    from safetensors.torch import save_file

    made, head = body(published.family), weights(published.shapes)
    folder.mkdir(parents=True, exist_ok=True)
    config = {**made.config.to_dict(), "architectures": [published.architecture], **published.config, **changes}
    config.pop("torch_dtype", None)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {f"{published.prefix}model.{name}": tensor for name, tensor in made.state_dict().items()}
    save_file({**tensors, **head}, folder / "model.safetensors", {"format": "pt"})
    tokenizer().save_pretrained(folder)
    return made, head


def loaded(folder: Path, published: Published, **more: Any) -> Any:
    """The checkpoint as the process loads it."""
    from rewarden_models.endpoint import ModelEndpoint
    from rewarden_models.loading import load

    return load("head", ModelEndpoint(model=str(folder), device="cpu", threads=1, head=published.head, **more))


def states(made: Any, ids: Sequence[int]) -> Any:
    """The hidden states of one text alone, by transformers."""
    import torch

    with torch.inference_mode():
        return made(input_ids=torch.tensor([list(ids)])).last_hidden_state[0].double().numpy()
