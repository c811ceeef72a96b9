"""The settings of incoming requests: their limits, and the routing of samples that name no verifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Le

from rewarden_server.setting import File, Positive, Text, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """The limits of one request. A request over a limit gets 413; a single row over it gets an error verdict. Sizes are
    in bytes, after decompression.

    max_body_bytes: a whole request. max_sample_bytes: one row. max_samples: rows of a request, or of one
    message of a gRPC stream. max_depth: nesting of JSON. max_run_bytes: a program with its input and files.
    max_blob_bytes: one blob. blob_store_bytes: all blobs together; the least recently used ones are evicted.
    max_open_bytes: the bodies of all requests that are held at once; beyond it, requests get 429. max_connections:
    connections per port; beyond it, HTTP gets 503 and gRPC closes. header_timeout_s: the time for a request's line and
    headers, in seconds.
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
    """The routing of samples without a verifier, in requests without one. `file`: a routing file, or `starter` for the
    routes that ship with Rewarden; without it, such samples are errors with fault `caller`."""

    file: Text | None = None
