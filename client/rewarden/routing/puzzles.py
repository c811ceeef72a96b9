"""Puzzles, as data sets write their solutions, as the references of the verifiers `puzzle` and `label`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden.routing.texts import read_json
from rewarden.types import Sample


def zebra(sample: Sample) -> dict[str, Any]:
    """A zebra puzzle's table: `{"header": [...], "rows": [[...]]}`."""
    found = read_json(sample.reference)
    if not isinstance(found, Mapping) or not isinstance(found.get("header"), list) or not found.get("rows"):
        raise ValueError('is not a table with "header" and "rows"')
    return {"task": "zebra", "solution": {"header": found["header"], "rows": found["rows"]}}


def grid(sample: Sample) -> dict[str, Any]:
    """A grid with one solution, as in ARC: a list of rows."""
    found = read_json(sample.reference)
    rows = isinstance(found, list) and bool(found) and all(isinstance(row, list) and row for row in found)
    if not rows or len({len(row) for row in found}) > 1:
        raise ValueError("is not a grid: a list of rows of equal length")
    if not all(isinstance(cell, (str, int, float)) and cell != "" for row in found for cell in row):
        raise ValueError("is a grid with a cell that is empty, or neither a number nor a string")
    return {"task": "grid", "solution": found}


def names(sample: Sample) -> list[str]:
    """Names in order."""
    found = read_json(sample.reference)
    if not isinstance(found, list) or not found or not all(isinstance(name, str) for name in found):
        raise ValueError("is not a list of names")
    return found


def reasoning_gym(sample: Sample) -> dict[str, Any]:
    """An item of reasoning-gym: an entry with its `metadata`, or an answer with `task` and `metadata` next to it."""
    beside = sample.metadata or {}
    entry = _maybe_json(beside.get("entry"))
    if isinstance(sample.reference, Mapping):
        entry = sample.reference.get("entry", sample.reference)
    if not isinstance(entry, Mapping):
        entry = {"question": "", "answer": sample.reference, "metadata": _maybe_json(beside.get("metadata")) or {}}
    known = _maybe_json(entry.get("metadata"))
    known = known if isinstance(known, Mapping) else {}
    reference = sample.reference if isinstance(sample.reference, Mapping) else {}
    task = beside.get("task") or reference.get("task") or reference.get("dataset") or known.get("source_dataset")
    if not isinstance(task, str):
        raise ValueError("names no data set of reasoning-gym: metadata.task, or the entry's metadata.source_dataset")
    made = {name: entry[name] for name in ("question", "answer") if name in entry}
    return {"task": "reasoning_gym", "dataset": task, "entry": {**made, "metadata": dict(known)}}


def _maybe_json(value: Any) -> Any:
    return read_json(value) if isinstance(value, str) else value
