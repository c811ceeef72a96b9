"""The settings of the engine: workers, limits, cache."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rewarden_sandboxes.settings import cores
from rewarden_server.setting import Count, File, Positive, Text, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Times are in seconds of CPU unless noted; sizes are in the unit of the name.

    item_cpu_s: a pure verifier's limit per item; an item that reaches it gets the lowest score, as `too_expensive`.
    slow_s: an item that takes longer on a fast worker is restarted on a slow, low-priority one.
    worker_memory_mb: address space that a worker can use beyond its warm state.
    worker_items: a worker is replaced after this many items.
    idle_s: seconds of wall time that a worker can hold an item without using CPU (a pure verifier never waits).
    max_samples, max_bytes: the most that is admitted at once; a request that does not fit is refused (429).
    window_samples, window_bytes: the most that one stream can have in flight before its `put` waits.
    orchestrations: the most orchestrators that run at once.
    cache_redis: the address of a Redis that several servers share; cache_redis_password_file can hold its password.
    cache_redis_ttl_s: seconds until an outcome expires there. cache_key_file: a secret of at least 16 bytes that signs
    the outcomes stored there.
    query_workers, slow_query_workers: workers for verifiers that wait for something outside (`sql`), and those to which
    items move after `query_slow_s` seconds; query_memory_mb: the address space that these workers can use.
    """

    workers: Whole = field(default_factory=cores)
    slow_workers: Count = 1
    item_cpu_s: Positive = 2.0
    slow_s: Positive = 0.1
    worker_memory_mb: Whole = 1024
    worker_items: Whole = 50_000
    idle_s: Positive = 10.0
    prefetch: Whole = 16
    max_samples: Whole = 200_000
    max_bytes: Whole = 2 * 1024**3
    window_samples: Whole = 2048
    window_bytes: Whole = 64 * 1024**2
    orchestrations: Whole = 512
    query_workers: Whole = field(default_factory=lambda: 2 * cores())
    slow_query_workers: Whole = field(default_factory=cores)
    query_slow_s: Positive = 0.25
    query_memory_mb: Whole = 2048
    cache: bool = True
    cache_entries: Count = 200_000
    cache_bytes: Count = 256 * 1024**2
    cache_dir: File | None = None
    cache_redis: Text | None = field(default=None, repr=False)
    cache_redis_password_file: File | None = None
    cache_redis_ttl_s: Whole = 7 * 24 * 3600
    cache_key_file: File | None = None
    eager: bool = False

    def for_queries(self) -> EngineSettings:
        """Returns the settings of the lane of verifiers that wait: they limit their own time, and can idle."""
        return replace(
            self,
            workers=self.query_workers,
            slow_workers=self.slow_query_workers,
            slow_s=self.query_slow_s,
            item_cpu_s=_QUERY_ITEM_S,
            idle_s=_QUERY_ITEM_S,
            worker_memory_mb=self.query_memory_mb,
            prefetch=4,
        )


_QUERY_ITEM_S = 1800.0
"""The backstop for the limits that such a verifier sets itself, per statement."""
