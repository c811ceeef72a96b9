"""The samples of a comparison: rows that hold a sample and, in a record, its verdict.

A row is a line of JSON: `{"title", "sample", "verdict"?}`. Samples stand as callers send them, with the verifier that
they use, so that each version reads them itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewarden.errors import InvalidRequest
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.registry import Registry


@dataclass(frozen=True, slots=True)
class Row:
    """A sample, and where it comes from. verdict: its JSON form, in a record."""

    title: str
    sample: Any
    verdict: dict[str, Any] | None = None

    def to_line(self) -> str:
        """The row as a line of a file."""
        verdict = {} if self.verdict is None else {"verdict": self.verdict}
        return json.dumps({"title": self.title, "sample": self.sample, **verdict}) + "\n"


def of_cases(registry: Registry, names: Sequence[str]) -> Iterator[Row]:
    """The cases of these verifiers and recipes, or of all there are, except those that need a judge or a model."""
    for name in names or [*registry]:
        for case in load_cases(registry.get(name)):
            if case.script:
                continue
            for place, sample in enumerate(case.samples):
                use = sample.get("use") or {"name": name, "params": dict(case.params)}
                own = sample.get("group")
                group = {"group": f"{name}: {case.title}: {own}"} if isinstance(own, str) else {}
                title = f"{name}: {case.title}" + (f" [{place}]" if len(case.samples) > 1 else "")
                yield Row(title, {**sample, "use": use, **group})


def of_file(path: Path, *, record: bool = False) -> Iterator[Row]:
    """The rows of a file: of a record, or samples, one a line.

    record: every row must have a verdict. Raises InvalidRequest naming the line; OSError.
    """
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                value = json.loads(line)
            except ValueError as error:
                raise InvalidRequest(f"{where}: not JSON: {error}") from None
            if not isinstance(value, dict):
                raise InvalidRequest(f"{where}: must be an object")
            if value.keys() == {"title", "sample", "verdict"}:
                yield Row(value["title"], value["sample"], value["verdict"])
            elif record:
                raise InvalidRequest(f"{where}: not a row of a record; write one with `rewarden verdicts record`")
            elif "use" not in value:
                raise InvalidRequest(f"{where}: a sample needs `use`, the verifier that judges it")
            else:
                yield Row(str(value.get("id") or f"{path.name}:{number}"), value)


def write(path: Path, rows: Iterable[Row]) -> int:
    """Write rows, and return how many."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(row.to_line())
            count += 1
    return count
