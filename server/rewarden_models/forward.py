"""One forward pass over a batch: rows in, their outputs out. Runs in the torch thread.

Rows are padded on the right. A causal model then needs no mask, so the fastest attention is used. Heads run only on the
states that are read: a language model's head is its widest layer, and its outputs at every position would take most of
a batch's memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from rewarden_models.architecture import Architecture, examine, fork, head_rows
from rewarden_models.described_model import DescribedModel
from rewarden_models.overhead import CPU, measure
from rewarden_models.prefix import Piece
from rewarden_models.row import Output, Row

TOLERANCE = 1e-4
"""The most by which a float32 output may change with the other rows of its batch, in logits or nats: other shapes add
the same numbers in another order. The tests measure it on SmolLM2-135M (30 layers)."""

TOLERANCE_SHORT = 2e-2
"""The same for bfloat16 and float16, relative to the output's size: these keep 8 and 11 bits."""

_HEAD_FLOATS = 1 << 25
"""Outputs of a language model's head that are held in memory at once: 128 MiB in float32."""


def forward(loaded: Any, rows: Sequence[Row], tree: Piece | None = None) -> list[Output]:
    """See `Forward.run`."""
    return Forward(loaded).run(rows, tree)


@dataclass(slots=True)
class Tally:
    """The totals of a model's work. rows; tokens: computed, not counting padding; padding: positions computed for
    nothing; shared: tokens not computed because other rows had the same prefix; passes."""

    rows: int = 0
    tokens: int = 0
    padding: int = 0
    shared: int = 0
    passes: int = 0


@dataclass(frozen=True, slots=True)
class _Slot:
    """A position in a row whose state is read."""

    row: int
    position: int


