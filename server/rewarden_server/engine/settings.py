"""The settings of the engine: places, limits, cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rewarden_models.endpoint import ModelEndpoint
from rewarden_sandboxes.job import Limits


def default_workers() -> int:
    """One cpu worker for each core that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """The sandbox hosts on which programs run.

    address: sandbox hosts that run already (`unix:PATH`, `HOST:PORT`, separated by commas); without one the server
    starts its own. tls_cert, tls_key, tls_ca: PEM files for hosts on other machines: our certificate and its key, where
    hosts ask for one, and who signed the hosts'. token_file: a secret that server and hosts share.
    required: without a working sandbox the server is not ready. in_flight: jobs that are sent to the host at once, the
    rest waits here in order; none: 4 for each slot. max_waiting: single runs that may wait; over it is 429.
    start_s: seconds to wait for a host that starts, or is started again, before work is refused.

    What follows is told to the host that the server starts, and means what it means in
    `rewarden_sandboxes.settings.HostSettings`; none: the host's own default.
    """

    address: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    token_file: Path | None = None
    required: bool = False
    in_flight: int | None = None
    max_waiting: int = 2000
    start_s: float = 30.0
    launcher: Literal["auto", "docker", "bwrap", "none"] = "auto"
    slots: int | None = None
    sessions: int | None = None
    warm: int | None = None
    cpu_permits: int | None = None
    runtime: str | None = None
    apparmor: str | None = None
    image_prefix: str | None = None
    image_tag: str | None = None
    rootfs: str | None = None
    uid: int | None = None
    languages: Path | None = None
    rooms: Literal["auto", "yes", "no"] = "auto"
    queue_timeout_s: float | None = None
    drain_s: float | None = None
    limits: Limits = field(default_factory=Limits)
    max_limits: Limits = field(default_factory=Limits)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The hosts that run already."""
        return tuple(part.strip() for part in (self.address or "").split(",") if part.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class LeanSettings:
    """The places of Lean's projects, and the number of Lean processes.

    projects: name to the folder of a built lake project, to a toolchain's folder, or to the address of a server of
    Kimina's protocol (http://…). Without any, each toolchain that elan has is a project, named by its version. default:
    the project of samples that name none; the first one where nothing is set. warm: project to import lines, which are
    loaded before the first sample comes. processes: Lean processes that are alive at once, all import headers
    together; each may have memory_mb. snippets: after so many a process is replaced. cpu_s, wall_s: of one text, where
    the caller says nothing. kept_mb: compiled references that are kept. kimina_key: for remote projects.
    """

    projects: Mapping[str, str] = field(default_factory=dict)
    default: str | None = None
    warm: Mapping[str, str] = field(default_factory=dict)
    processes: int = field(default_factory=default_workers)
    memory_mb: int = 8192
    snippets: int = 1000
    cpu_s: float = 60.0
    wall_s: float = 30.0
    kept_mb: int = 256
    kimina_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEndpoint:
    """One judge: a model behind an endpoint, how it is asked, and what it may take.

    model: as its server calls it. provider: `openai`: whatever speaks OpenAI's chat protocol at `base_url` (none:
    OpenAI itself); `litellm`: other vendors, through that package. api_key_env: the environment variable that holds the
    key; api_key: the key itself. headers: sent with each request. extra: fields that are added to each request's body,
    such as `chat_template_kwargs`.

    temperature, top_p, max_tokens: of the sampling, where the verifier's parameters say nothing. structured: how a
    reply's form is enforced: by `json_schema`, as a `json_object`, by nothing (`none`); `auto`: the first of these that
    the server takes.

    concurrency: requests in flight at once. requests_per_minute, tokens_per_minute: none: no limit. timeout_s: of one
    attempt, from its start to the reply's end; connect_s: until there is a connection. retries: further attempts after
    408, 409, 429, 5xx, a time-out, a lost connection, or a reply that is none; backoff_s: the longest pause before one:
    a server that asks for more is not waited for. breaker_failures: so many failures in a row (429 is none: the server
    is there), and the judge is not asked for breaker_s seconds.

    fallback: judges that are asked, in order, where this one cannot be. input_usd, output_usd: of a million tokens.
    budget_usd, budget_tokens, budget_calls: what all requests of this process together may take, which is exceeded by
    no more than one request. What a request took whose end is not known counts with its upper bound.
    """

    model: str
    base_url: str | None = None
    provider: Literal["openai", "litellm"] = "openai"
    api_key_env: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict)
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    structured: Literal["auto", "json_schema", "json_object", "none"] = "auto"
    concurrency: int = 64
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout_s: float = 120.0
    connect_s: float = 10.0
    retries: int = 4
    backoff_s: float = 20.0
    breaker_failures: int = 8
    breaker_s: float = 15.0
    fallback: tuple[str, ...] = ()
    input_usd: float | None = None
    output_usd: float | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The judges that can be asked for opinions. named: the judges; default: of samples that name none; the only one
    where nothing is set. cache_mb: replies that are remembered, MiB; 0: none."""

    named: Mapping[str, JudgeEndpoint] = field(default_factory=dict)
    default: str | None = None
    cache_mb: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The models that exist. named: the models; default: of samples that name none; the only one where nothing is set.
    cache_mb: results that are remembered, MiB; 0: none. start_s: how long work waits for a process that loads."""

    named: Mapping[str, ModelEndpoint] = field(default_factory=dict)
    default: str | None = None
    cache_mb: int = 64
    start_s: float = 600.0


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
    query_workers: int = field(default_factory=lambda: 2 * default_workers())
    slow_query_workers: int = field(default_factory=default_workers)
    query_slow_s: float = 0.25
    query_memory_mb: int = 2048
    cache: bool = True
    cache_entries: int = 200_000
    cache_bytes: int = 256 * 1024**2
    cache_dir: Path | None = None
    cache_redis: str | None = field(default=None, repr=False)
    cache_redis_password_file: Path | None = None
    cache_redis_ttl_s: int = 7 * 24 * 3600
    cache_key_file: Path | None = None
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
