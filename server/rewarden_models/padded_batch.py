"""Continuous batching over transformers' ordinary cache: a batch, padded on the left, which samples join and leave."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

from rewarden_models.failure import Failure
from rewarden_models.sample import Sample
from rewarden_models.sampling import choose

_PLAIN = frozenset({"full_attention", "sliding_attention", "chunked_attention"})
"""Kinds of layers of which all that is to be kept are keys and values, one for each token."""


class PaddedBatch:
    """Samples that are written together. Used on one thread.

    chunk: tokens of a prompt that are read in one step at most, so that a step is bounded.
    """

    def __init__(self, model: Any, chunk: int) -> None:
        kinds = set(getattr(model.config.get_text_config(decoder=True), "layer_types", None) or ())
        if not kinds <= _PLAIN or model.config.is_encoder_decoder:
            odd = ", ".join(sorted(kinds - _PLAIN)) or "an encoder"
            raise Failure("unsupported", f"this process cannot write with a model that has {odd}")
        self._model = model
        self._chunk = chunk
        self._last_only = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._rows: list[Sample] = []
        self._lengths: list[int] = []  # tokens of each row that are in the cache, which is as wide as the longest
        self._shifts: list[int] = []  # what is added to a row's positions: images may count as fewer than their tokens
        self._cache: Any = None
        self._axes = 1  # rows of a position, 3 for models that tell time, height and width apart
        self._waiting: list[list[Sample]] = []
        self._reading: _Reading | None = None

    @property
    def samples(self) -> list[Sample]:
        """All that are here, whether their prompts are read or not."""
        unread = [sample for group in self._waiting for sample in group]
        return self._rows + (self._reading.samples if self._reading else []) + unread

    def take(self, samples: Sequence[Sample]) -> None:
        """Write these too, which have the same to read; it is read once."""
        self._waiting.append(list(samples))

    def drop(self, gone: Sequence[Sample]) -> None:
        """Go on without these."""
        out = set(map(id, gone))
        self._waiting = [left for group in self._waiting if (left := [item for item in group if id(item) not in out])]
        if self._reading is not None:
            self._reading.samples = [item for item in self._reading.samples if id(item) not in out]
            if not self._reading.samples:
                self._reading = None
        self._keep([at for at, item in enumerate(self._rows) if id(item) not in out])

    def forget(self) -> list[Sample]:
        """Give up the cache and all samples, which are returned; they can be taken again, and go on."""
        left = self.samples
        self._rows, self._lengths, self._shifts, self._cache = [], [], [], None
        self._waiting, self._reading = [], None
        return left

    def step(self) -> list[Sample]:
        """One token more for each sample whose prompt is read, and one piece of prompts. Returns those that ended."""
        with torch.inference_mode():
            return self._step()

    def _step(self) -> list[Sample]:
        if self._rows:
            self._write()
        budget = self._chunk
        while budget > 0 and (self._waiting or self._reading):
            budget -= self._read(budget)
        ended = [sample for sample in self._rows if sample.finish is not None]
        if ended:
            self._keep([at for at, sample in enumerate(self._rows) if sample.finish is None])
        return ended

    def _write(self) -> None:
        width = max(self._lengths) + 1
        device = self._model.device
        mask = None
        if min(self._lengths) != max(self._lengths):
            pads = torch.tensor([width - 1 - length for length in self._lengths], device=device)
            mask = (torch.arange(width, device=device)[None, :] >= pads[:, None]).long()
        places = [[length + shift] for length, shift in zip(self._lengths, self._shifts, strict=True)]
        last = [[sample.tokens[-1]] for sample in self._rows]
        logits = self._forward(torch.tensor(last), torch.tensor(places), self._cache, attention_mask=mask)
        self._lengths = [length + 1 for length in self._lengths]
        _continue(self._rows, logits)

    def _read(self, budget: int) -> int:
        """Read at most so many tokens of a prompt. Returns how many it was."""
        if self._reading is None:
            self._reading = _Reading(self._waiting.pop(0))
        reading = self._reading
        ids, first, pixels = reading.ids, reading.done, reading.samples[0].pixels
        # The whole of it where there are images: what stands for one is not to be cut.
        upto = len(ids) if pixels else min(len(ids), first + budget)
        places = None if pixels else torch.arange(first, upto)[None, :]
        more = {name: self._placed(value) for name, value in (pixels or {}).items()}
        logits = self._forward(torch.tensor([ids[first:upto]]), places, reading.cache, **more)
        reading.done = upto
        if upto == len(ids):
            self._reading = None
            self._join(reading, logits)
        return upto - first

    def _placed(self, value: Any) -> Any:
        """A tensor of images where and as the model takes it."""
        kind = self._model.dtype if value.is_floating_point() else value.dtype
        return value.to(self._model.device, kind)

    def _forward(self, ids: Any, places: Any, cache: Any, **more: Any) -> Any:
        """Logits [rows, vocabulary] after the last of these tokens, which are added to the cache."""
        if self._last_only:
            more["logits_to_keep"] = 1
        if places is not None:
            places = places.to(self._model.device)
            if self._axes > 1:
                places = places[None].expand(self._axes, -1, -1)
            more["position_ids"] = places
        given = {name: value for name, value in more.items() if value is not None}
        ids = ids.to(self._model.device)
        made = self._model(input_ids=ids, past_key_values=cache, use_cache=True, return_dict=True, **given)
        return made.logits[:, -1, :].float()

    def _join(self, reading: _Reading, logits: Any) -> None:
        """A prompt has been read: its samples get their first token, and a row each if they go on."""
        samples, shift = reading.samples, 0
        deltas = getattr(getattr(self._model, "model", None), "rope_deltas", None)
        if reading.samples[0].pixels and deltas is not None:
            shift, self._axes = int(deltas.reshape(-1)[0]), 3
        _continue(samples, logits.expand(len(samples), -1))
        count, length = len(samples), len(reading.ids)
        old = max(self._lengths, default=0)
        for at, layer in enumerate(reading.cache.layers):
            mine = self._cache.layers[at] if self._rows else None
            if not layer.is_initialized:  # it uses another layer's
                continue
            for name in ("keys", "values"):
                new = getattr(layer, name).expand(count, -1, -1, -1)
                if mine is not None:
                    width = max(old, length)
                    new = torch.cat([_padded(getattr(mine, name), width), _padded(new, width)], dim=0)
                setattr(layer, name, new)
        self._cache = reading.cache
        self._rows += samples
        self._lengths += [length] * count
        self._shifts += [shift] * count

    def _keep(self, rows: list[int]) -> None:
        """Only these rows; and no column that is padding in all of them."""
        if len(rows) == len(self._rows):
            return
        before = max(self._lengths)
        self._rows = [self._rows[at] for at in rows]
        self._lengths = [self._lengths[at] for at in rows]
        self._shifts = [self._shifts[at] for at in rows]
        if not rows:
            self._cache = None
            return
        spare = before - max(self._lengths)
        for layer in self._cache.layers:
            if not layer.is_initialized:
                continue
            at = torch.tensor(rows, device=layer.keys.device)
            layer.keys = layer.keys[:, :, spare:].index_select(0, at)
            layer.values = layer.values[:, :, spare:].index_select(0, at)


class _Reading:
    """A prompt of which a part has been read."""

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples
        self.ids = samples[0].read
        self.done = 0
        self.cache = DynamicCache()


def _padded(state: Any, width: int) -> Any:
    """Keys or values [rows, heads, tokens, size], padded on the left."""
    return torch.nn.functional.pad(state, (0, 0, width - state.shape[2], 0))


def _continue(samples: Sequence[Sample], logits: Any) -> None:
    """The next token of each; one for which the model gives what is not a number fails."""
    sound = torch.isfinite(logits.amax(dim=-1)).tolist()
    if all(sample.task.temperature <= 0 for sample in samples):
        tokens = logits.argmax(dim=-1)
    else:
        rows = [(sample.task.temperature, sample.task.top_p, sample.draw) for sample in samples]
        ways = torch.tensor(rows, dtype=torch.float32, device=logits.device)
        tokens = choose(logits, ways[:, 0], ways[:, 1], ways[:, 2])
    for sample, token, fine in zip(samples, tokens.tolist(), sound, strict=True):
        if fine:
            sample.accept(token)
        else:
            sample.fail(Failure("not_finite", "the model's outputs are not numbers"))
