"""Converts a trainer's data to samples: columns, texts, and numbers of other libraries (numpy, torch)."""

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
"""The largest size of an integer in bits: Python does not print integers with more than 4,300 digits, and one such
number would fail the whole request."""


def sample_of(
    response: Any, columns: Mapping[str, Any], settings: Settings, *, prompt: Any = None, **fields: Any
) -> Sample:
    """Returns the sample of one response. `columns` are its columns in the data set; `fields` are set unchanged.

    Raises InvalidRequest if `settings.reference`, `group` or `id` names a missing column.
    """
    if "reference" not in fields:
        fields["reference"] = reference_of(columns, settings)
    for name in ("data_source", "group", "id"):
        column = getattr(settings, name)
        # A misspelt group would silently leave every sample without siblings. The column of the data source has a
        # default, and may be missing.
        if name in ("group", "id") and name not in fields and column is not None and column not in columns:
            raise InvalidRequest(f"{name}: no column {column!r}; the columns are {', '.join(columns) or 'none'}")
        if name not in fields and column is not None and (value := only(plain(columns.get(column)))) is not None:
            fields[name] = str(value)
    if "metadata" not in fields:
        wanted = dict.fromkeys((*settings.metadata, *_routed(settings)))
        fields["metadata"] = {name: plain(columns[name]) for name in wanted if columns.get(name) is not None} or None
    return Sample(response=text_of(response), prompt=None if prompt is None else text_of(prompt), **fields)


def reference_of(columns: Mapping[str, Any], settings: Settings) -> Any:
    """Returns the expected answer, from the named column, or from the first of the usual names that exists."""
    named = settings.reference
    if isinstance(named, str):
        if named not in columns:
            raise InvalidRequest(f"reference: no column {named!r}; the columns are {', '.join(columns) or 'none'}")
        return plain(columns[named])
    if named is not None:
        for column in named.values():
            if column not in columns:
                raise InvalidRequest(f"reference: no column {column!r}; the columns are {', '.join(columns)}")
        return {part: plain(columns[column]) for part, column in named.items()}
    values = (plain(columns.get(name)) for name in GUESSES["reference"])
    return next((value for value in values if value is not None), None)


def label_fields(label: Any) -> dict[str, Any]:
    """Returns the fields of a sample in a label, for trainers that pass nothing else of a row.

    A label is the reference, unless it is an object (or its JSON text) with `data_source` and no other keys than
    `reference` and `metadata`. An empty string is no label.
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
    """Converts `data_source`, `group` and `id` to strings, also if the data has numbers."""
    named = ("data_source", "group", "id")
    return {name: str(value) if name in named and value is not None else value for name, value in fields.items()}


def progress_of(trainer_state: Any) -> Progress | None:
    """Returns the progress of training from the `TrainerState` of transformers' trainers, or None without one."""
    if trainer_state is None:
        return None
    total = trainer_state.max_steps
    return Progress(step=trainer_state.global_step, total_steps=total if total > 0 else None)


def step_of(value: Any) -> Progress | None:
    """Returns the progress of training from the number of a step (of numpy too), or None without one."""
    step = only(plain(value))
    return Progress(step=step) if isinstance(step, int) and step >= 0 else None


def text_of(value: Any) -> Any:
    """Returns text or chat messages, with lone surrogates, which cannot be sent, replaced."""
    if isinstance(value, str):
        return _whole(value)
    return plain(value)


def plain(value: Any) -> Any:
    """Converts a value to JSON types: arrays and tensors to lists, numpy's numbers to Python's, others to `str`.

    Missing values (NaN, pandas' NA and NaT) and numbers that cannot be written become None.
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
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' markers of an empty cell
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
    """Returns the columns that the routing reads as metadata."""
    return [] if settings.routing is None else list(settings.routing.metadata)
