"""Rewarden's client: send a model's responses, get verdicts.

    from rewarden import Client

    with Client("http://127.0.0.1:8080") as client:
        verdict = client.verify_one("The answer is \\\\boxed{42}.", "42", use="math")
        verdict.status, verdict.score, verdict.reason

`Client` and `AsyncClient` send requests, `rewarden.types` has the data types, and `rewarden.errors` the exceptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewarden.errors import (
    DeadlineExceeded,
    FingerprintMoved,
    InternalError,
    InvalidRequest,
    NotFound,
    Overloaded,
    RequestError,
    RewardenError,
    StorageFull,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from rewarden.types import (
    BadSample,
    Batch,
    BatchResult,
    Component,
    Group,
    Limits,
    Media,
    Outcome,
    Progress,
    Run,
    RunResult,
    Sample,
    Step,
    StepScore,
    Use,
    Verdict,
    VerifierRef,
)

if TYPE_CHECKING:
    from rewarden.client import AsyncClient, Client
    from rewarden.retry import NO_RETRY, Retry
    from rewarden.sample_stream import SampleStream

# Loaded on first use: code that imports only the types (a worker process, a verifier) needs neither asyncio nor httpx.
_LATER = {
    "AsyncClient": "rewarden.client",
    "Client": "rewarden.client",
    "SampleStream": "rewarden.sample_stream",
    "NO_RETRY": "rewarden.retry",
    "Retry": "rewarden.retry",
}

__all__ = [
    "AsyncClient",
    "BadSample",
    "Batch",
    "BatchResult",
    "Client",
    "Component",
    "DeadlineExceeded",
    "FingerprintMoved",
    "Group",
    "InternalError",
    "InvalidRequest",
    "Limits",
    "Media",
    "NO_RETRY",
    "NotFound",
    "Outcome",
    "Overloaded",
    "Progress",
    "RequestError",
    "Retry",
    "RewardenError",
    "Run",
    "RunResult",
    "Sample",
    "SampleStream",
    "Step",
    "StepScore",
    "StorageFull",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "Use",
    "Verdict",
    "VerifierRef",
]


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'rewarden' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
