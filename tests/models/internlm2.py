"""Tiny random checkpoints of internlm2-reward, and what that model computes, in NumPy.

The module that defines it is published beside its weights. The formula is written from that definition: it multiplies
by the packed matrix as it is and takes heads of the product, where `rewarden_models.packed_body` takes rows of weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.models import tiny
from tests.models.heads import softmax

CONFIG: Mapping[str, Any] = {
    "architectures": ["InternLM2ForRewardModel"],
    "model_type": "internlm2",
    "auto_map": {"AutoModel": "modeling_internlm2.InternLM2ForRewardModel"},
    "vocab_size": 272,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_act": "silu",
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1000000,
    "rope_scaling": {"type": "dynamic", "factor": 2.0},
    "bias": False,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "pad_token_id": 257,
    "reward_token_id": 258,
}
CODE = {"AutoTokenizer": ["tokenization_internlm2.InternLM2Tokenizer", "tokenization_internlm2.InternLM2Tokenizer"]}


def weights(config: Mapping[str, Any]) -> dict[str, Any]:
    """Random weights by the names of a checkpoint."""
    import torch

    torch.manual_seed(5)
    hidden, inner, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
    packed = (heads + 2 * config["num_key_value_heads"]) * (hidden // heads)
    made = {"model.tok_embeddings.weight": torch.randn(config["vocab_size"], hidden)}
    for at in range(config["num_hidden_layers"]):
        layer = f"model.layers.{at}"
        for name, shape in {
            "attention.wqkv": (packed, hidden),
            "attention.wo": (hidden, hidden),
            "feed_forward.w1": (inner, hidden),
            "feed_forward.w3": (inner, hidden),
            "feed_forward.w2": (hidden, inner),
        }.items():
            made[f"{layer}.{name}.weight"] = torch.randn(*shape) * 0.2
            if config["bias"] and name.startswith("attention"):
                made[f"{layer}.{name}.bias"] = torch.randn(shape[0]) * 0.2
        for name in ("attention_norm", "ffn_norm"):
            made[f"{layer}.{name}.weight"] = 1 + torch.randn(hidden) * 0.2
    made["model.norm.weight"] = 1 + torch.randn(hidden) * 0.2
    made["v_head.weight"] = torch.randn(1, hidden)
    return made


def save(folder: Path, **changes: Any) -> dict[str, Any]:
    """Write a checkpoint; changes: of config.json. Returns its weights."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    config = {**CONFIG, **changes}
    (folder / "config.json").write_text(json.dumps(config))
    made = weights(config)
    save_file(made, folder / "model.safetensors", {"format": "pt"})
    tiny.tokenizer(reward="<|reward|>").save_pretrained(folder)
    told = json.loads((folder / "tokenizer_config.json").read_text())
    told |= {"tokenizer_class": "InternLM2Tokenizer", "auto_map": CODE}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    return made


def reward(tensors: Mapping[str, Any], config: Mapping[str, Any], ids: Sequence[int]) -> float:
    """The reward of a text's tokens, in 64 bits."""
    import numpy as np

    w = {name: tensor.double().numpy() for name, tensor in tensors.items()}
    heads, keys = config["num_attention_heads"], config["num_key_value_heads"]
    wide, count = config["hidden_size"] // heads, len(ids)
    states = w["model.tok_embeddings.weight"][list(ids)]
    angles = np.arange(count)[:, None] / config["rope_theta"] ** (np.arange(0, wide, 2) / wide)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]

    def norm(values: Any, name: str) -> Any:
        size = (values**2).mean(-1, keepdims=True) + config["rms_norm_eps"]
        return values / np.sqrt(size) * w[f"{name}.weight"]

    def linear(values: Any, name: str) -> Any:
        return values @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0.0)

    def turned(values: Any) -> Any:
        one, other = values[..., : wide // 2], values[..., wide // 2 :]
        return np.concatenate([one * cos - other * sin, other * cos + one * sin], -1)

    for at in range(config["num_hidden_layers"]):
        layer = f"model.layers.{at}"
        packed = linear(norm(states, f"{layer}.attention_norm"), f"{layer}.attention.wqkv")
        groups = packed.reshape(count, keys, heads // keys + 2, wide)
        read = np.zeros((count, heads, wide))
        for head in range(heads):
            group, place = divmod(head, heads // keys)
            query = turned(groups[:, group, None, place])[:, 0]
            key = turned(groups[:, group, None, -2])[:, 0]
            for token in range(count):
                shares = softmax(key[: token + 1] @ query[token] / np.sqrt(wide))
                read[token, head] = shares @ groups[: token + 1, group, -1]
        states = states + linear(read.reshape(count, -1), f"{layer}.attention.wo")
        inner = norm(states, f"{layer}.ffn_norm")
        gate = linear(inner, f"{layer}.feed_forward.w1")
        gate = gate / (1 + np.exp(-gate)) * linear(inner, f"{layer}.feed_forward.w3")
        states = states + linear(gate, f"{layer}.feed_forward.w2")
    return float(w["v_head.weight"][0] @ norm(states[-1], "model.norm"))
