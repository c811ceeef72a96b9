"""Write tasks: many samples at once, which join and leave the running batch at each step."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from typing import Any

import torch

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.memory import available, end_process, free_cache, is_device_lost, is_out_of_memory
from rewarden_models.padded_batch import PaddedBatch
from rewarden_models.sample import Sample, Vocabulary
from rewarden_verifiers.inference import Write, Written

_CHUNK = {"cuda": 2048, "cpu": 256}
"""The most prompt tokens that one step reads, by device: scoring waits that long."""

_PLACES = 256
"""The most samples that are generated at once."""

_SHARE = 0.25
"""The share of the memory free at the start that keys and values may take. When a sample joins they briefly exist
twice, and a machine that runs out of memory does not report it: the kernel kills the process."""


class Writer:
    """Generates texts with one loaded model.

    `add` may be called from any thread; everything else on the one that computes. Each `step` is bounded (one token for
    each running sample and a piece of a prompt), so that others can run between steps.

    chunk: prompt tokens that are read in one step. places: samples at once. room: bytes for keys and values.
    """

    def __init__(
        self,
        loaded: Any,
        settings: ModelEndpoint,
        *,
        chunk: int | None = None,
        places: int = _PLACES,
        room: int | None = None,
    ) -> None:
        self._model = loaded.model
        self._context: int = loaded.context
        self._vocabulary = Vocabulary(loaded.model, loaded.tokenizer)
        device = torch.device(loaded.model.device)
        self._chunk = min(chunk or _CHUNK.get(device.type, 256), settings.batch_tokens)
        self._batch: PaddedBatch | None = None
        self._places = self._limit = places
        self._room = room
        self._kept = _kept(loaded.model)
        self._lock = threading.Lock()
        self._new: deque[_Order] = deque()
        self._orders: dict[int, _Order] = {}  # by sample id
        self._waiting: deque[Sample] = deque()

    def add(self, task: Write, ids: list[int], pixels: Mapping[str, Any] | None = None) -> Future[list[Written]]:
        """Queue a task whose input is these tokens. The future gets a text for each sample, or a Failure. Cancelling it
        drops the samples at the next step."""
        order = _Order(task, list(ids), pixels)
        with self._lock:
            self._new.append(order)
        return order.future

    @property
    def busy(self) -> bool:
        """Returns whether there is work to do."""
        return bool(self._new or self._orders)

    def step(self) -> bool:
        """Run one step. Returns whether there is more to do."""
        self._enter()
        self._forget_cancelled()
        self._admit()
        if self._batch is not None and self._batch.samples:
            self._advance(self._batch)
        if not self._orders:
            self._limit = self._places
        return self.busy

    def run(self) -> None:
        """Step until nothing is left."""
        while self.step():
            pass

    def fail(self, problem: Failure) -> None:
        """Fail everything that is running or waiting."""
        self._enter()
        for order in {id(order): order for order in self._orders.values()}.values():
            self._end(order, problem)
        if self._batch is not None:
            self._batch.forget()
        self._waiting.clear()
        self._batch = None

    def status(self) -> dict[str, Any]:
        """JSON-ready: the samples that are running and waiting. May be called from any thread."""
        batch = self._batch
        return {
            "writing": len(batch.samples) if batch is not None else 0,
            "waiting": len(self._waiting) + len(self._new),
            "places": self._limit,
        }

    def _enter(self) -> None:
        while True:
            with self._lock:
                if not self._new:
                    return
                order = self._new.popleft()
            if not order.future.cancelled():
                self._begin(order)

    def _begin(self, order: _Order) -> None:
        try:
            for number in range(order.task.samples):
                sample = Sample(order.task, number, order.ids, self._context, self._vocabulary, order.pixels)
                order.samples.append(sample)
        except Failure as problem:
            self._end(order, problem)
            return
        if not order.samples:
            self._end(order, Failure("invalid", "a generation task needs at least one sample"))
            return
        for sample in order.samples:
            self._orders[id(sample)] = order
            self._waiting.append(sample)

    def _forget_cancelled(self) -> None:
        live = (*self._under_way(), *self._waiting)
        gone = {id(sample) for sample in live if self._orders[id(sample)].future.cancelled()}
        if gone:
            self._leave(gone)

    def _under_way(self) -> list[Sample]:
        return self._batch.samples if self._batch is not None else []

    def _leave(self, gone: set[int]) -> None:
        if self._batch is not None and (out := [sample for sample in self._batch.samples if id(sample) in gone]):
            self._batch.drop(out)
        self._waiting = deque(sample for sample in self._waiting if id(sample) not in gone)
        for name in gone:
            self._orders.pop(name, None)

    def _admit(self) -> None:
        """Give free places to waiting samples, in order; those with the same tokens to read go together."""
        under_way = self._under_way()
        running, width = len(under_way), max((sample.reach for sample in under_way), default=0)
        groups: dict[tuple[Any, ...], list[Sample]] = {}
        while self._waiting and running < self._limit:
            width = max(width, self._waiting[0].reach)
            if running and not self._fits(running + 1, width):
                break
            sample = self._waiting.popleft()
            groups.setdefault((id(sample.pixels), *sample.read), []).append(sample)
            running += 1
        for group in groups.values():
            try:
                self._opened().take(group)
            except Failure as problem:
                for sample in group:
                    self._fail(sample, problem)

    def _fits(self, rows: int, width: int) -> bool:
        """Returns whether there is memory for `rows` samples of `width` tokens, the most that the longest may reach."""
        if self._room is None:
            self._room = int((available(str(self._model.device)) or 0) * _SHARE)
        return rows * width * self._kept <= self._room

    def _opened(self) -> PaddedBatch:
        if self._batch is None:
            self._batch = PaddedBatch(self._model, self._chunk)
        return self._batch

    def _advance(self, batch: PaddedBatch) -> None:
        try:
            ended = batch.step()
        except Failure as problem:
            for sample in batch.forget():
                self._fail(sample, problem)
            return
        except Exception as error:  # noqa: BLE001  # whatever a model raises, other tasks go on
            left = batch.forget()
            if not is_out_of_memory(error):
                lost = is_device_lost(error)
                if lost:
                    end_process()
                said = f"the model failed during generation: {type(error).__name__}: {error}"[:500]
                broken = Failure("stopped" if lost else "failed", said)
                for sample in left:
                    self._fail(sample, broken)
                return
            del error  # it holds the tensors of the failed pass
            self._shrink(left)
            return
        for sample in ended:
            self._finish(sample)

    def _shrink(self, left: list[Sample]) -> None:
        """Memory ran out: run half as many samples at once until everything is written. They continue later where they
        were; a sample that was alone fails."""
        self._batch = None
        free_cache()
        if len(left) == 1:
            self._fail(left[0], Failure("memory", "there is not enough memory to generate even this text alone"))
            return
        self._limit = max(1, len(left) // 2)
        self._waiting.extendleft(reversed(left))

    def _finish(self, sample: Sample) -> None:
        order = self._orders.pop(id(sample), None)
        if order is None:  # another sample of the task failed in the same step
            return
        if sample.problem is not None:
            self._end(order, sample.problem)
        elif all(each.finish is not None for each in order.samples):
            _settle(order.future, [each.written() for each in order.samples])

    def _fail(self, sample: Sample, problem: Failure) -> None:
        """A failed sample fails its whole task."""
        order = self._orders.get(id(sample))
        if order is not None:
            self._end(order, problem)

    def _end(self, order: _Order, problem: Failure) -> None:
        _settle(order.future, problem)
        self._leave({id(sample) for sample in order.samples})


class _Order:
    """A task and its progress."""

    def __init__(self, task: Write, ids: list[int], pixels: Mapping[str, Any] | None) -> None:
        self.task = task
        self.ids = ids
        self.pixels = pixels
        self.future: Future[list[Written]] = Future()
        self.samples: list[Sample] = []


def _settle(future: Future[list[Written]], result: list[Written] | Failure) -> None:
    try:
        if isinstance(result, Failure):
            future.set_exception(result)
        else:
            future.set_result(result)
    except InvalidStateError:  # the caller has left
        pass


def _kept(model: Any) -> int:
    """Bytes of keys and values per token, at most: assumes that all layers keep all tokens."""
    text = model.config.get_text_config(decoder=True)
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return int(2 * text.num_hidden_layers * heads * size * model.dtype.itemsize)
