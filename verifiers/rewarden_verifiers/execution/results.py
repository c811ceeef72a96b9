"""The result of each test, in the terms of programming contests."""

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
"""Reason and flag of a failure caused by the judge or the test code, although both work on known inputs."""

LIMITS: frozenset[Word] = frozenset({"TLE", "MLE", "OLE"})
"""Verdicts of programs that reached a limit. The reason is also set as a flag."""

_MISSING = re.compile(r"\bModuleNotFoundError: No module named '([A-Za-z_][\w.]{0,99})'")
_IMPORTS = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w.]{0,99})", re.MULTILINE)
_SYNTAX = re.compile(
    rb'^(?:  File "/tmp/box/[^"\n]+", line [0-9]+\n(?:.*\n){0,4})?(?:Syntax|Indentation|Tab)Error: .*\s*\Z',
    re.MULTILINE,
)
_SYNTAX_OF_MODULE = re.compile(r"(?:Syntax|Indentation|Tab)Error: .* \(solution\.py, line [0-9]+\)")
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
    """The result of one test. `credit`: from 0 to 1, and 1 only for AC. `message`: the failure in words, which can
    quote the test. `error`: why it has no verdict (only IE). `reason`: set if it differs from the verdict's default.
    `provenance`: what a pass may rest on besides the compared values; maps each flag to its calls or names.
    """

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
        """The reason of a failure, or None for a pass."""
        return self.reason or REASONS.get(self.verdict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Doubted:
    """A test whose judge or test code failed; who is to blame is not known yet.

    error: the result if the reference is to blame. otherwise: the result if the candidate is. presumed: who is blamed
    if a control run has no known inputs.
    """

    trial: Trial
    report: Report
    error: InvalidReference
    otherwise: Result
    presumed: Side


def missing_module(result: Result, code: str) -> str | None:
    """Returns the imported module that the sandbox lacks, if that is why the program failed, else None.

    Attack: import a hidden test's input, to read it back from the feedback. So a module is named only if the code
    imports it, and the total number of named modules is limited.
    """
    if result.verdict != "RE":
        return None
    errors = result.report.stderr[-_ERRORS:].decode("utf-8", "replace") if result.report is not None else ""
    found = _MISSING.search(f"{result.message or ''}\n{errors}")
    imported = set(_IMPORTS.findall(code))
    return found[1] if found is not None and found[1] in imported and len(imported) <= _MOST_IMPORTS else None


def is_no_python(result: Result) -> bool:
    """Returns whether Python rejected a program before its first statement because of invalid syntax.

    A program can print the same error to get this verdict, which gains nothing: it fails either way.
    """
    if result.verdict != "RE":
        return False
    errors = result.report.stderr[-_ERRORS:] if result.report is not None else b""
    own = _SYNTAX.search(errors) is not None and b"Traceback (most recent call last)" not in errors
    return own or _SYNTAX_OF_MODULE.match(result.message or "") is not None


def ended(report: Report) -> Word | None:
    """Returns the verdict of a run that failed, or None for a successful one, whose output still has to be judged."""
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
    """Returns the result of a test after its run. flags: added to the run's own. credit: by default 1 for AC,
    else 0.
    """
    if credit is None:
        credit = 1.0 if verdict == "AC" else 0.0
    flags = (*_flags_of(report), *flags)
    return Result(trial=trial, verdict=verdict, credit=credit, message=message, report=report, flags=flags)


def unjudged(trial: Trial, report: Report, error: SampleError) -> Result:
    """Returns the result of a test that has no verdict although its program ran."""
    return Result(trial=trial, verdict="IE", report=report, flags=_flags_of(report), error=error)


def _flags_of(report: Report) -> tuple[str, ...]:
    """Returns the flags that follow from a run."""
    return tuple(flag for flag in report.flags if flag != "killed_with_partner")
