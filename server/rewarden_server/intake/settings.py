"""The settings of what comes in: its limits, and where samples go that name no verifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Le

from rewarden_server.setting import File, Positive, Text, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """The limits of one request; over them is 413, for a single row that row's error. Sizes in bytes, unpacked.

    max_body_bytes: a whole request. max_sample_bytes: one row. max_samples: rows of a request that is no stream.
    max_depth: nesting of JSON. max_run_bytes: a program with its input and files. max_blob_bytes: one blob.
    blob_store_bytes: all blobs together; the least recently used one goes first. max_open_bytes: bodies that are held
    at once, of all requests together; over it is 429. max_connections: of each port, at once; over it is 503,
    and gRPC closes. header_timeout_s: what a request's line and headers may take, in seconds.
    """

    max_body_bytes: Whole = 256 * 1024**2
    max_sample_bytes: Whole = 16 * 1024**2
    max_samples: Whole = 131_072
    max_depth: Annotated[Whole, Le(500)] = 64
    max_run_bytes: Whole = 64 * 1024**2
    max_blob_bytes: Whole = 64 * 1024**2
    blob_store_bytes: Whole = 1024**3
    max_open_bytes: Whole = 2 * 1024**3
    max_connections: Whole = 10_000
    header_timeout_s: Positive = 20.0
    blob_dir: File | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingSettings:
    """The routing of samples that name no verifier, in requests that name none either. `file`: a routing file, or
    `starter` for the routes that ship; without one such samples are errors of the caller's."""

    file: Text | None = None
