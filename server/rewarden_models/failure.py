"""All that goes wrong in the model process, by the kinds that its wire knows."""

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
    """A task that has no result, or a model that cannot be had. kind: see `wire.error_from_wire`, which names what is
    raised for it on the server's side; message: for whoever asked, without the sample's text; details: JSON-ready
    (`too_long`: tokens, context, candidate)."""

    def __init__(self, kind: Kind, message: str, **details: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details
