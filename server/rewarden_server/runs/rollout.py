"""A stored rollout: columns to search by, and everything else as compressed JSON.

The JSON is that of a record (`observe.record`) with shared values filled in: a header with the use and the step, the
sample, the verdict, and the number of the request.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import replace
from typing import Any

from rewarden.errors import SampleError
from rewarden.types import Batch, Sample
from rewarden.wire.json import dumps, header_to_json, sample_to_json, verdict_to_json
from rewarden_server.engine.plan import Planner
from rewarden_server.observe.rewards import position_of
from rewarden_server.runs.figures import NAME_CHARS
from rewarden_server.runs.keeper import Kept
from rewarden_server.runs.stored_name import stored_name
from rewarden_verifiers.canonical import canonical

COLUMNS = (
    "run",
    "by_step",
    "at",
    "source",
    "time",
    "step",
    "status",
    "passed",
    "position",
    "reason",
    "flags",
    "member",
    "prompt",
    "data",
)

MOST_BYTES = 1024**2
"""A rollout whose JSON is longer is not stored: one with files, images or large tests."""

_DIGEST_BYTES = 8


def row_of(kept: Kept, step: int | None) -> tuple[Any, ...] | None:
    """Returns the columns of a rollout from `time` on; None if it is too long."""
    sample, verdict = _in_place(kept.sample, kept.header), kept.verdict
    header = Batch(use=kept.header.use, progress=kept.header.progress)
    row = {
        "header": header_to_json(header),
        "sample": sample_to_json(sample),
        "verdict": verdict_to_json(verdict),
        "request": kept.request,
    }
    data = dumps(row)
    if len(data) > MOST_BYTES:
        return None
    flags = "".join(f"{stored_name(flag, NAME_CHARS)} " for flag in verdict.flags)
    return (
        kept.time,
        step,
        verdict.status,
        verdict.passed,
        position_of(verdict.score, verdict.range),
        None if verdict.reason is None else stored_name(verdict.reason, NAME_CHARS),
        f" {flags}" if flags else "",
        None if verdict.group is None else stored_name(verdict.group, NAME_CHARS),
        _digest(sample),
        zlib.compress(data),
    )


def unpacked(data: bytes) -> dict[str, Any]:
    """Returns the JSON of a stored rollout."""
    row: dict[str, Any] = json.loads(zlib.decompress(data))
    return row


def _in_place(sample: Sample, header: Batch) -> Sample:
    try:
        return Planner.resolve(sample, header.shared)
    except SampleError:  # its verdict says so
        return replace(sample, prompt_key=None, reference_key=None)


def _digest(sample: Sample) -> bytes | None:
    """Returns a digest of the prompt, or of the reference if no prompt was sent."""
    asked = sample.prompt if sample.prompt is not None else sample.reference
    if asked is None:
        return None
    text = asked if isinstance(asked, str) else canonical(asked)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
