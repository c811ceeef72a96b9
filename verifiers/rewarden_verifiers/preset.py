"""Presets: the parameters under which a verifier gives the official verdict of a benchmark."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidParams
from rewarden_verifiers.field_default import default_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One benchmark's parameters. A verifier lists them by name in the class variable `presets` of its parameters,
    and takes the name as its parameter `preset`.

    sets: values in place of the parameters' defaults. free: parameters that may be given beside the preset, which the
    official rule leaves open; all others stand as `sets` or their defaults have them.
    """

    sets: Mapping[str, Any] = field(default_factory=dict)
    free: tuple[str, ...] = ()


def presets_of(params_type: type | None) -> Mapping[str, Preset]:
    """The presets that a verifier's parameters list, by name."""
    return getattr(params_type, "presets", {})


def filled(params_type: type, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters with those that their preset sets. Raises InvalidParams if one that was given contradicts it.

    An unknown preset, and parameters that are none, are left for who reads the types.
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
    """A value as JSON has it: a default may be a tuple where a list is given."""
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
