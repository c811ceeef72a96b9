"""The settings of a model process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from rewarden_models.endpoint import ModelEndpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The source of weights that were swapped in; see `ModelEndpoint` for both."""

    model: str
    revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """models: that it has, by name. swapped: of those whose weights were swapped in a process before this one, where
    the weights now are: a process that is lost in the middle of a training must not bring the first ones back. key_env:
    the environment variable that holds the key which callers must show; none: whoever reaches it may ask.
    max_body_bytes: of one request; images count."""

    models: Mapping[str, ModelEndpoint] = field(default_factory=dict)
    swapped: Mapping[str, Place] = field(default_factory=dict)
    key_env: str | None = None
    max_body_bytes: int = 256 * 1024**2


def settings_to_json(settings: ProcessSettings) -> str:
    """For a command line, which everybody on the machine can read: keys are left out."""
    told = asdict(settings)
    for model in told["models"].values():
        del model["api_key"]
    return json.dumps(told)


def settings_from_json(text: str) -> ProcessSettings:
    """Raises ValueError, naming what is wrong, for anything else than what `settings_to_json` makes."""
    try:
        given: Any = msgspec.json.decode(text)
        known = ProcessSettings.__dataclass_fields__
        unknown = set(given) - set(known) if isinstance(given, dict) else set()
        if unknown:
            raise ValueError(f"unknown setting {min(unknown)!r}; known: {', '.join(known)}")
        return msgspec.convert(given, ProcessSettings)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"the settings: {error}") from None
