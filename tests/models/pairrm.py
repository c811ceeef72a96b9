"""Tiny random checkpoints of PairRM in the form of llm-blender/PairRM-hf, and what its head computes, in NumPy.

The formula is written from the published definition, independently of `rewarden_models.described_model`, over the
hidden states of transformers' own DeBERTa.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.models import tiny

HIDDEN = 48
MARKS = ("<|source|>", "<|candidate1|>", "<|candidate2|>")
IDS = {"source_prefix_id": 258, "cand1_prefix_id": 259, "cand2_prefix_id": 260, "cand_prefix_id": 261}
SIZE: Mapping[str, Any] = {
    "vocab_size": 262,
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.3,
    "relative_attention": True,
    "position_buckets": 16,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "max_relative_positions": -1,
    "position_biased_input": False,
    "max_position_embeddings": 64,
    "type_vocab_size": 0,
    "layer_norm_eps": 1e-7,
    "pad_token_id": 257,
}


def tokenizer() -> Any:
    """One token a byte, of texts in the form NFKC; each text between `<s>` and `</s>`; PairRM's marks, which are no
    special tokens there, and are looked for in that form."""
    from tokenizers.normalizers import NFKC
    from tokenizers.processors import TemplateProcessing

    made = tiny.tokenizer()
    made.backend_tokenizer.normalizer = NFKC()
    made.add_tokens([*MARKS, "<|candidate|>"])
    ends = [("<s>", 256), ("</s>", 257)]
    made.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    made.chat_template = None
    return made


def save(folder: Path, tasks: int = 1, **changes: Any) -> tuple[Any, dict[str, Any]]:
    """Write a checkpoint; tasks: outputs of the head; changes: of config.json. Returns the body and the head's
    weights."""
    import torch
    from safetensors.torch import save_file
    from transformers import DebertaV2Config, DebertaV2Model

    torch.manual_seed(4)
    size = {**SIZE, **{key: value for key, value in changes.items() if key in SIZE}}
    made = DebertaV2Model(DebertaV2Config(**size)).eval()
    shapes = {
        "head_layer.1.weight": (HIDDEN, 2 * HIDDEN),
        "head_layer.1.bias": (HIDDEN,),
        "head_layer.4.weight": (tasks, HIDDEN),
        "head_layer.4.bias": (tasks,),
    }
    head = {name: torch.randn(shape) * 0.3 for name, shape in shapes.items()}
    folder.mkdir(parents=True, exist_ok=True)
    own = {"architectures": ["DebertaV2PairRM"], "n_tasks": tasks, "drop_out": 0.05, **IDS}
    (folder / "config.json").write_text(json.dumps({**made.config.to_dict(), **own, **changes}))
    tensors = {f"pretrained_model.{name}": tensor for name, tensor in made.state_dict().items()}
    save_file({**tensors, **head}, folder / "model.safetensors", {"format": "pt"})
    tokenizer().save_pretrained(folder)
    return made, head


def row(words: Any, texts: Sequence[str]) -> list[int]:
    """The tokens of a prompt and two texts, as the published code puts them together."""
    return [one for mark, text in zip(MARKS, texts, strict=True) for one in words.encode(mark + text)]


def logit(made: Any, head: Mapping[str, Any], ids: Sequence[int]) -> float:
    """The logit of the first text over the second."""
    import numpy as np
    import torch

    with torch.inference_mode():
        states = made(input_ids=torch.tensor([list(ids)])).last_hidden_state[0].double().numpy()
    w = {name: tensor.double().numpy() for name, tensor in head.items()}
    source, first, second = (states[list(ids).index(number)] for number in (258, 259, 260))

    def rating(text: Any) -> Any:
        inner = np.tanh(w["head_layer.1.weight"] @ np.concatenate([source, text]) + w["head_layer.1.bias"])
        return w["head_layer.4.weight"] @ inner + w["head_layer.4.bias"]

    return float((rating(first) - rating(second)).mean())
