"""The end of each test, in the words of contests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.errors import InvalidReference, SampleError
from rewarden_sandboxes.job import Report, RunStatus
from rewarden_verifiers.execution.reference import Trial

Word = Literal["AC", "WA", "PE", "TLE", "MLE", "OLE", "RE", "CE", "IE", "SK"]
"""Accepted, wrong answer, presentation error, time, memory or output limit, runtime error, compile error, internal
error (not the program's), skipped."""

REASONS: Mapping[Word, str] = {
    "WA": "wrong_answer",
    "PE": "presentation_error",
    "TLE": "time_limit",
    "MLE": "memory_limit",
    "OLE": "output_limit",
    "RE": "runtime_error",
    "CE": "compile_error",
}
Side = Literal["candidate", "reference"]

JUDGE_FAILED = "judge_failed_on_output"
"""Reason and flag of a failure over which the judge or the test code itself failed, which works on what is known."""

LIMITS: frozenset[Word] = frozenset({"TLE", "MLE", "OLE"})
"""Verdicts that are flagged as well, by their reason: the program exhausted what it was given."""

_MISSING = re.compile(r"\bModuleNotFoundError: No module named '([A-Za-z_][\w.]{0,99})'")
_IMPORTS = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w.]{0,99})", re.MULTILINE)
_MOST_IMPORTS = 32
_ERRORS = 4_000

_ENDS: Mapping[RunStatus, Word] = {
    "runtime_error": "RE",
    "time_limit": "TLE",
    "memory_limit": "MLE",
    "output_limit": "OLE",
    "compile_error": "CE",
    "internal_error": "IE",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """One test's end. `credit`: from 0 to 1, 1 exactly where it is AC. `message`: what was wrong, in words that may
    quote the test. `error`: why it has no verdict (IE alone). `reason`: where it is another than the verdict's.
    `provenance`: what a pass may rest on beside the values that were compared: flag to the calls or names behind it."""

    trial: Trial
    verdict: Word
    credit: float = 0.0
    message: str | None = None
    report: Report | None = None
    flags: tuple[str, ...] = ()
    error: SampleError | None = None
    reason: str | None = None
    provenance: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def why(self) -> str | None:
        """The reason of a failure, None of a pass."""
        return self.reason or REASONS.get(self.verdict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Doubted:
    """A test whose judge or test code failed, so that it is still to be settled who is to blame.

    error: what is told where the reference is. otherwise: the test's end where the candidate is. presumed: the side
    that is blamed where nothing is known to try the judge or the test code on.
    """

    trial: Trial
    report: Report
    error: InvalidReference
    otherwise: Result
    presumed: Side


def missing_module(result: Result, code: str) -> str | None:
    """The module that the program asked for and the sandbox does not have; None where it did not fail for that.

    Attack: import a hidden test's input, to read it back from the feedback. So only what one of a few imports in the
    code asks for is named.
    """
    if result.verdict != "RE":
        return None
    errors = result.report.stderr[-_ERRORS:].decode("utf-8", "replace") if result.report is not None else ""
    found = _MISSING.search(f"{result.message or ''}\n{errors}")
    imported = set(_IMPORTS.findall(code))
    return found[1] if found is not None and found[1] in imported and len(imported) <= _MOST_IMPORTS else None


def ended(report: Report) -> Word | None:
    """The verdict of a run that did not end well; None for one that did, whose output is still to be judged."""
    return _ENDS.get(report.status)


def result_of(
    trial: Trial,
    report: Report,
    verdict: Word,
    message: str | None = None,
    flags: Iterable[str] = (),
    *,
    credit: float | None = None,
) -> Result:
    """The end of a test whose program ran so. flags: beside those of the run. credit: by default 1 for AC, else 0."""
    if credit is None:
        credit = 1.0 if verdict == "AC" else 0.0
    flags = (*_flags_of(report), *flags)
    return Result(trial=trial, verdict=verdict, credit=credit, message=message, report=report, flags=flags)


def unjudged(trial: Trial, report: Report, error: SampleError) -> Result:
    """The end of a test that has no verdict, although its program ran."""
    return Result(trial=trial, verdict="IE", report=report, flags=_flags_of(report), error=error)


def _flags_of(report: Report) -> tuple[str, ...]:
    """Returns what a verdict is flagged for because of how a run went."""
    return tuple(flag for flag in report.flags if flag != "killed_with_partner")
