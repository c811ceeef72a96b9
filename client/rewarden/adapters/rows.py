"""A trainer's data as samples: its columns, its texts, its numbers in foreign dress (numpy, torch)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rewarden.adapters.settings import Settings
from rewarden.columns import GUESSES, only
from rewarden.errors import InvalidRequest
from rewarden.types import Progress, Sample

_MOST_BITS = 14_000
"""The bits that a whole number may have: Python writes none with more than 4,300 digits, and one such number would fail
the whole request."""


def sample_of(
    response: Any, columns: Mapping[str, Any], settings: Settings, *, prompt: Any = None, **fields: Any
) -> Sample:
    """The sample of one response. `columns` are all that the data set says of it; `fields` are set as they are.

    Raises InvalidRequest where `settings.reference`, `group` or `id` names a column that is not there.
    """
    if "reference" not in fields:
        fields["reference"] = reference_of(columns, settings)
    for name in ("data_source", "group", "id"):
        column = getattr(settings, name)
        # A misspelt group would leave every sample without siblings, and nobody would be told. Data sources have a
        # default name, and rows without one are fine.
        if name in ("group", "id") and name not in fields and column is not None and column not in columns:
            raise InvalidRequest(f"{name}: there is no column {column!r}; there are {', '.join(columns) or 'none'}")
        if name not in fields and column is not None and (value := only(plain(columns.get(column)))) is not None:
            fields[name] = str(value)
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
    values = (plain(columns.get(name)) for name in GUESSES["reference"])
    return next((value for value in values if value is not None), None)


def label_fields(label: Any) -> dict[str, Any]:
    """The fields of a sample that a label tells, for trainers that hand over nothing else of a row.

    A label is the reference, unless it is an object, or the JSON text of one, with `data_source` and no other names
    than `reference` and `metadata`. An empty text is no label.
    """
    if label is None or (isinstance(label, str) and not label):
        return {"reference": None}
    told = label
    if isinstance(label, str) and label.lstrip().startswith("{") and '"data_source"' in label:
        with suppress(ValueError):
            told = json.loads(label)
    if isinstance(told, Mapping) and "data_source" in told and told.keys() <= {"data_source", "reference", "metadata"}:
        return {"reference": None, **texts(plain(told))}
    return {"reference": plain(label)}


def texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a sample whose names (`data_source`, `group`, `id`) are texts, also where the data has numbers."""
    named = ("data_source", "group", "id")
    return {name: str(value) if name in named and value is not None else value for name, value in fields.items()}


def progress_of(trainer_state: Any) -> Progress | None:
    """Returns the progress of training from the `TrainerState` of transformers' trainers, or None where there is
    none."""
    if trainer_state is None:
        return None
    total = trainer_state.max_steps
    return Progress(step=trainer_state.global_step, total_steps=total if total > 0 else None)


def text_of(value: Any) -> Any:
    """A text, or chat messages. Halves of surrogate pairs, which no wire carries, are replaced."""
    if isinstance(value, str):
        return _whole(value)
    return plain(value)


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays and tensors as lists, numpy's numbers as Python's, else the value's `str`.

    What stands for nothing (NaN, pandas' NA and NaT) is None, and so is a number that cannot be written.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _MOST_BITS else None
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_whole(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' marks of a cell that is empty
        return None
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
    return [] if settings.routing is None else list(settings.routing.metadata)
