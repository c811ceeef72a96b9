"""Parsing of a slot's frames: hostile code may have made the supervisor send anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.job import Report


def report_of(told: dict[str, Any], body: bytes, enforced: Mapping[str, str]) -> Report:
    """Returns the report in a frame. Raises KeyError, TypeError, ValueError or FrameError if it is malformed."""
    limit, peak = told["limit"], told["peak_memory"]
    return Report(
        status=told["status"],
        limit=None if limit is None else str(limit),
        exit_code=told["exit_code"],
        signal=told["signal"],
        stdout=frames.view(body, told["stdout"]),
        stderr=frames.view(body, told["stderr"]),
        reply=frames.view(body, told["reply"]),
        cpu_time=float(told["cpu_time"]),
        wall_time=float(told["wall_time"]),
        idle_time=float(told["idle_time"]),
        peak_memory=None if peak is None else int(peak),
        truncated=bool(told["truncated"]),
        files={str(path): frames.view(body, place) for path, place in told["files"].items()},
        enforced=enforced,
        flags=tuple(map(str, told["flags"])),
        message=None if told["message"] is None else str(told["message"])[:2000],
    )
