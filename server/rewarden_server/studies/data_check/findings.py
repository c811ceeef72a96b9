"""The findings on rows of data, and what to do about each. Those of `lint` count here too."""

from __future__ import annotations

from collections.abc import Mapping

from rewarden_server.studies.lint.findings import KNOWN as OF_LINT
from rewarden_server.studies.lint.findings import Finding, Known

KNOWN: Mapping[str, Known] = {
    "solution_fails": Known(
        "error",
        "the stored solution does not pass",
        "correct the tests or the solution, or remove the row: right answers would be punished",
    ),
    "solution_unscored": Known(
        "error", "the stored solution has no score", "correct the reference; the message names the place"
    ),
    "missing_module": Known(
        "error",
        "the stored solution imports a module that the sandbox does not have",
        "add it to the image (docs/sandbox.md), or remove the row: right answers would be punished",
    ),
    "needs_shared": Known(
        "error",
        "the stored solution passes only if tests and program share a process",
        'set isolation: "shared" in the reference, and read what that means (docs/code.md)',
    ),
    "flaky": Known(
        "error",
        "the stored solution passes in some runs and fails in others",
        "remove what is random or depends on the time, or remove the row",
    ),
    "near_limit": Known(
        "warning",
        "the stored solution uses more than half of a limit, so a slower right answer fails",
        "raise limits.cpu_s or limits.memory_mb in the reference",
    ),
    "never_called": Known(
        "error",
        "the tests never call the program",
        "add tests that call the program",
    ),
    "not_called_by_all": Known("note", "some tests never call the program", "look at the tests that are named"),
    "empty_passes": Known("error", "a program or an answer without content passes", "add tests, or remove the row"),
    "constant_passes": Known(
        "error", "a program that only gives a constant passes", "add tests that expect other results"
    ),
    "wrong_passes": Known(
        "error", "an answer that is changed in one place passes", "use a stricter verifier, or correct the reference"
    ),
    "weak_tests": Known(
        "error",
        "most mutants pass, so the tests check very little",
        "add tests, or raise --max-survivors if the mistakes make no difference",
    ),
    "wrong_solutions_pass": Known(
        "warning",
        "some programs that the row stores as wrong pass, so the tests miss their mistakes",
        "add tests, or raise --max-survivors if the tests are as good as those of the site",
    ),
    "mutants_survive": Known("note", "some solutions with a mistake in them pass", "look at the mistakes; add tests"),
    "some_solutions_fail": Known(
        "warning", "some of the stored solutions do not pass", "look at them: tests or solutions are wrong"
    ),
    "no_solution": Known(
        "warning",
        "no stored solution, so it is unknown whether a right answer passes",
        "name the column with --solutions, or give the reference a solution",
    ),
    "not_judged": Known(
        "error",
        "the row could not be judged: something is missing or failed here",
        "fix the problem that the message names, and check again",
    ),
}
"""The kind and the meaning of each finding, and what to do."""


def finding(name: str, said: str | None = None) -> Finding:
    """Returns the finding of a name. said: details on this row."""
    known = KNOWN[name]
    return Finding(name, known.kind, f"{known.message} ({said})" if said else known.message)


def advice(name: str) -> str:
    """Returns what to do about this finding, or an empty text if nothing is known to help."""
    known = KNOWN.get(name) or OF_LINT.get(name)
    return "" if known is None else known.advice


def meaning(name: str) -> str:
    """Returns a finding in words, without the details of a row."""
    known = KNOWN.get(name) or OF_LINT.get(name)
    return name.replace("_", " ") if known is None else known.message
