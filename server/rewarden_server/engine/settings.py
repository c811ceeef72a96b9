"""What the engine is told: places, limits, cache."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


def default_workers() -> int:
    """One cpu worker for each core that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Times in seconds of CPU where not said otherwise; sizes in the unit of the name.

    item_cpu_s: a pure verifier's limit per item; what reaches it is scored at the bottom as `too_expensive`.
    slow_s: an item that takes longer on a fast worker starts again on a slow, low-priority one.
    worker_memory_mb: address space that a worker may take beyond what it had when warm.
    worker_items: items after which a worker is replaced by a fresh one.
    idle_s: seconds of wall time that a worker may hold an item without using CPU (a pure verifier never waits).
    max_samples, max_bytes: what may be admitted at once; a request that does not fit is refused (429).
    window_samples, window_bytes: what one stream may have in flight before its `put` waits.
    orchestrations: orchestrators that may be under way at once.
    """

    workers: int = field(default_factory=default_workers)
    slow_workers: int = 1
    item_cpu_s: float = 2.0
    slow_s: float = 0.1
    worker_memory_mb: int = 1024
    worker_items: int = 50_000
    idle_s: float = 10.0
    prefetch: int = 16
    max_samples: int = 200_000
    max_bytes: int = 2 * 1024**3
    window_samples: int = 2048
    window_bytes: int = 64 * 1024**2
    orchestrations: int = 512
    cache: bool = True
    cache_entries: int = 200_000
    cache_bytes: int = 256 * 1024**2
    cache_dir: Path | None = None
    eager: bool = False
