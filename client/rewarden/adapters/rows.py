"""Converts a trainer's data to samples: columns, texts, and numbers of other libraries (numpy, torch)."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Any

from rewarden.adapters.references import References
from rewarden.adapters.settings import Settings
from rewarden.columns import ABSENT, GUESSES, only, paths_beside, value_of
from rewarden.errors import InvalidRequest
from rewarden.types import Progress, Sample

_MOST_BITS = 14_000
"""The largest size of an integer in bits: Python does not print integers with more than 4,300 digits, and one such
number would fail the whole request."""

_USUAL = tuple((name, name.partition(".")[0]) for name in GUESSES["reference"])
"""The usual names of the reference, each with the first part of its path."""

_references = References()
"""Of all adapters of this process: whoever trains and evaluates with the same data is told once."""


def sample_of(
    response: Any, columns: Mapping[str, Any], settings: Settings, *, prompt: Any = None, **fields: Any
) -> Sample:
    """Returns the sample of one response. `columns` are its columns in the data set; `fields` are set unchanged.

    Raises InvalidRequest if `settings.reference`, `group` or `id` names a missing column, or if the column of the
    reference has to be guessed, and others contradict it.
    """
    if "reference" not in fields:
        fields["reference"] = reference_of(columns, settings)
    for name in ("data_source", "group", "id"):
        column = getattr(settings, name)
        if column is None or name in fields:
            continue
        value = value_of(columns, column, ABSENT)
        # A misspelt group would silently leave every sample without siblings. The column of the data source has a
        # default, and may be missing.
        if value is ABSENT:
            if name != "data_source":
                raise _missing(name, column, columns)
        elif (value := only(plain(value))) is not None:
            fields[name] = str(value)
    if "metadata" not in fields:
        fields["metadata"] = _metadata(columns, settings)
    return Sample(response=text_of(response), prompt=None if prompt is None else text_of(prompt), **fields)


def reference_of(columns: Mapping[str, Any], settings: Settings) -> Any:
    """Returns the expected answer, from the named column, or from the first of the usual names that has a value.

    Raises InvalidRequest if a named column is missing, or if usual columns contradict each other.
    """
    named = settings.reference
    if named is None:
        column, value = guessed_reference(columns)
        if column is not None:
            _references.see(settings, column, value, "the first of the usual names", lambda: _usual(columns))
        return value
    if isinstance(named, str):
        value = _named(columns, named)
        _references.see(settings, named, value, "as named", None)
        return value
    parts = {part: _named(columns, column) for part, column in named.items()}
    _references.see(settings, ", ".join(named.values()), parts, "as named", None)
    return parts


def guessed_reference(columns: Mapping[str, Any]) -> tuple[str | None, Any]:
    """Returns the first column of the usual names that has a value, and the value; (None, None) if there is none.

    An empty text counts only if no column has another value.
    """
    empty: tuple[str | None, Any] = None, None
    for name, first in _USUAL:
        if name not in columns and first not in columns:  # most of them, for every sample
            continue
        value = value_of(columns, name)
        if value is not None and (value := plain(value)) is not None:
            if value != "":
                return name, value
            if empty[0] is None:
                empty = name, value
    return empty


def usual_columns(columns: Container[str]) -> bool:
    """Returns whether a column, or the object that it is a path into, has a usual name of the reference."""
    return any(name in columns or first in columns for name, first in _USUAL)


def tell_passed(column: str, reference: Any, settings: Settings, trainer: str) -> None:
    """Says once that a trainer itself passes the reference, from the column or setting of its own called `column`."""
    _references.see(settings, column, reference, f"passed by {trainer}", None)


def label_fields(label: Any) -> dict[str, Any]:
    """Returns the fields of a sample in a label, for trainers that pass nothing else of a row.

    A label is the reference, unless it is an object (or its JSON text) with `data_source` and no other keys than
    `reference` and `metadata`. An empty string is not a label.
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


def _named(columns: Mapping[str, Any], column: str) -> Any:
    value = value_of(columns, column, ABSENT)
    if value is ABSENT:
        # Rows of several data sets: a column that this row leaves empty has no path in it.
        if columns.get(column.partition(".")[0], ABSENT) is None:
            return None
        raise _missing("reference", column, columns)
    return plain(value)


def _usual(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns of a row that have a usual name of the reference."""
    return {name: plain(value_of(columns, name)) for name in GUESSES["reference"]}


def _missing(setting: str, column: str, columns: Mapping[str, Any]) -> InvalidRequest:
    known = ", ".join(paths_beside(columns, column)) or "none"
    return InvalidRequest(f"{setting}: no column {column!r}; the columns are {known}")


def _metadata(columns: Mapping[str, Any], settings: Settings) -> dict[str, Any] | None:
    """Returns the named columns, by the last part of their path, and those that the routing reads, which data sets in
    verl's form have in `extra_info`."""
    found = {}
    for name in settings.metadata:
        if (value := value_of(columns, name)) is not None:
            found[name if name in columns else name.rpartition(".")[2]] = plain(value)
    for name in () if settings.routing is None else settings.routing.metadata:
        value = value_of(columns, name)
        if value is None:
            value = value_of(columns, f"extra_info.{name}")
        if value is not None:
            found.setdefault(name, plain(value))
    return found or None
