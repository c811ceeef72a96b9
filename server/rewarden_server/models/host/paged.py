"""Continuous batching over transformers' own paged cache.

The library's scheduler, cache and model runner are driven here step by step, instead of in a thread of their own, so
that writing and scoring take turns on one device. It draws tokens from one generator for all requests; here each
request's draws are its own (`sampling.uniform`), and the library is left to take the one token that is not impossible.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from transformers import ContinuousBatchingConfig, LogitsProcessorList
from transformers.generation.continuous_batching.cb_logits_processors import (
    ContinuousBatchingLogitsProcessor,
    ContinuousBatchingLogitsProcessorList,
)
from transformers.generation.continuous_batching.continuous_api import ContinuousBatchingManager
from transformers.generation.continuous_batching.requests import RequestState

from rewarden_server.models.host.failure import Failure
from rewarden_server.models.host.sample import Sample
from rewarden_server.models.host.sampling import choose

_ATTENTION = frozenset({"sdpa", "flash_attention_2", "flash_attention_3"})
"""Those that the library runs over pages without changing the model, which scoring uses too."""


class Paged:
    """Samples that are written together; the same interface as `padded.Padded`. Used on one thread.

    chunk: tokens of a step at most. share: of the memory that is free now, for the cache. page, pages: its size, for
    tests; otherwise the library says. Raises ValueError or RuntimeError where the library cannot serve this model.
    """

    def __init__(
        self, model: Any, chunk: int, share: float = 0.5, page: int | None = None, pages: int | None = None
    ) -> None:
        if model.config._attn_implementation not in _ATTENTION:
            raise ValueError(f"attention {model.config._attn_implementation!r} does not go over pages")
        config = ContinuousBatchingConfig(
            max_batch_tokens=chunk,
            max_memory_percent=share,
            num_blocks=pages,
            use_async_batching=False,  # a sample says what it forces once its last token is known
            auto_switch_to_flash=False,
            **({} if page is None else {"page_size": page}),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            self._manager = ContinuousBatchingManager(model, model.generation_config, config)
            self._samples: dict[str, Sample] = {}
            self._ways = _Ways(self._samples, chunk)
            self._manager.logit_processor = self._ways.processors()
            self._processor: Any = self._manager._create_batch_processor()
        self._manager.batch_processor = self._processor
        self._count = 0

    @property
    def samples(self) -> list[Sample]:
        """All that are here, whether their prompts are read or not."""
        return list(self._samples.values())

    def take(self, samples: Sequence[Sample]) -> None:
        """Write these too, which have the same to read; it is read once."""
        ids = samples[0].read
        if len(ids) == 1:  # the library reads all but the last token once, which would be nothing
            for sample in samples:
                self._add([sample], ids)
        else:
            self._add(samples, ids)

    def drop(self, gone: Sequence[Sample]) -> None:
        """Go on without these."""
        out = set(map(id, gone))
        orphans: list[Sample] = []
        for name in [name for name, sample in self._samples.items() if id(sample) in out]:
            self._processor.scheduler.set_request_cancellation(name)
            del self._samples[name]
            state = self._state(name)
            if state is not None and state.num_children:  # those who wait for it to be read
                names = [f"{name}__child#{at}" for at in range(state.num_children)]
                orphans += [self._samples.pop(child) for child in names if child in self._samples]
        if orphans:
            self.take(orphans)

    def forget(self) -> list[Sample]:
        """Give up the cache's contents and all samples, which are returned; they can be taken again, and go on."""
        left = self.samples
        self._samples.clear()
        self._processor.reset()
        return left

    def step(self) -> list[Sample]:
        """One token more for each sample whose prompt is read, and one piece of prompts. Returns those that ended."""
        if not self._processor.prepare_next_batch():
            return []
        self._manager.current_batch = 0
        self._manager._generation_step()
        self._processor.update_batch()
        for sample in self._ways.unsound():
            sample.fail(Failure("not_finite", "the model's outputs are no numbers"))
        self._hear()
        ended = [sample for sample in self._samples.values() if sample.finish is not None]
        self.drop(ended)
        return ended

    def _hear(self) -> None:
        for name, state in list(self._processor.scheduler.active_requests.items()):
            sample = self._samples.get(name)
            if sample is None or not state.generated_tokens:
                continue
            # One that had to give up its pages has read what it wrote, as if that were its prompt.
            new = state.generated_tokens[len(sample.read) - len(state.initial_tokens) :]
            for token in new:
                if sample.finish is None:
                    sample.accept(token)

    def _add(self, samples: Sequence[Sample], ids: list[int]) -> None:
        name = str(self._count)
        self._count += 1
        names = [name, *(f"{name}__child#{at}" for at in range(len(samples) - 1))]
        self._samples.update(zip(names, samples, strict=True))
        state = RequestState(request_id=name, initial_tokens=ids, max_new_tokens=None, num_children=len(samples) - 1)
        self._processor.scheduler.add_waiting_request(state)

    def _state(self, name: str) -> Any:
        scheduler = self._processor.scheduler
        return scheduler.active_requests.get(name) or scheduler.waiting_requests.get(name)


