"""The default value of a dataclass's field."""

from __future__ import annotations

from dataclasses import MISSING, Field
from typing import Any


def default_of(field: Field[Any]) -> Any:
    """Returns the value of a field that is not given; `MISSING` if it must be given."""
    return field.default if field.default_factory is MISSING else field.default_factory()
