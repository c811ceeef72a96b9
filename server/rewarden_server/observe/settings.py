"""The settings of the log, of traces, and of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Le

from rewarden_server.setting import Amount, File, Text, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """The level of the log, and its format: JSON lines or readable text."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """Traces. `endpoint`: a collector for OTLP over HTTP (if not set, there are no traces); `service`: the service name
    of this server; `sample_share`: the share of requests to trace, besides those that callers already trace."""

    endpoint: Text | None = None
    service: Text = "rewarden"
    sample_share: Annotated[Amount, Le(1)] = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """Records for `rewarden explain`. `dir`: their folder (if not set, there are none); `share`: the share of other
    samples to record; `max_bytes`: their total size; the oldest are deleted first."""

    dir: File | None = None
    share: Amount = 0.01
    max_bytes: Whole = 10 * 1024**3
