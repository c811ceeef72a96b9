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
    """The source of swapped-in weights; see `ModelEndpoint` for both fields."""

    model: str
    revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """models: the process's models, by name. swapped: where the weights of a model now are, if they were swapped in an
    earlier process: when a process is lost in the middle of training, the original weights must not come back. key_env:
    the environment variable with the key that callers must show; None: anyone who can connect may use it.
    max_body_bytes: of one request, including images."""

    models: Mapping[str, ModelEndpoint] = field(default_factory=dict)
    swapped: Mapping[str, Place] = field(default_factory=dict)
    key_env: str | None = None
    max_body_bytes: int = 256 * 1024**2


def settings_to_json(settings: ProcessSettings) -> str:
    """The settings for a command line. Everyone on the machine can read that, so keys are left out."""
    told = asdict(settings)
    for model in told["models"].values():
        del model["api_key"]
    return json.dumps(told)


def settings_from_json(text: str) -> ProcessSettings:
    """Raises ValueError, naming the problem, for anything but the output of `settings_to_json`."""
    try:
        given: Any = msgspec.json.decode(text)
        known = ProcessSettings.__dataclass_fields__
        unknown = set(given) - set(known) if isinstance(given, dict) else set()
        if unknown:
            raise ValueError(f"unknown setting {min(unknown)!r}; known: {', '.join(known)}")
        return msgspec.convert(given, ProcessSettings)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"the settings: {error}") from None
