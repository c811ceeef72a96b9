"""The handling of memory that runs out (smaller batches, for a while), or of a device lost to the process (end)."""

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
"""The words in a RuntimeError by which torch's allocators and libraries say that memory ran out."""

_LOST = (
    "device-side assert",
    "illegal memory access",
    "illegal instruction",
    "misaligned address",
    "unspecified launch failure",
    "uncorrectable ECC",
    "GPU is lost",
)
"""The words in a RuntimeError of torch's by which CUDA says that the device is lost."""

_log = logging.getLogger(__name__)

CALM_S = 60.0
"""Seconds without such a failure after which batches may be twice as large again."""

LEAST = 512
"""Tokens below which the budget does not fall: single rows decide then."""


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether that is what went wrong."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _SAID)


def is_device_lost(error: BaseException) -> bool:
    """Returns whether the device is of no use to this process any more: CUDA refuses all that comes after such an
    error.
    """
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _LOST)


def end_process() -> None:
    """End this process, since its device is lost to it: what is under way fails with `stopped`, and the next process
    has the device anew."""
    _log.error("the device is lost to this process, which ends")
    os.kill(os.getpid(), signal.SIGTERM)


def free_cache() -> None:
    """Give back what the allocator keeps."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def on_gpu(device: str) -> bool:
    """Returns whether a configured device is a GPU. False before torch was imported: nothing is on one then."""
    torch = sys.modules.get("torch")
    return device != "cpu" and torch is not None and bool(torch.cuda.is_available())


def available(device: str) -> int | None:
    """Bytes that can be taken: of a GPU's memory, or of this machine's without swapping; None if that is not known."""
    if on_gpu(device):
        import torch

        place = torch.device("cuda:0" if device == "auto" else device)
        kept = torch.cuda.memory_reserved(place) - torch.cuda.memory_allocated(place)
        return int(torch.cuda.mem_get_info(place)[0]) + kept
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


class Budget:
    """Tokens that a batch may have. It is halved by each failure, and grows back."""

    def __init__(self, tokens: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = tokens
        self._now = tokens
        self._clock = clock
        self._changed = clock()

    @property
    def tokens(self) -> int:
        """At this time."""
        while self._now < self._most and self._clock() - self._changed >= CALM_S:
            self._now = min(self._most, 2 * self._now)
            self._changed += CALM_S
        return self._now

    def failed(self, tokens: int) -> None:
        """A batch of so many was too much."""
        self._now = max(min(LEAST, self._most), min(self.tokens, tokens) // 2)
        self._changed = self._clock()
