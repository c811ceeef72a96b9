"""The structure of a loaded model, found by trial: whether later tokens change earlier outputs, where its head sits.

A trial beats a list of model families: a wrong entry in a list would silently give wrong numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from rewarden_models.described_model import DescribedModel

Kind = Literal["sequence", "token", "pair", "language", "vector"]

_CLOSE = {torch.float32: 1e-3, torch.float64: 1e-3}
_CLOSE_SHORT = 5e-2
"""Largest difference, relative to the outputs' own size, at which two ways of computing them count as equal.
`_CLOSE_SHORT` is for shorter floats, which keep 8 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """kind: what the model's own outputs are: those of a sequence, token or pair head, those of a language model, or
    hidden states (`vector`). causal: a token's output does not depend on later tokens, so padding after a row needs no
    mask. apart: the head, run on selected hidden states, gives the same as the model's own forward. padded: rows of
    different lengths give the same outputs together as each gives alone.
    """

    kind: Kind
    causal: bool
    apart: bool
    padded: bool


def kind_of(model: Any) -> Kind:
    """The kind of a model's outputs, from its described head or the name of its transformers class."""
    if isinstance(model, DescribedModel):
        return model.head.kind
    name = type(model).__name__
    if name.endswith("ForSequenceClassification"):
        return "sequence"
    if name.endswith("ForTokenClassification"):
        return "token"
    if name.endswith(("ForCausalLM", "ForConditionalGeneration", "ForImageTextToText", "LMHeadModel", "ForMaskedLM")):
        return "language"
    return "vector"


def head_rows(model: Any, kind: Kind, hidden: Tensor) -> Tensor:
    """The outputs [N, outputs] that the model's own code computes from its base's hidden states [N, H].

    The model's own forward runs, with the base replaced by one that returns these states, so whatever it does there
    (soft caps, scaling, disabled dropout) is done here too. A sequence head is called as a module, because its forward
    would look for padding first.
    """
    if kind == "sequence" or isinstance(model, DescribedModel):
        made: Tensor = model.score(hidden)
        return made
    base = model.base_model
    wanted = hidden.unsqueeze(0)

    def given(*_: Any, **__: Any) -> Any:
        return _Given(wanted)

    compiled, base._compiled_call_impl = base._compiled_call_impl, None
    base.forward = given
    try:
        ids = torch.zeros((1, hidden.shape[0]), dtype=torch.long, device=hidden.device)
        return model(input_ids=ids).logits[0]
    finally:
        del base.forward
        base._compiled_call_impl = compiled


class _Given:
    """The output of a base: only its states; every other field is None."""

    def __init__(self, states: Tensor) -> None:
        self.last_hidden_state = states

    def __getattr__(self, name: str) -> None:
        return None

    def __getitem__(self, place: int) -> Any:
        return self.last_hidden_state if place == 0 else None


def examine(model: Any, pad: int) -> Architecture:
    """Try the model on a few tokens. Costs a few passes of 12 tokens."""
    kind = kind_of(model)
    one, other = _probe(model, pad)
    short = one[: len(one) // 2]
    with torch.inference_mode():
        whole, changed = _states(model, [one]), _states(model, [one[:8] + other[8:]])
        causal = _same(whole[0, :8], changed[0, :8])
        described = isinstance(model, DescribedModel)  # its head is separate, and it has no forward of its own
        apart = kind == "vector" or described or _apart(model, kind, one, whole)
        padded = described or (causal and apart) or _padded(model, one, short, pad)
    return Architecture(kind=kind, causal=causal, apart=apart, padded=padded)


def _apart(model: Any, kind: Kind, ids: Sequence[int], whole: Tensor) -> bool:
    try:
        own = model(input_ids=torch.tensor([list(ids)], device=model.device)).logits[0]
        ours = head_rows(model, kind, whole[0, -1:] if kind == "sequence" else whole[0])
    except (AttributeError, TypeError, ValueError, RuntimeError, IndexError, NotImplementedError):
        return False  # a head of another structure
    return _same(own.reshape(ours.shape) if own.numel() == ours.numel() else own, ours)


def _padded(model: Any, one: Sequence[int], short: Sequence[int], pad: int) -> bool:
    def run(rows: list[list[int]], mask: list[list[int]]) -> Tensor:
        made = model(
            input_ids=torch.tensor(rows, device=model.device), attention_mask=torch.tensor(mask, device=model.device)
        )
        logits = getattr(made, "logits", None)
        return made.last_hidden_state if logits is None else logits

    lack = len(one) - len(short)
    together = run([list(one), list(short) + [pad] * lack], [[1] * len(one), [1] * len(short) + [0] * lack])[1]
    alone = run([list(short)], [[1] * len(short)])[0]
    return _same(together[: len(short)] if together.dim() > 1 else together, alone)


def _states(model: Any, rows: list[list[int]]) -> Tensor:
    ids = torch.tensor(rows, device=model.device)
    return model.base_model(input_ids=ids).last_hidden_state


def _same(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    close = _CLOSE.get(one.dtype, _CLOSE_SHORT)
    one, other = one.float(), other.float()
    size = max(float(other.abs().max()), 1e-6)
    return float((one - other).abs().max()) <= close * size


def _probe(model: Any, pad: int) -> tuple[list[int], list[int]]:
    """Two rows of 12 ordinary tokens that differ at every position."""
    size = model.config.get_text_config().vocab_size
    chosen = [place for place in range(size // 3, size) if place != pad][:24]
    chosen = chosen if len(chosen) == 24 else [place % size for place in range(24)]
    return chosen[:12], chosen[12:]


def fork(cache: Any, rows: int) -> Any:
    """A cache for `rows` rows that all begin like this cache of one row; None if it has layers that cannot be shared.

    Nothing is copied: a layer's `update` concatenates old and new into a new tensor.
    """
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    layers = []
    for layer in cache.layers:
        # Exactly these: their subclasses keep more state (indexers, convolutions) than keys and values.
        if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer):
            return None
        made = copy.copy(layer)
        if made.is_initialized:
            made.keys = layer.keys.expand(rows, -1, -1, -1)
            made.values = layer.values.expand(rows, -1, -1, -1)
        layers.append(made)
    begun = copy.copy(cache)
    begun.layers = layers
    return begun
