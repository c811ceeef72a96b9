"""References for `lean`: formal statements, as data sets of theorems write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.columns import only
from rewarden.routing.texts import read_json
from rewarden.types import Sample

_STATEMENTS = ("formal_statement", "lean4_statement", "lean4_formalization", "autoformalization", "statement")
"""The names that data gives to the Lean source of a statement: miniF2F, Lean-Workbook, NuminaMath-LEAN, Goedel's,
Kimina's and DeepSeek's sets; PutnamBench; ProofNet#; FormalMATH; and `lean` itself. Some have prose under the last
name, so the others go first."""

_HEADERS = ("header", "lean4_src_header")
"""The names that data gives to the imports and `open` lines before a statement."""

_ASKED = ("theorems", "definitions", "lemmas")

BESIDE = ("formal_statement", "header")
"""The keys of the sample's metadata that `lean` looks at."""


def lean(sample: Sample) -> dict[str, Any]:
    """A statement, or a row's columns as an object or JSON of one; where the reference is something else, the statement
    is `metadata.formal_statement`. The header is next to either. Raises ValueError if there is no statement.
    """
    found = only(sample.reference)
    if isinstance(found, str) and found.lstrip().startswith("{"):
        found = read_json(found)
    row = found if isinstance(found, Mapping) else {}
    beside = {name: (sample.metadata or {}).get(name) for name in BESIDE}
    statement = _first(row, _STATEMENTS) or _first(beside, _STATEMENTS)
    if statement is None and isinstance(found, str) and found.strip():
        statement = found
    if statement is None:
        raise ValueError(f"contains no statement as text, and neither does metadata.{BESIDE[0]}")
    header = _first(row, _HEADERS) or _first(beside, _HEADERS)
    asked = {name: row[name] for name in _ASKED if name in row}
    return {"statement": statement, **({"header": header} if header else {}), **asked}


def _first(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The first text that is not blank."""
    return next((row[name] for name in names if isinstance(row.get(name), str) and row[name].strip()), None)