class _Ways:
    """How each request's next token is found, told to the device as the library tells it: 32 bits a request each. rows:
    of a step at most; each has a token at least."""

    def __init__(self, samples: dict[str, Sample], rows: int) -> None:
        self._samples = samples
        self._rows = rows
        self._told: dict[str, Any] = {}
        self._asked: list[str] = []
        self._unsound: Any = None

    def processors(self) -> ContinuousBatchingLogitsProcessorList:
        """For the library."""
        told = [
            _Told(self, "temperature", torch.float32, 0.0, lambda sample: sample.task.temperature),
            _Told(self, "top_p", torch.float32, 1.0, lambda sample: sample.task.top_p),
            _Told(self, "draw", torch.float32, 0.0, lambda sample: sample.draw),
            _Told(self, "forced", torch.int32, -1, lambda sample: -1 if sample.forced is None else sample.forced),
        ]
        made = ContinuousBatchingLogitsProcessorList(LogitsProcessorList([*told, _Choice(self)]))
        made.tensors_required = len(told) + 1
        return made

    def sample(self, name: str) -> Sample | None:
        """The request's sample, unless it has been dropped."""
        return self._samples.get(name)

    def ask(self, names: list[str]) -> None:
        """Whose next tokens the step is for, as its rows have them in order; rows behind these are nobody's."""
        self._asked = names

    def tell(self, name: str, values: Any) -> None:
        """What the device has been told: one value a request."""
        self._told[name] = values

    def choose(self, scores: Any) -> Any:
        """Scores of which only the chosen token's is possible."""
        if self._unsound is None:
            self._unsound = torch.zeros(self._rows, dtype=torch.bool, device=scores.device)
        # In place, in one tensor for all steps: a graph that was captured writes to where it wrote then.
        self._unsound[: scores.size(0)] = ~torch.isfinite(scores.amax(dim=-1))
        told = self._told
        tokens = choose(scores, told["temperature"], told["top_p"], told["draw"])
        forced = told["forced"].long()
        tokens = torch.where(forced >= 0, forced, tokens)
        return torch.full_like(scores, float("-inf")).scatter_(-1, tokens[:, None], 0.0)

    def unsound(self) -> list[Sample]:
        """Those of the last step for which the model gave what is no number."""
        found = self._unsound[: len(self._asked)].tolist() if self._unsound is not None else []
        named = [self.sample(name) for name, wrong in zip(self._asked, found, strict=False) if wrong]
        return [sample for sample in named if sample is not None]


class _Told(ContinuousBatchingLogitsProcessor):  # type: ignore[misc]
    """Takes one value of each request to the device."""

    supported_kwargs: ClassVar[dict[str, type]] = {}
    ignored_kwargs: tuple[str, ...] = ()

    def __init__(
        self, ways: _Ways, name: str, dtype: torch.dtype, default: float, of: Callable[[Sample], float]
    ) -> None:
        self._ways, self._name, self._dtype, self._default, self._of = ways, name, dtype, default, of

    def fill_defaults(self, int32_tensor: Any) -> None:
        made = torch.full(int32_tensor.shape, self._default, dtype=self._dtype, device=int32_tensor.device)
        int32_tensor.copy_(made.view(torch.int32))

    def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> Any:
        samples = [self._ways.sample(request.state.request_id) for request in requests_with_new_token]
        values = [self._default if sample is None else self._of(sample) for sample in samples]
        return torch.tensor(values, dtype=self._dtype).view(torch.int32)

    def __call__(self, scores: Any, tensor_arg: Any) -> Any:
        self._ways.tell(self._name, tensor_arg[: scores.size(0)].view(self._dtype))
        return scores


class _Choice(ContinuousBatchingLogitsProcessor):  # type: ignore[misc]
    """Chooses, once all has been told."""

    supported_kwargs: ClassVar[dict[str, type]] = {}
    ignored_kwargs: tuple[str, ...] = ()

    def __init__(self, ways: _Ways) -> None:
        self._ways = ways

    def fill_defaults(self, int32_tensor: Any) -> None:
        int32_tensor.zero_()

    def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> Any:
        self._ways.ask([request.state.request_id for request in requests_with_new_token])
        return torch.zeros(len(requests_with_new_token), dtype=torch.int32)

    def __call__(self, scores: Any, tensor_arg: Any) -> Any:
        return self._ways.choose(scores)
