"""The settings of uploaded rescores."""

from __future__ import annotations

from dataclasses import dataclass

from rewarden_server.setting import File, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Uploaded rescores. `dir`: the folder of jobs (if not set, there are none); `max_bytes`: per upload; `max_jobs`:
    per key, including finished ones until they are deleted; `max_total_bytes`: all jobs together, with their output."""

    dir: File | None = None
    max_bytes: Whole = 8 * 1024**3
    max_jobs: Whole = 1000
    max_total_bytes: Whole = 100 * 1024**3
