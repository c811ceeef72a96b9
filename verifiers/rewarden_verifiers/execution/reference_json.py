"""Writes a reference as JSON the way a caller writes it, without fields that have their default values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rewarden_verifiers.execution.reference import CodeReference, Strict
from rewarden_verifiers.field_default import default_of


def reference_to_json(reference: CodeReference) -> dict[str, Any]:
    """Returns the JSON that parses to this reference."""
    plain: dict[str, Any] = _plain(reference)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Strict):
        given = ((item, getattr(value, item.name)) for item in fields(value))  # type: ignore[arg-type]
        return {item.name: _plain(one) for item, one in given if one != default_of(item)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
