"""The response to running out of memory (smaller batches for a while) and to a device lost to the process (exit)."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_SAID = ("out of memory", "can't allocate memory", "DefaultCPUAllocator", "ALLOC_FAILED", "Cannot allocate memory")
"""Text in a RuntimeError by which torch's allocators and libraries report that memory ran out."""

_LOST = (
    "device-side assert",
    "illegal memory access",
    "illegal instruction",
    "misaligned address",
    "unspecified launch failure",
    "uncorrectable ECC",
    "GPU is lost",
)
"""Text in torch's RuntimeError by which CUDA reports that the device is lost."""

_log = logging.getLogger(__name__)

CALM_S = 60.0
"""Seconds without such a failure after which batches may double in size again."""

LEAST = 512
"""Tokens below which the budget does not fall: from there on, single rows decide."""


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether the error means that memory ran out."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _SAID)


def is_device_lost(error: BaseException) -> bool:
    """Returns whether the device is lost to this process: after such an error CUDA refuses all further work."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _LOST)


def end_process() -> None:
    """End this process because its device is lost to it. Work in progress fails with `stopped`, and the next process
    gets the device afresh."""
    _log.error("the device is lost to this process, which ends")
    os.kill(os.getpid(), signal.SIGTERM)


def free_cache() -> None:
    """Release the memory that the allocator caches."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def on_gpu(device: str) -> bool:
    """Returns whether a configured device is a GPU. False until torch has been imported: nothing is on a GPU then."""
    torch = sys.modules.get("torch")
    return device != "cpu" and torch is not None and bool(torch.cuda.is_available())


def available(device: str) -> int | None:
    """Bytes that can be allocated: on the GPU, or on this machine without swapping; None if unknown."""
    if on_gpu(device):
        import torch

        place = torch.device("cuda:0" if device == "auto" else device)
        kept = int(torch.cuda.memory_reserved(place) - torch.cuda.memory_allocated(place))
        return int(torch.cuda.mem_get_info(place)[0]) + kept
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


class Budget:
    """Tokens that a batch may have. Each failure halves it; it grows back."""

    def __init__(self, tokens: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = tokens
        self._now = tokens
        self._clock = clock
        self._changed = clock()

    @property
    def tokens(self) -> int:
        """The budget now."""
        while self._now < self._most and self._clock() - self._changed >= CALM_S:
            self._now = min(self._most, 2 * self._now)
            self._changed += CALM_S
        return self._now

    def failed(self, tokens: int) -> None:
        """A batch of this many tokens was too large."""
        self._now = max(min(LEAST, self._most), min(self.tokens, tokens) // 2)
        self._changed = self._clock()
