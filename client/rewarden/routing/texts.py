"""JSON as data sets keep it in a text."""

from __future__ import annotations

import json
from typing import Any


def read_json(value: Any) -> Any:
    """The JSON in a text, or in a list of one text; what is not text is as it should be. Raises ValueError."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if not isinstance(value, (bytes, str)):
        return value
    try:
        return json.loads(value, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("is JSON that is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
