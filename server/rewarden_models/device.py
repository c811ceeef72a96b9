"""One compute thread per device, shared by all models of this process on that device."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

_THREADS: dict[str, ThreadPoolExecutor] = {}


def thread_of(device: str, cores: int | None = None) -> ThreadPoolExecutor:
    """The device's thread. Work submitted to it runs in order, so models and writers take turns. cores: the number of
    CPU threads that torch uses there, if this call creates the thread; None: torch's own setting."""
    if device not in _THREADS:
        _THREADS[device] = ThreadPoolExecutor(1, f"torch-{device}", _begin, (cores,))
    return _THREADS[device]


def _begin(cores: int | None) -> None:
    import torch

    if cores is not None:
        torch.set_num_threads(cores)  # OpenMP keeps this number for each thread that asks
