"""A transformers body under a described head (see `heads`), with the interface of a model.

The head computes in float32 whatever the body's dtype: it is small, and published heads come in several dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewarden_models.failure import Failure
from rewarden_models.heads import Dense, DescribedHead, Layer, turn_at


class DescribedModel(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """body: without any head. weights: the head's, by their names in the checkpoint. turn: the tokens whose last
    occurrence marks where a gate is read."""

    def __init__(self, body: Any, head: DescribedHead, weights: Mapping[str, Tensor], turn: Sequence[int] = ()) -> None:
        super().__init__()
        self.base_model = body
        self.head = head
        self.turn = list(turn)
        self._names = {name: f"weight_{place}" for place, name in enumerate(weights)}
        for name, tensor in weights.items():
            self.register_buffer(self._names[name], tensor if name.endswith("tracked") else tensor.float())

    @property
    def config(self) -> Any:
        """The body's configuration."""
        return self.base_model.config

    @property
    def device(self) -> Any:
        """The device of the body."""
        return self.base_model.device

    @property
    def dtype(self) -> Any:
        """The dtype in which the body computes."""
        return self.base_model.dtype

    def get_input_embeddings(self) -> Any:
        """The body's input embeddings."""
        return self.base_model.get_input_embeddings()

    def positions(self, ids: Sequence[int], last: int) -> list[int]:
        """The positions at which a sequence head reads a row; for a gated head, the gate's position first. last: the
        last token that is not padding. Raises ValueError for a row without the turn at which the gate is read; `tasks`
        refuses such texts earlier.
        """
        at = last if self.head.ends == "unpadded" else len(ids) - 1
        if self.head.combine != "gated":
            return [at]
        begin = turn_at(self.turn, ids)
        if begin is None:
            raise ValueError("the row has no turn at which to read the head")
        return [begin, at]

    def score(self, states: Tensor) -> Tensor:
        """Outputs [N, outputs] for states [N, H]; for a gated head, states [N, 2, H] with the gate's first; for a pair,
        states [N, 3, H] with the prompt's first."""
        states = states.float()
        head = self.head
        if head.combine == "gated":
            return self._gated(states)
        if head.combine == "pair":
            return self._paired(states)
        if head.row is not None:
            return states @ self._weight("lm_head.weight").T
        value = self._stack(head.value, states)
        if head.combine == "weighted":
            return (value[..., ::2] * self._stack(head.other, states)).sum(-1, keepdim=True)
        return value

    def _gated(self, states: Tensor) -> Tensor:
        objectives = self._stack(self.head.value, states[:, 1])
        objectives = objectives.reshape(len(states), -1, self.head.quantiles).mean(-1)
        gate = torch.softmax(self._stack(self.head.other, states[:, 0]) / self.head.temperature, dim=-1)
        gate = gate * self._weight(self.head.scale)[0]
        return (gate * (objectives @ self._weight(self.head.transform))).sum(-1, keepdim=True)

    def _paired(self, states: Tensor) -> Tensor:
        texts = states[:, 1:]
        rated = self._stack(self.head.value, torch.cat([states[:, :1].expand_as(texts), texts], dim=-1))
        return (rated[:, 0] - rated[:, 1]).mean(-1, keepdim=True)

    def _stack(self, layers: Sequence[Layer], states: Tensor) -> Tensor:
        for layer in layers:
            if layer == "relu":
                states = torch.relu(states)
            elif layer == "selu":
                states = torch.selu(states)
            elif layer == "tanh":
                states = torch.tanh(states)
            elif isinstance(layer, Dense):
                bias = self._weight(f"{layer.name}.bias") if layer.bias else None
                states = torch.nn.functional.linear(states, self._weight(f"{layer.name}.weight"), bias)
            else:
                names = (f"{layer.name}.{part}" for part in ("running_mean", "running_var", "weight", "bias"))
                states = torch.nn.functional.batch_norm(states, *map(self._weight, names))
        return states

    def _weight(self, name: str) -> Tensor:
        made: Tensor = getattr(self, self._names[name])
        return made


def turn_of(head: DescribedHead, tokenizer: Any, where: str) -> list[int]:
    """The tokens of a gated head's turn. Raises Failure (`loading`) for a tokenizer that lacks its special tokens and
    would read them as ordinary text."""
    if not head.turn:
        return []
    ids = list(tokenizer(head.turn, add_special_tokens=False)["input_ids"])
    first = tokenizer.convert_tokens_to_ids("<|eot_id|>")
    if not ids or ids[0] != first or first == tokenizer.unk_token_id:
        raise Failure(
            "loading",
            f"{where}: {head.name} reads its gate at {head.turn.strip()!r}, and the tokenizer has no such special "
            "tokens; use the tokenizer of the checkpoint",
        )
    return ids


def tensors_of(files: Sequence[Any]) -> dict[str, Tensor]:
    """All weights in a checkpoint's files, by name."""
    from safetensors.torch import load_file

    return {name: tensor for file in files for name, tensor in load_file(file).items()}


def head_weights(head: DescribedHead, files: Sequence[Any], where: str, prefix: str) -> dict[str, Tensor]:
    """The head's weights from the checkpoint's files. Raises Failure (`loading`) if a weight is not finite, or if the
    last layer is all zeros: every text would get the same number."""
    from safetensors import safe_open

    found: dict[str, Tensor] = {}
    for file in files:
        with safe_open(file, framework="pt") as opened:
            names = set(opened.keys())
            for name in head.shapes:
                if prefix + name not in names and name not in names:
                    continue
                stored = name if name in names else prefix + name
                if head.row is not None:
                    found[name] = opened.get_slice(stored)[head.row : head.row + 1]
                else:
                    found[name] = opened.get_tensor(stored)
    for name, tensor in found.items():
        if not bool(torch.isfinite(tensor.float()).all()):
            raise Failure(
                "loading", f"{where}: {name} contains a value that is not a finite number; copy the checkpoint again"
            )
    layers = [layer for layer in head.value if isinstance(layer, Dense)]
    name = f"{layers[-1].name}.weight" if layers else "lm_head.weight"
    if not bool(found[name].any()):
        raise Failure("loading", f"{where}: {name} is zero: untrained, it would give every text the same number")
    return found
