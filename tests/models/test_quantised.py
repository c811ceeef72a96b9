"""Checkpoints in 8 bits: the numbers are those of the weights times their scales, and no weights are read without."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from tests.models import tiny
from tests.models.real import packages_lacking

pytestmark = pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))

BLOCK = 8
FP8: dict[str, Any] = {
    "quant_method": "fp8",
    "weight_block_size": [BLOCK, BLOCK],
    "activation_scheme": "dynamic",
    "modules_to_not_convert": ["lm_head"],
}
"""As the FP8 checkpoints of Qwen3 and DeepSeek say it."""
SCALE = "_scale_inv"
UP = "model.layers.1.mlp.up_proj.weight"
IDS = [5, 6, 7, 60, 61, 200]
Tensors = dict[str, Any]


def quantised(weights: Mapping[str, Any]) -> tuple[Tensors, Tensors]:
    """Matrices in blocks of 8 bits with their scales; and what they stand for, in floats."""
    import torch

    stored: Tensors = {}
    meant: Tensors = {}
    for name, weight in weights.items():
        stored[name] = meant[name] = weight
        if "proj" in name:
            rows, columns = weight.shape
            blocks = weight.reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK)
            scales = blocks.abs().amax(dim=(1, 3)) / 448
            eight = (blocks / scales[:, None, :, None]).to(torch.float8_e4m3fn)
            stored[name] = eight.reshape(rows, columns).contiguous()
            stored[name + SCALE] = scales
            meant[name] = (eight.float() * scales[:, None, :, None]).reshape(rows, columns)
    return stored, meant


def save(folder: Path, change: Callable[[Tensors], Tensors], config: Mapping[str, Any] | None) -> Any:
    """Write a tiny causal model in 8 bits, after such a change. Returns what it should compute with, in floats."""
    from safetensors.torch import load_file, save_file

    model = tiny.causal()
    model.save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    stored, meant = quantised(load_file(folder / "model.safetensors"))
    save_file(change(stored), folder / "model.safetensors", {"format": "pt"})
    if config is not None:
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "quantization_config": config}))
    model.load_state_dict(meant, strict=False)
    return model


def loaded(folder: Path) -> Any:
    """Returns what the process has of it."""
    from rewarden_models.loading import load

    return load("main", ModelEndpoint(model=str(folder), device="cpu", threads=1))


def test_blocks_of_8_bits_are_read_with_their_scales(tmp_path: Path) -> None:
    import torch

    expected = save(tmp_path, dict, FP8)
    found = loaded(tmp_path)
    with torch.no_grad():
        ids = torch.tensor([IDS])
        difference = (found.model(ids).logits - expected(ids).logits).abs().max()
    assert float(difference) < 1e-5


@pytest.mark.parametrize(
    ("change", "config", "said"),
    [
        pytest.param(
            lambda stored: {name: one for name, one in stored.items() if not name.endswith(SCALE)},
            FP8,
            ["8 bits without their scales", SCALE],
            id="no scales",
        ),
        pytest.param(
            lambda stored: {name: one for name, one in stored.items() if name != f"{UP}{SCALE}"},
            FP8,
            ["8 bits without their scales", f"{UP}{SCALE}"],
            id="one scale lacks",
        ),
        pytest.param(
            lambda stored: {name: one for name, one in stored.items() if not name.endswith(SCALE)},
            None,
            ["no `quantization_config`", "16 bits or more"],
            id="nothing says that they are scaled",
        ),
        pytest.param(
            lambda stored: {**stored, "gating.weight": stored["model.norm.weight"].clone()},
            FP8,
            ["gating.weight"],
            id="a second head",
        ),
        pytest.param(dict, {"quant_method": "eighths"}, ["'eighths'", "floating point"], id="an unknown method"),
    ],
)
def test_what_would_be_other_weights_is_refused(
    change: Callable[[Tensors], Tensors], config: Mapping[str, Any] | None, said: list[str], tmp_path: Path
) -> None:
    save(tmp_path, change, config)
    with pytest.raises(Failure) as raised:
        loaded(tmp_path)
    assert raised.value.kind == "loading"
    assert all(part in raised.value.message for part in said)
