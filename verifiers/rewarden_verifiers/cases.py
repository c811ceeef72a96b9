"""A verifier's documentation by example: `<name>.cases.jsonl` next to its module, one case per line.

    {"kind", "title", "sample" | "samples", "params"?, "script"?, "expect": one for all samples or a list of them,
     "why"}

`kind` is `full`, `zero`, `malformed`, `hack`, and `partial` for graded verifiers. `expect` is matched field by field
against the verdict: a plain value is equality, `{"min", "max"}` bounds a number, `{"has": x}` requires that a list
contains x, and an object is compared recursively. `script` has the replies of judges, for verifiers that call them:
rules of `{"when": text or texts in the chat, "reply": a string or an object}`, or `replies` in turn; with `"task":
kind` it is a model's result for such a task (`inference.py`). One generic test runs them all, directly and over each
transport.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeGuard

from rewarden.types import Verdict
from rewarden_verifiers.contract import VerifierSpec

KINDS = ("full", "zero", "malformed", "hack", "partial")
_VERDICT_FIELDS = {item.name for item in fields(Verdict)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One example. `samples` holds JSON forms of samples; `expects` has one entry for each."""

    verifier: str
    kind: str
    title: str
    samples: tuple[Mapping[str, Any], ...]
    expects: tuple[Mapping[str, Any], ...]
    params: Mapping[str, Any]
    why: str
    script: tuple[Mapping[str, Any], ...] = ()


def cases_path(spec: VerifierSpec, folder: Path | None = None) -> Path | None:
    """Returns the path of a verifier's cases: next to its module, or next to a recipe's YAML; None if the module is not
    a file.
    """
    if folder is None and "cases_folder" in spec.extra:
        folder = Path(spec.extra["cases_folder"])
    if folder is not None:
        return folder / f"{spec.name}.cases.jsonl"
    found = importlib.util.find_spec(spec.module)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / f"{spec.name}.cases.jsonl"


def load_cases(spec: VerifierSpec, folder: Path | None = None) -> list[Case]:
    """The cases of a verifier, in the file's order; none if there is no file.

    Raises ValueError with the file and line for an invalid case.
    """
    path = cases_path(spec, folder)
    if path is None or not path.exists():
        return []
    found: list[Case] = []
    titles: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            where = f"{path.name}:{number}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            case = _case(row, spec.name, where)
            if case.title in titles:
                raise ValueError(f"{where}: the title {case.title!r} is taken; titles tell cases apart")
            titles.add(case.title)
            found.append(case)
    return found


def _case(row: Any, verifier: str, where: str) -> Case:
    known = {"kind", "title", "sample", "samples", "params", "script", "expect", "why"}
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}: a case is an object")
    if unknown := set(row) - known:
        raise ValueError(f"{where}: unknown keys {sorted(unknown)}")
    if missing := {"kind", "title", "expect", "why"} - set(row):
        raise ValueError(f"{where}: {', '.join(sorted(missing))} must be given")
    if ("sample" in row) == ("samples" in row):
        raise ValueError(f"{where}: give either sample or samples")
    if row["kind"] not in KINDS:
        raise ValueError(f"{where}: kind must be one of {', '.join(KINDS)}")
    samples = tuple(row["samples"]) if "samples" in row else (row["sample"],)
    expect = row["expect"]
    expects = tuple(expect) if isinstance(expect, list) else (expect,) * len(samples)
    if len(expects) != len(samples):
        raise ValueError(f"{where}: {len(samples)} samples but {len(expects)} expectations")
    for wanted in expects:
        if not wanted or (strange := set(wanted) - _VERDICT_FIELDS):
            raise ValueError(
                f"{where}: expect must name fields of a verdict, not {sorted(strange) if wanted else '{}'}"
            )
    return Case(
        verifier=verifier,
        kind=row["kind"],
        title=row["title"],
        samples=samples,
        expects=expects,
        params=row.get("params", {}),
        why=row["why"],
        script=tuple(row.get("script", ())),
    )


def mismatches(expect: Mapping[str, Any], verdict: Mapping[str, Any], path: str = "") -> list[str]:
    """Returns how a verdict (its JSON form) differs from a case's expectation; empty if it matches."""
    found: list[str] = []
    for name, wanted in expect.items():
        got = verdict.get(name)
        where = f"{path}{name}"
        if isinstance(wanted, Mapping) and wanted and set(wanted) <= {"min", "max"}:
            low, high = wanted.get("min", float("-inf")), wanted.get("max", float("inf"))
            if not _number(got) or not low <= got <= high:
                found.append(f"{where}: {got!r} is not within [{low}, {high}]")
        elif isinstance(wanted, Mapping) and set(wanted) == {"has"}:
            if not isinstance(got, (list, tuple)) or wanted["has"] not in got:
                found.append(f"{where}: {got!r} does not hold {wanted['has']!r}")
        elif isinstance(wanted, Mapping) and isinstance(got, Mapping):
            found.extend(mismatches(wanted, got, f"{where}."))
        elif _number(wanted) and _number(got):
            if not math.isclose(wanted, got, rel_tol=1e-9, abs_tol=1e-9):
                found.append(f"{where}: {got!r} is not {wanted!r}")
        elif wanted != got or isinstance(wanted, bool) != isinstance(got, bool):
            found.append(f"{where}: {got!r} is not {wanted!r}")
    return found


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
