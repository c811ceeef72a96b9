"""All failures of the model process, by the kinds that its wire format knows."""

from __future__ import annotations

from typing import Any, Literal

Kind = Literal[
    "too_long",
    "unsupported",
    "unknown_model",
    "invalid",
    "memory",
    "not_finite",
    "loading",
    "failed",
    "stopped",
    "missing",
    "forbidden",
]


class Failure(Exception):
    """A task without a result, or a model that is not available. kind: see `wire.error_from_wire`, which maps it to the
    server's exceptions; message: for the caller, without the sample's text; details: JSON-ready (`too_long`: tokens,
    context, candidate)."""

    def __init__(self, kind: Kind, message: str, **details: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details
