"""What a trainer hands over, as samples: its columns, its texts, its numbers in foreign dress (numpy, torch)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rewarden.adapters.settings import Settings
from rewarden.columns import GUESSES
from rewarden.errors import InvalidRequest
from rewarden.types import Sample


def sample_of(
    response: Any, columns: Mapping[str, Any], settings: Settings, *, prompt: Any = None, **fields: Any
) -> Sample:
    """The sample of one response. `columns` are all that the data set says of it; `fields` are set as they are.

    Raises InvalidRequest where `settings.reference` names a column that is not there.
    """
    if "reference" not in fields:
        fields["reference"] = reference_of(columns, settings)
    for name in ("data_source", "group", "id"):
        column = getattr(settings, name)
        if name not in fields and column is not None and columns.get(column) is not None:
            fields[name] = str(plain(columns[column]))
    if "metadata" not in fields:
        wanted = dict.fromkeys((*settings.metadata, *_routed(settings)))
        fields["metadata"] = {name: plain(columns[name]) for name in wanted if columns.get(name) is not None} or None
    return Sample(response=text_of(response), prompt=None if prompt is None else text_of(prompt), **fields)


def reference_of(columns: Mapping[str, Any], settings: Settings) -> Any:
    """The expected answer, from the column that was named, or the first of the usual names that is there."""
    named = settings.reference
    if isinstance(named, str):
        if named not in columns:
            raise InvalidRequest(f"reference: there is no column {named!r}; there are {', '.join(columns) or 'none'}")
        return plain(columns[named])
    if named is not None:
        for column in named.values():
            if column not in columns:
                raise InvalidRequest(f"reference: there is no column {column!r}; there are {', '.join(columns)}")
        return {part: plain(columns[column]) for part, column in named.items()}
    found = next((name for name in GUESSES["reference"] if columns.get(name) is not None), None)
    return None if found is None else plain(columns[found])


def text_of(value: Any) -> Any:
    """A text, or chat messages. Halves of surrogate pairs, which no wire carries, are replaced."""
    if isinstance(value, str):
        return _whole(value)
    return plain(value)


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays and tensors as lists, numpy's numbers as Python's, else the value's `str`."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_whole(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "tolist"):  # numpy, torch
        return plain(value.tolist())
    return str(value)


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _routed(settings: Settings) -> list[str]:
    """The columns that the routing looks at as metadata."""
    if settings.routing is None:
        return []
    paths = (path for route in settings.routing.routes for path in route.match)
    return [path.split(".")[1] for path in paths if path.startswith("metadata.")]
