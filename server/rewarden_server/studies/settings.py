"""The settings of uploaded rescores."""

from __future__ import annotations

from dataclasses import dataclass

from rewarden_server.setting import File, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Uploaded rescores. `dir`: where jobs lie (without it there are none); `max_bytes`: of one upload; `max_jobs`: of
    one key, ended ones too, until they are deleted; `max_total_bytes`: of all of them, with what they wrote."""

    dir: File | None = None
    max_bytes: Whole = 8 * 1024**3
    max_jobs: Whole = 1000
    max_total_bytes: Whole = 100 * 1024**3
