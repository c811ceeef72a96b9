"""Checkpoints in safetensors, made without torch: a narrow Llama with a head for one reward."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rewarden_models.checkpoint import check
from rewarden_models.failure import Failure
from rewarden_models.folder import find

Shapes = Mapping[str, tuple[int, ...]]

CONFIG: Mapping[str, Any] = {
    "architectures": ["LlamaForSequenceClassification"],
    "model_type": "llama",
    "vocab_size": 16,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "id2label": {"0": "reward"},
    "label2id": {"reward": 0},
    "tie_word_embeddings": False,
}

LAYER: Shapes = {
    **{f"self_attn.{name}_proj.weight": (8, 8) for name in "qkvo"},
    **{f"mlp.{name}_proj.weight": (12, 8) for name in ("gate", "up")},
    "mlp.down_proj.weight": (8, 12),
    "input_layernorm.weight": (8,),
    "post_attention_layernorm.weight": (8,),
}

BODY: Shapes = {
    "model.embed_tokens.weight": (16, 8),
    **{f"model.layers.{place}.{name}": shape for place in (0, 1) for name, shape in LAYER.items()},
    "model.norm.weight": (8,),
}

REWARD: Shapes = {**BODY, "score.weight": (1, 8)}
"""The weights that `CONFIG` asks for."""


def write(file: Path, shapes: Shapes, dtype: str = "F32") -> None:
    """Write weights that are all zero."""
    header, end = {}, 0
    for name, shape in shapes.items():
        length = math.prod(shape) * {"F32": 4, "I8": 1, "F8_E4M3": 1}[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + length]}
        end += length
    written = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    file.write_bytes(len(written).to_bytes(8, "little") + written + bytes(end))


def make(folder: Path, shapes: Shapes = REWARD, **config: Any) -> Path:
    """A folder with these weights under `CONFIG` with such changes. Returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    write(folder / "model.safetensors", shapes)
    return folder


def shard(folder: Path, shards: Mapping[str, Shapes], index: Mapping[str, str] | None = None) -> None:
    """Replace the weights of a folder by shards; index: of the weights' names, where it is not that of the shards."""
    (folder / "model.safetensors").unlink()
    for name, shapes in shards.items():
        write(folder / name, shapes)
    right = {weight: name for name, shapes in shards.items() for weight in shapes}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index or right}))


def refusal(folder: Path) -> str:
    """Returns what is said of a folder that cannot be loaded."""
    with pytest.raises(Failure) as found:
        check(find(str(folder), None))
    assert found.value.kind == "loading"
    return found.value.message


def passes(folder: Path) -> bool:
    """Returns whether a folder is one that loads."""
    return bool(check(find(str(folder), None)).weights)
