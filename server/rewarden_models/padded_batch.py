"""Continuous batching over transformers' ordinary cache: a left-padded batch that samples join and leave."""

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
"""Kinds of layers that keep nothing but keys and values, one of each per token."""


class PaddedBatch:
    """Samples that are generated together. Used on one thread.

    chunk: the most prompt tokens that one step reads, so that steps are bounded.
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
        self._lengths: list[int] = []  # each row's tokens in the cache, which is as wide as the longest
        self._shifts: list[int] = []  # added to a row's positions: an image may take fewer positions than tokens
        self._cache: Any = None
        self._axes = 1  # axes of a position: 3 for models that separate time, height and width
        self._waiting: list[list[Sample]] = []
        self._reading: _Reading | None = None

    @property
    def samples(self) -> list[Sample]:
        """All samples of the batch, whether or not their prompts have been read."""
        unread = [sample for group in self._waiting for sample in group]
        return self._rows + (self._reading.samples if self._reading else []) + unread

    def take(self, samples: Sequence[Sample]) -> None:
        """Add samples with the same prompt, which is read once."""
        self._waiting.append(list(samples))

    def drop(self, gone: Sequence[Sample]) -> None:
        """Remove these samples."""
        out = set(map(id, gone))
        self._waiting = [left for group in self._waiting if (left := [item for item in group if id(item) not in out])]
        if self._reading is not None:
            self._reading.samples = [item for item in self._reading.samples if id(item) not in out]
            if not self._reading.samples:
                self._reading = None
        self._keep([at for at, item in enumerate(self._rows) if id(item) not in out])

    def forget(self) -> list[Sample]:
        """Drop the cache and all samples. Returns the samples, which can be added again and will continue."""
        left = self.samples
        self._rows, self._lengths, self._shifts, self._cache = [], [], [], None
        self._waiting, self._reading = [], None
        return left

    def step(self) -> list[Sample]:
        """Generate one token for each sample whose prompt has been read, and read a piece of the prompts. Returns the
        samples that ended."""
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
        """Read at most `budget` tokens of a prompt. Returns how many were read."""
        if self._reading is None:
            self._reading = _Reading(self._waiting.pop(0))
        reading = self._reading
        ids, first, pixels = reading.ids, reading.done, reading.samples[0].pixels
        # A prompt with images is read in one piece: an image's tokens must not be split.
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
        """An image tensor on the model's device, floating-point ones in its dtype."""
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
        """Add the samples of a prompt that has been read: each gets its first token and a row."""
        samples, shift = reading.samples, 0
        deltas = getattr(getattr(self._model, "model", None), "rope_deltas", None)
        if reading.samples[0].pixels and deltas is not None:
            shift, self._axes = int(deltas.reshape(-1)[0]), 3
        _continue(samples, logits.expand(len(samples), -1))
        count, length = len(samples), len(reading.ids)
        old = max(self._lengths, default=0)
        for at, layer in enumerate(reading.cache.layers):
            mine = self._cache.layers[at] if self._rows else None
            if not layer.is_initialized:  # it shares another layer's cache
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
        """Keep only these rows, and no column that is padding in all of them."""
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
    """A prompt that has been read in part."""

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples
        self.ids = samples[0].read
        self.done = 0
        self.cache = DynamicCache()


def _padded(state: Any, width: int) -> Any:
    """Keys or values [rows, heads, tokens, size], left-padded to `width`."""
    return torch.nn.functional.pad(state, (0, 0, width - state.shape[2], 0))


def _continue(samples: Sequence[Sample], logits: Any) -> None:
    """Give each sample its next token; a sample whose logits are not finite fails."""
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
