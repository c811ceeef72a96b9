"""The identity of a model: the part of its configuration that may change its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from rewarden_models.endpoint import ModelEndpoint, is_local
from rewarden_server.models.settings import ModelSettings


def identity(settings: ModelEndpoint) -> Mapping[str, Any]:
    """The model and how it is run. Keys, limits, paths and addresses are left out: they change no number."""
    names = ("backend", "revision", "dtype", "context", "attention", "compile", "pooling", "head", "task")
    places = {
        name: source(place) for name in ("model", "base", "tokenizer") if (place := getattr(settings, name)) is not None
    }
    weak = {"weak": True} if settings.weak else {}
    return {**places, **{name: getattr(settings, name) for name in names}, **weak}


def source(model: str) -> str:
    """A name on the hub as it is; for a folder or file, only its own name."""
    return PurePath(model).name if is_local(model) else model


def default_model(settings: ModelSettings) -> str | None:
    """The model for samples that name none: as configured, or the only one."""
    if settings.default is None and len(settings.named) == 1:
        return next(iter(settings.named))
    return settings.default
