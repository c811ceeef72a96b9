"""Small real models, for what only real ones can tell: see scripts/test-models.py, which makes them."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / ".venv" / "models"
"""The folder in which `make test-models` puts the models."""

NAMES = ("smollm2", "smollm2-reward", "smollm2-classes", "smollm2-steps", "minilm", "minilm-pair")
NEEDED = ("torch", "transformers", "gguf", "safetensors")


def packages_lacking() -> str | None:
    """Returns why no model at all can be run on this machine, or None."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"models need {', '.join(missing)}" if missing else None


def lacking(*names: str) -> str | None:
    """Returns why these models cannot be run on this machine, or None."""
    missing = packages_lacking()
    if missing:
        return missing
    absent = [name for name in names or NAMES if not (FOLDER / name).is_dir()]
    return f"there is no {', '.join(absent)}: make test MODELS=1, or make test-models" if absent else None


needs_models = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))
"""Marks tests that use any of NAMES."""

needs_gemma = pytest.mark.skipif(lacking("gemma", "gemma-gguf") is not None, reason=str(lacking("gemma", "gemma-gguf")))


def settings(name: str, **more: Any) -> Any:
    """Returns what `[models.named.NAME]` says for one of them."""
    from rewarden_models.endpoint import ModelEndpoint

    return ModelEndpoint(model=str(FOLDER / name), device="cpu", **{"threads": 1, **more})


@lru_cache(maxsize=2)
def loaded(name: str) -> Any:
    """One of the models as the process loads it, shared by the tests of a process. Not to be changed. Few are kept: all
    of them together would take a machine of 24 GiB."""
    import torch

    from rewarden_models.loading import load

    torch.set_num_threads(1)  # others are at work beside
    return load(name, settings(name))


@lru_cache(maxsize=2)
def plain(name: str) -> tuple[Any, Any]:
    """The same by transformers alone: model and tokenizer. What ours is compared with."""
    import torch
    import transformers

    kinds = {
        "smollm2-reward": "AutoModelForSequenceClassification",
        "smollm2-classes": "AutoModelForSequenceClassification",
        "smollm2-steps": "AutoModelForTokenClassification",
        "minilm": "AutoModel",
        "minilm-pair": "AutoModelForSequenceClassification",
    }
    made = getattr(transformers, kinds.get(name, "AutoModelForCausalLM"))
    model = made.from_pretrained(FOLDER / name, dtype=torch.float32).eval()
    return model, transformers.AutoTokenizer.from_pretrained(FOLDER / name)
