"""The default value of a dataclass's field."""

from __future__ import annotations

from dataclasses import MISSING, Field
from typing import Any


def default_of(field: Field[Any]) -> Any:
    """Returns the default value of a field; `MISSING` if the field is required."""
    return field.default if field.default_factory is MISSING else field.default_factory()
