"""The one thread that computes on a device, for all models of this process that are on it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

_THREADS: dict[str, ThreadPoolExecutor] = {}


def thread_of(device: str, cores: int | None = None) -> ThreadPoolExecutor:
    """Its thread. What is handed to it is done in order, so that models and writers take turns. cores: that torch uses
    from there, where this makes the thread; None: what it is set to."""
    if device not in _THREADS:
        _THREADS[device] = ThreadPoolExecutor(1, f"torch-{device}", _begin, (cores,))
    return _THREADS[device]


def _begin(cores: int | None) -> None:
    import torch

    if cores is not None:
        torch.set_num_threads(cores)  # OpenMP keeps this number for each thread that asks
