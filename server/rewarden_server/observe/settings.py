"""The settings of the log, of traces, and of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Le

from rewarden_server.setting import Amount, File, Text, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """The level of the log, and its form: JSON lines, or text for a person."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """Traces. `endpoint`: a collector that takes OTLP over HTTP (without it there are none); `service`: what they say
    this server is; `sample_share`: of the requests that are traced, beside those whose callers trace already."""

    endpoint: Text | None = None
    service: Text = "rewarden"
    sample_share: Annotated[Amount, Le(1)] = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """Records for `rewarden explain`. `dir`: where they lie (without it none are kept); `share`: of what is dull;
    `max_bytes`: of all of them, the oldest go first."""

    dir: File | None = None
    share: Amount = 0.01
    max_bytes: Whole = 10 * 1024**3
