"""The settings of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated
from urllib.parse import urlsplit

from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.access.service_key import KeyOfFile, OneKey
from rewarden_server.setting import Count, Positive, Tables, Text, tables
from rewarden_verifiers.schema import AfterValidator, Misfit

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DEFAULTS = {one.name: one.default for one in fields(ModelEndpoint)}
_START = "is for our own process; start {backend} with an option of its own"
_OWN: Mapping[str, str] = {
    "base": "is for our own process; give the adapter to {backend}",
    "head": "is for our own process; set task to what the model does at {backend}",
    "pooling": "is for our own process; start {backend} with its --pooler-config or the like",
    **dict.fromkeys(("dtype", "device", "threads", "batch_tokens", "attention", "compile", "prefix"), _START),
    "latency_ms": "is for our own process; {backend} makes its batches itself",
    "reload_from": "is for our own process; another engine's weights are swapped there",
}
_ENGINES: Mapping[str, str] = {
    "task": "is for vllm and sglang (backend); our own process reads it from the model's files",
    "tokenizer": "is for vllm and sglang (backend); our own process takes that of the model's files",
}
"""For each setting that does not belong to a backend: what to do instead."""


def _checked(models: Mapping[str, ModelEndpoint]) -> Mapping[str, ModelEndpoint]:
    for name, model in models.items():
        if not _NAME.fullmatch(name):
            # The name is used in URLs (/v1/models/NAME) and in metrics.
            raise Misfit(": a name must be letters, digits and, inside, . _ -, at most 64 characters", f".{name}")
        ours = model.backend == "own"
        if model.address is None and not ours:
            message = f"is missing: set the URL of {model.backend}, such as http://HOST:8000"
            raise Misfit(message, f".{name}.address")
        # If these were ignored, the operator would rely on them, and a different model would answer.
        strangers = _ENGINES if ours else _OWN
        for key, instead in strangers.items():
            if getattr(model, key) != _DEFAULTS[key]:
                raise Misfit(instead.format(backend=model.backend), f".{name}.{key}")
        if model.address is not None and not _is_address(model.address, unix=ours):
            # An address can contain a password, so the message does not repeat it.
            message = f"must be {'unix:PATH or ' if ours else ''}http://HOST:PORT"
            raise Misfit(message, f".{name}.address")
    return models


def _is_address(address: str, *, unix: bool) -> bool:
    if unix and address.startswith("unix:"):
        return len(address) > len("unix:")
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port, or no host
        return False


def is_ours(model: ModelEndpoint) -> bool:
    """Returns whether the server itself starts the model's process."""
    return model.backend == "own" and model.address is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The models. named: the models by name; default: the model of samples that name none; if not set, the only model.
    cache_mb: the size of the cache of results, in MiB; 0: none. start_s: how long work waits for a process to load."""

    named: Annotated[
        Mapping[str, Annotated[ModelEndpoint, KeyOfFile, OneKey]],
        Tables,
        AfterValidator(_checked),
        tables("models.named"),
    ] = field(default_factory=dict)
    default: Text | None = None
    cache_mb: Count = 64
    start_s: Positive = 600.0
