"""A reference in JSON, as a caller writes it: fields with their default values are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from rewarden_verifiers.execution.reference import CodeReference, Strict


def reference_to_json(reference: CodeReference) -> dict[str, Any]:
    """Returns the JSON that is read as this reference."""
    plain: dict[str, Any] = _plain(reference)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Strict):
        given = ((item, getattr(value, item.name)) for item in fields(value))  # type: ignore[arg-type]
        return {item.name: _plain(one) for item, one in given if one != _default(item)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()
