"""Presets: the parameters under which a verifier gives a benchmark's official verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidParams
from rewarden_verifiers.field_default import default_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One benchmark's parameters. A verifier lists them by name in the class variable `presets` of its parameters, and
    takes the name as its parameter `preset`.

    sets: values that replace the parameters' defaults. free: parameters that can be given together with the preset,
    because the official rule leaves them open; all others keep the value in `sets` or their default.
    """

    sets: Mapping[str, Any] = field(default_factory=dict)
    free: tuple[str, ...] = ()


def presets_of(params_type: type | None) -> Mapping[str, Preset]:
    """The presets listed by a verifier's parameters, by name."""
    return getattr(params_type, "presets", {})


def filled(params_type: type, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fills in the parameters that their preset sets. Raises InvalidParams if a given parameter contradicts it.

    Unknown presets and parameters are left to the type check.
    """
    presets = presets_of(params_type)
    name = params.get("preset")
    preset = presets.get(name) if isinstance(name, str) else None
    if preset is None:
        return params
    for one in dataclasses.fields(params_type):
        if one.name == "preset" or one.name not in params or one.name in preset.free:
            continue
        wanted = preset.sets.get(one.name, default_of(one))
        if _plain(params[one.name]) != _plain(wanted):
            free = ", ".join(preset.free) or "none"
            raise InvalidParams(
                f"preset {name!r} and the parameter {one.name!r} contradict each other: the official verdict needs"
                f" {_plain(wanted)!r} there; leave out one of the two (free beside this preset: {free})",
                path=f"params.{one.name}",
            )
    return {**preset.sets, **params}


def _plain(value: Any) -> Any:
    """Converts a value to its JSON form: a default can be a tuple where JSON has a list."""
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
