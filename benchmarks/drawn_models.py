"""Models of published shapes with random weights: as fast as the real ones, and made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SHAPES: dict[str, dict[str, int]] = {
    "Qwen3-0.6B": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16},
    "Qwen3-4B": {"hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36, "num_attention_heads": 32},
}
"""From each model's `config.json`, as Qwen publishes it."""
_SHARED: dict[str, Any] = {
    "vocab_size": 151_936,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40_960,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def draw(folder: Path, shape: str, kind: str, tokenizer: Path) -> None:
    """Saves a model of this shape to `folder`, with the tokenizer of another. kind: transformers' class for its head,
    `CausalLM` or `SequenceClassification` (one output).
    """
    import torch
    import transformers

    words = transformers.AutoTokenizer.from_pretrained(tokenizer)
    config = transformers.Qwen3Config(**_SHARED, **_SHAPES[shape], pad_token_id=words.pad_token_id, num_labels=1)
    torch.manual_seed(7)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = getattr(transformers, f"AutoModelFor{kind}").from_config(config, dtype=torch.bfloat16)
        if kind == "SequenceClassification":  # scores with a spread of 2, as trained heads have
            torch.nn.init.normal_(model.score.weight, std=2 / config.hidden_size**0.5)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
