"""Rows of data sets as they are published: the tests and the solutions that `code` reads in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.columns import value_of
from rewarden.routing import Routing
from rewarden.types import Sample, Use
from rewarden_server.studies.data_check.solutions import Solution
from rewarden_server.studies.rescore.columns import ROW
from rewarden_verifiers.execution.datasets import DATASETS, read_row, read_solutions, read_wrong
from rewarden_verifiers.execution.datasets.stored import Stored, none
from rewarden_verifiers.execution.reference_json import reference_to_json


@dataclass(frozen=True, slots=True)
class Published:
    """A row, read. sample: with the tests in the terms of `code`. solutions: those that the row stores; None: rows of
    this set store none. wrong: programs that it stores as wrong ones."""

    sample: Sample
    solutions: Sequence[Solution] | None
    wrong: Sequence[Solution] = ()


def dataset_of(use: Use | None) -> str | None:
    """Returns the data set whose rows a use reads, if it is one that is known."""
    name = use.params.get("dataset") if use is not None and use.name == "code" else None
    return name if isinstance(name, str) and name in DATASETS else None


def stores_solutions(name: str) -> bool:
    """Returns whether the rows of a data set hold solutions."""
    return DATASETS[name].stored is not none


def read_published(sample: Sample, row: Mapping[str, Any]) -> Published | None:
    """Returns a row of a data set; None for a sample of any other. Raises InvalidReference that names the field.

    Blocks: a row can hold 100 MB.
    """
    use, name = sample.use, dataset_of(sample.use)
    if use is None or name is None:
        return None
    reference = read_row(name, sample.reference, sample.metadata, use.params.get("languages", ()))
    beside = {**row, **(sample.metadata or {})}
    solutions = None
    if stores_solutions(name):
        solutions = _distinct(read_solutions(name, sample.reference, beside, reference.allowed))
    params = {key: value for key, value in use.params.items() if key not in ("dataset", "languages")}
    return Published(
        replace(sample, reference=reference_to_json(reference), use=replace(use, params=params), metadata=None),
        solutions,
        _distinct(read_wrong(name, sample.reference, beside, reference.allowed)),
    )


def _distinct(found: Sequence[Stored]) -> list[Solution]:
    return [Solution(one.text, one.language) for one in dict.fromkeys(found)]


def reference_column(given: Mapping[str, str], routing: Routing, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the columns that were given and, where all rows are judged as a data set's and hold its tests, the whole
    row as the reference."""
    names = [dataset_of(route.use) for route in routing.routes]
    if not names or None in names or any(target.partition(".")[0] == "reference" for target in given):
        return dict(given)
    mains = [DATASETS[name].main for name in names if name is not None]
    whole = any(value_of(row, main) not in (None, "") for row in rows for main in mains)
    return {**given, "reference": ROW} if whole else dict(given)
