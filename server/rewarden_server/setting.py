"""The types of settings, with their bounds and their forms in the environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt, MinLen, doc

from rewarden_verifiers.schema import AfterValidator, BeforeValidator

Whole = Annotated[int, Gt(0)]
"""A whole number above 0."""

Count = Annotated[int, Ge(0)]
"""A whole number, 0 included."""

Port = Annotated[int, Ge(0), Le(65_535)]
"""A port; 0 picks a free one."""

Positive = Annotated[float, Gt(0), Lt(float("inf"))]
"""A number above 0."""

Amount = Annotated[float, Ge(0), Lt(float("inf"))]
"""A number, 0 included."""

Text = Annotated[str, MinLen(1)]
"""A non-empty string."""

File = Annotated[Path, AfterValidator(Path.expanduser)]
"""A path; `~` is the home of the user who runs the server."""


def _parts(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _pairs(value: Any) -> Any:
    parts = _parts(value)
    if not isinstance(value, str) or not all("=" in part for part in parts):
        return value
    return dict(part.partition("=")[::2] for part in parts)


def _json(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


Parts = BeforeValidator(_parts)
"""A list, in the environment with commas between its texts."""

Pairs = BeforeValidator(_pairs)
"""A table, in the environment `name=text,name=text`."""

Tables = BeforeValidator(_json)
"""Tables by name, in the environment one JSON object."""


def texts(example: str) -> Any:
    """Describes a setting as a list of strings such as the example."""
    return doc(f'a list such as ["{example}"] (in the environment: separated by commas)')


def table(name: str, text: str) -> Any:
    """Describes a setting as a table of strings by name."""
    return doc(f'a table of {name} = "{text}" (in the environment: {name}={text},{name}={text})')


def tables(key: str) -> Any:
    """Describes a setting as tables by name, under this key."""
    return doc(f"tables [{key}.NAME] (in the environment: one JSON object of such tables)")
