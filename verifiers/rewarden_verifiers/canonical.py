"""Canonical JSON: one text for each value, for digests and cache keys."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> str:
    """JSON text that is equal if and only if the values are. Raises TypeError for values that are not JSON-like."""

    def default(item: Any) -> Any:
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}  # asdict copies deeply
        if isinstance(item, Mapping):
            return dict(item)
        if isinstance(item, (set, frozenset)):
            return sorted(item)
        raise TypeError(f"{type(item).__name__} has no canonical form")

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=default)
