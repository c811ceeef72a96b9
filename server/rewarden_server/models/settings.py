"""The settings of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.access.service_key import KeyOfFile, OneKey
from rewarden_server.setting import Count, Positive, Tables, Text, tables
from rewarden_verifiers.schema import AfterValidator, Misfit

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _checked(models: Mapping[str, ModelEndpoint]) -> Mapping[str, ModelEndpoint]:
    for name, model in models.items():
        if not _NAME.fullmatch(name):
            # It stands in addresses (/v1/models/NAME) and in metrics.
            raise Misfit(": a name must be letters, digits and, inside, . _ -, at most 64 characters", f".{name}")
        ours = model.backend == "own"
        if model.address is None and not ours:
            message = f"is missing: set the URL of {model.backend}, such as http://HOST:8000"
            raise Misfit(message, f".{name}.address")
        if model.base is not None and not ours:
            # Ignored, it would be another model that answers.
            raise Misfit(f"is for our own process; give the adapter to {model.backend}", f".{name}.base")
        if model.address is not None and not _is_address(model.address, unix=ours):
            # An address may hold a password: it is not repeated.
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
    """Returns whether the server itself starts what runs this model."""
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
