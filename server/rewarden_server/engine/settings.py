"""The settings of the engine: workers, limits, cache."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rewarden_sandboxes.settings import cores
from rewarden_server.setting import Count, File, Positive, Text, Whole


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
    cache_redis: address of a Redis that several servers share; its password may stand in cache_redis_password_file.
    cache_redis_ttl_s: seconds until it forgets an outcome. cache_key_file: a secret of at least 16 bytes; what lies
    there then carries a code that only who has it can make.
    query_workers, slow_query_workers: workers of verifiers that wait for something outside (`sql`), and those to which
    they move after `query_slow_s` seconds; query_memory_mb: the address space that these may take.
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
        """The settings of the lane of verifiers that wait: they keep their own time, and may idle."""
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
"""The backstop behind the limits that such a verifier sets itself, statement by statement."""
