"""The kinds of right answers, by what judges them: how each is written as a response, and what is put in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from rewarden.types import Sample
from rewarden_server.studies.audit.forms import FORMS
from rewarden_server.studies.data_check.answers import answer_of, expected_json
from rewarden_server.studies.data_check.solutions import Solution

Kind = Literal["program", "query", "proof", "json", "answer"]

Form = Callable[[str], str]
"""Writes a solution as a response."""

_KINDS: Mapping[str, Kind] = {"code": "program", "sql": "query", "lean": "proof", "json": "json"}
_KEYS: Mapping[str, Kind] = {"tests": "program", "database": "query", "statement": "proof"}
"""Kinds by a key of the reference, for recipes, whose names say nothing."""

_FENCE = "```"


def kind_of(sample: Sample) -> Kind:
    """Returns the kind of a row's right answers."""
    name = sample.use.name if sample.use is not None else None
    if name is not None and name in _KINDS:
        return _KINDS[name]
    if isinstance(sample.reference, Mapping):
        return next((kind for key, kind in _KEYS.items() if key in sample.reference), "answer")
    return "answer"


def solutions_of(kind: Kind, reference: Any, stored: Sequence[Solution], named: bool) -> list[Solution]:
    """Returns the right answers of a row: those stored, or those that the reference states.

    named: the user named the column of those stored. A guessed one can contain worked solutions, which are not answers.
    """
    if stored and (named or kind in ("program", "proof")):
        return list(stored)
    if kind == "program":
        text = reference.get("solution") if isinstance(reference, Mapping) else None
        return [Solution(text)] if isinstance(text, str) and text.strip() else []
    if kind == "json":
        return [Solution(text) for text in expected_json(reference)]
    answer = None if kind == "proof" else answer_of(reference)
    return [] if answer is None else [Solution(answer)]


def forms_of(kind: Kind, solution: Solution) -> list[Form]:
    """Returns the ways to write a solution as a response, the usual one first."""
    if kind == "answer":
        return [_as_it_is, *map(_answering, FORMS)] if "\n" in solution.text else [*map(_answering, FORMS), _as_it_is]
    label = {"query": "sql", "proof": "lean4", "json": "json"}.get(kind, solution.language or "")
    return [_fenced(label), _as_it_is]


def _answering(form: str) -> Form:
    return lambda text: FORMS[form].write(text, "")


def _as_it_is(text: str) -> str:
    return text


def _fenced(label: str) -> Form:
    def fenced(text: str) -> str:
        return text if _FENCE in text else f"{_FENCE}{label}\n{text.rstrip()}\n{_FENCE}"

    return fenced


def program_in(text: str) -> str:
    """Returns the program in a stored solution, without the fence that some data sets store with it."""
    if _FENCE not in text:
        return text
    _, _, rest = text.partition(_FENCE)
    _, _, code = rest.partition("\n")
    return code.partition(_FENCE)[0]


def tests_of(sample: Sample) -> list[Any]:
    """Returns the tests of a reference; empty if it states none in our form."""
    tests = sample.reference.get("tests") if isinstance(sample.reference, Mapping) else None
    return list(tests) if isinstance(tests, (list, tuple)) else []


def sharing(sample: Sample) -> Sample | None:
    """Returns the sample with tests and program in one process; None if they are already, or where no test calls."""
    reference = sample.reference
    if not isinstance(reference, Mapping) or reference.get("isolation") == "shared":
        return None
    if not any(isinstance(test, Mapping) and test.get("type") in ("assert", "file") for test in tests_of(sample)):
        return None
    return replace(sample, reference={**reference, "isolation": "shared"})


def hurried(sample: Sample, cpu_s: float) -> Sample:
    """Returns the sample with limits of CPU time that are no higher than this: a mutant that runs forever costs as
    little as a slow solution."""
    reference = sample.reference
    if not isinstance(reference, Mapping) or not tests_of(sample):
        return sample
    return replace(
        sample,
        reference={
            **reference,
            "limits": _hurried(reference.get("limits"), cpu_s),
            "tests": [
                {**test, "limits": _hurried(test["limits"], cpu_s)}
                if isinstance(test, Mapping) and test.get("limits")
                else test
                for test in tests_of(sample)
            ],
        },
    )


def _hurried(limits: Any, cpu_s: float) -> dict[str, Any]:
    given = dict(limits) if isinstance(limits, Mapping) else {}
    own = given.get("cpu_s")
    return {**given, "cpu_s": min(own, cpu_s) if isinstance(own, (int, float)) else cpu_s}