class Forward:
    """Runs batches of one loaded model, always from the same thread."""

    def __init__(self, loaded: Any) -> None:
        self.loaded = loaded
        self.tally = Tally()
        self._model = loaded.model
        self._pad = int(loaded.pad or 0)
        self.overhead = CPU
        self.measured = self._model.device.type != "cuda"

    @cached_property
    def architecture(self) -> Architecture:
        """The model's structure, examined on first use, in the thread that computes."""
        return examine(self._model, self._pad)

    def measure(self, most: int) -> None:
        """Measure `overhead`: the number of tokens, at most `most`, that cost as much as the fixed cost of a pass."""
        self.overhead, self.measured = measure(self._model, self._pad, most, self.loaded.context), True

    def run(self, rows: Sequence[Row], tree: Piece | None = None, cap: int = 0) -> list[Output]:
        """The outputs of rows, in their order. tree: the prefixes they share, from `prefix.plan` over their ids;
        ignored for a model whose states cannot be shared. cap: the most positions (rows times longest) in a pass if
        the tree has more rows than fit; 0: no limit.

        Raises what torch raises. Numbers that are not finite are returned unchanged.
        """
        self.tally.rows += len(rows)
        with torch.inference_mode():
            # Rows with images go alone: each architecture's processor gives tensors of another form, and how to pad
            # them is not known. Equal ids do not mean equal images either, so nothing is shared between them.
            if any(row.pixels for row in rows):
                return [self._group([row], None, cap)[0] for row in rows]
            vectors = [place for place, row in enumerate(rows) if self._vector(row)]
            if not vectors:
                return self._group(rows, tree, cap)
            made = dict(zip(vectors, self._vectors([rows[place] for place in vectors]), strict=True))
            others = [place for place in range(len(rows)) if place not in made]
            if others:
                made |= zip(others, self._group([rows[place] for place in others], None, cap), strict=True)
            return [made[place] for place in range(len(rows))]

    def _vector(self, row: Row) -> bool:
        """Returns whether the row's output is a vector, the pooled output of a model that has no head for the whole
        text.
        """
        if self.architecture.kind == "vector" and row.reads:
            raise ValueError("a model without a head has only a pooled output")
        return not row.reads and self.architecture.kind in ("vector", "language")

    def _group(self, rows: Sequence[Row], tree: Piece | None, cap: int) -> list[Output]:
        return self._read(rows, tree, cap) if self.architecture.apart else self._own(rows)

    # Heads on selected states

    def _read(self, rows: Sequence[Row], tree: Piece | None, cap: int) -> list[Output]:
        slots: list[_Slot] = []
        at: list[range] = []
        for place, row in enumerate(rows):
            first = len(slots)
            slots += [_Slot(place, read) for read in row.reads or read_at(self._model, row.ids)]
            at.append(range(first, len(slots)))
        states = self._states(rows, slots, at, tree, cap) if tree is not None and self.architecture.causal else None
        if states is None:
            states = self._states(rows, slots, at, Piece(0, 0, 0, list(range(len(rows)))), cap)
        assert states is not None  # only shared pieces can fail
        if isinstance(self._model, DescribedModel) and (together := self._model.head.together) > 1:
            # A row's number is computed from several of its states together.
            return [[values] for values in self._model.score(states.reshape(len(rows), together, -1)).tolist()]
        outputs: list[Output] = [[] for _ in rows]
        for slot, values in zip(slots, self._heads(rows, slots, states), strict=True):
            outputs[slot.row].append(values)
        return outputs

    def _states(
        self, rows: Sequence[Row], slots: Sequence[_Slot], at: Sequence[range], tree: Piece, cap: int
    ) -> Tensor | None:
        """Hidden states of all slots [slots, H]; None if the model's states cannot be shared."""
        picked: list[Any] = [None] * len(slots)
        todo: list[tuple[Piece, Any]] = [(tree, None)]
        while todo:
            piece, cache = todo.pop()
            if piece.end > piece.begin:
                begun = fork(cache, 1) if cache is not None else None
                states, cache = self._pass([rows[piece.of]], piece.begin, piece.end, begun, keep=True)
                if cache is None or fork(cache, 1) is None:
                    return None
                below = piece.below()
                self.tally.shared += (len(below) - 1) * (piece.end - piece.begin)
                for number in (number for row in below for number in at[row]):
                    if piece.begin <= slots[number].position < piece.end:
                        picked[number] = states[0, slots[number].position - piece.begin]
            todo += [(part, cache) for part in piece.parts]
            lengths = {row: len(rows[row].ids) for row in piece.rows if len(rows[row].ids) > piece.end}
            for chunk in _chunks(lengths, cap):
                begun = fork(cache, len(chunk)) if cache is not None else None
                states, _ = self._pass([rows[row] for row in chunk], piece.end, None, begun)
                for place, row in enumerate(chunk):
                    for number in at[row]:
                        if slots[number].position >= piece.end:
                            picked[number] = states[place, slots[number].position - piece.end]
        return torch.stack(picked)

    def _pass(
        self, rows: Sequence[Row], begin: int, end: int | None, cache: Any, keep: bool = False
    ) -> tuple[Tensor, Any]:
        """Hidden states [rows, longest, H] of the tokens from `begin` to `end` (None: to each row's own end), and the
        cache after them."""
        inputs = self._inputs(rows, begin, end)
        if self.architecture.causal and not any(row.pixels for row in rows):
            del inputs["attention_mask"]  # no token attends to the padding after it
            inputs["use_cache"] = keep or cache is not None
            if cache is not None:
                inputs["past_key_values"] = cache
        made = self._model.base_model(**inputs)
        return made.last_hidden_state, getattr(made, "past_key_values", None) if keep else None

    def _inputs(self, rows: Sequence[Row], begin: int = 0, end: int | None = None) -> dict[str, Any]:
        """The model's inputs, padded after each row's end. Adds to the tally."""
        lists = [row.ids[begin:end] for row in rows]
        longest, device = max(map(len, lists)), self._model.device
        ids = torch.full((len(lists), longest), self._pad, dtype=torch.long)
        mask = torch.zeros((len(lists), longest), dtype=torch.long)
        for place, one in enumerate(lists):
            ids[place, : len(one)] = torch.tensor(one, dtype=torch.long)
            mask[place, : len(one)] = 1
        inputs = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
        if any(row.types for row in rows):
            types = torch.zeros_like(ids)
            for place, row in enumerate(rows):
                if row.types:
                    types[place, : len(lists[place])] = torch.tensor(row.types[begin:end], dtype=torch.long)
            inputs["token_type_ids"] = types.to(device)
        for row in rows:
            for name, value in (row.pixels or {}).items():
                inputs[name] = torch.as_tensor(value).to(device)
        real = sum(map(len, lists))
        self.tally.tokens += real
        self.tally.padding += len(lists) * longest - real
        self.tally.passes += 1
        return inputs

    def _heads(self, rows: Sequence[Row], slots: Sequence[_Slot], states: Tensor) -> Iterator[list[float]]:
        """Yields what is read at each slot: the head's raw outputs, or the log-probabilities of its targets."""
        seen = [0] * len(rows)
        config = self._model.config.get_text_config()
        width = config.vocab_size if self.architecture.kind == "language" else max(1, self._model.config.num_labels)
        size = max(1, _HEAD_FLOATS // width)
        for first in range(0, len(slots), size):
            outputs = head_rows(self._model, self.architecture.kind, states[first : first + size]).float()
            wanted: list[list[int] | None] = []
            for slot in slots[first : first + size]:
                targets = rows[slot.row].targets
                wanted.append(None if targets is None else targets[seen[slot.row]])
                seen[slot.row] += 1
            # One gather for all: indexing one by one would cost more than the head.
            longest = max(len(item or ()) for item in wanted)
            near: list[list[float]] = [[] for _ in wanted]
            whole_rows = outputs.tolist() if None in wanted else []  # one copy from the device, not one per row
            if longest:
                places = torch.tensor([[*(item or ()), *[0] * (longest - len(item or ()))] for item in wanted])
                whole = torch.logsumexp(outputs, dim=-1, keepdim=True)
                near = (outputs.gather(1, places.to(outputs.device)) - whole).tolist()
            for number, item in enumerate(wanted):
                yield whole_rows[number] if item is None else near[number][: len(item)]

    # The model's own forward, where the head is not known to stand apart

    def _own(self, rows: Sequence[Row]) -> list[Output]:
        outputs: list[Output] = []
        for part in self._together(rows):
            logits = self._model(**self._inputs(part)).logits.float()
            for place, row in enumerate(part):
                if not row.reads:
                    outputs.append([logits[place].tolist()])
                    continue
                read = logits[place, row.reads]
                if row.targets is None:
                    outputs.append(read.tolist())
                    continue
                near = torch.log_softmax(read, dim=-1)
                outputs.append([near[number, wanted].tolist() for number, wanted in enumerate(row.targets)])
        return outputs

    def _together(self, rows: Sequence[Row]) -> list[Sequence[Row]]:
        """One batch; or one per row, if padding would change the model's outputs."""
        return [rows] if self.architecture.padded else [[row] for row in rows]

    # Vectors

    def _vectors(self, rows: Sequence[Row]) -> list[Output]:
        outputs: list[Output] = []
        for part in self._together(rows):
            inputs = self._inputs(part)
            states, mask = self._model.base_model(**inputs).last_hidden_state.float(), inputs["attention_mask"]
            if self.loaded.pooling == "mean":
                kept = mask[..., None].float()
                vectors = (states * kept).sum(1) / kept.sum(1)
            else:
                at = mask.sum(1) - 1 if self.loaded.pooling == "last" else torch.zeros_like(mask[:, 0])
                vectors = states[torch.arange(len(part), device=states.device), at]
            outputs += [[vector] for vector in vectors.tolist()]
        return outputs


def read_at(model: Any, ids: Sequence[int]) -> list[int]:
    """The positions at which a sequence head reads a row. Raises ValueError, see `DescribedModel.positions`."""
    last = pooled_at(model, ids)
    return model.positions(ids, last) if isinstance(model, DescribedModel) else [last]


def pooled_at(model: Any, ids: Sequence[int]) -> int:
    """The position at which a decoder's sequence head reads: the last token or, following transformers, the last one
    that is not the configuration's padding token. Only the row's own tokens count, before any padding, so the position
    does not depend on the rest of the batch. Heads are trained this way, including those whose padding token ends each
    turn.
    """
    pad = model.config.get_text_config().pad_token_id
    last = len(ids) - 1
    while last > 0 and ids[last] == pad:
        last -= 1
    return last if ids[last] != pad else len(ids) - 1  # nothing but padding tokens


def _chunks(lengths: dict[int, int], cap: int) -> Iterator[list[int]]:
    """Rows by length, longest first, in chunks of at most `cap` positions (a single row always fits)."""
    chunk: list[int] = []
    for row in sorted(lengths, key=lambda row: -lengths[row]):
        if cap and chunk and lengths[chunk[0]] * (len(chunk) + 1) > cap:
            yield chunk
            chunk = []
        chunk.append(row)
    if chunk:
        yield chunk


def finite(output: Output) -> bool:
    """Returns whether all its numbers are finite. A log-probability of minus infinity is not: only a model that
    excludes a token outright produces it, and it cannot be told from an overflow."""
    return all(math.isfinite(value) for values in output for value in values)
