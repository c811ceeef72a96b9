"""Requests to the sandbox's modes, and their replies, as specified in docs/tagged-codec.md."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from rewarden.errors import InvalidReference, SandboxError
from rewarden_sandboxes.job import Mode, Program, Report, source
from rewarden_verifiers.execution import calls
from rewarden_verifiers.execution.completion import closed
from rewarden_verifiers.execution.frameworks.known import framework_of
from rewarden_verifiers.execution.reference import Suite, Trial, entry_of, invalid
from rewarden_verifiers.execution.results import JUDGE_FAILED, LIMITS, Doubted, Result, Side, ended, result_of, unjudged
from rewarden_verifiers.execution.shims.known import shim_of
from rewarden_verifiers.execution.shims.written import Written
from rewarden_verifiers.execution.tagged import Untagged, loads
from rewarden_verifiers.extraction import encodable

Way = Literal["stdio", "interactive", "call", "tests", "shared"]

MODE_OF: Mapping[Way, Mode] = {
    "stdio": "script",
    "interactive": "script",
    "call": "call",
    "tests": "serve",
    "shared": "shared",
}
"""The mode of the candidate's program."""

_WRONG = frozenset({"assertion", "uncrossable_value", "no_pass", "bad_frame", "tampered"})
"""Failure reasons that count as a wrong answer (WA). Any other is an exception (RE)."""
_FLAGGED = frozenset({"uncrossable_value", "bad_frame", "candidate_exit", "candidate_lost", "tampered"})
_MESSAGE = 600
_MOST_BEHIND, _LONGEST_NAME, _MOST_CALLS = 1000, 200, 2**53
"""Limits on the details of a flag that an agent reports: the number of calls or names, the length of a name, and the
highest call number.
"""

ARGUMENT_MUTATED = "argument_mutated"
OBJECT_RESULT, OBJECT_MADE = "object_result", "object_made"
NAMES_FROM_CANDIDATE = "names_from_candidate"
PROVENANCE = frozenset({ARGUMENT_MUTATED, OBJECT_RESULT, OBJECT_MADE, "vacuous_comparison", NAMES_FROM_CANDIDATE})
"""Flags of a pass that may rest on something other than the compared values. An object of a class that the tests made
is flagged only if the solution passes without it.
"""


# --- asking ------------------------------------------------------------------------------------------------------


def call_request(trial: Trial) -> bytes:
    """Returns the request of a call. Raises InvalidReference for an argument that cannot be encoded."""
    test = trial.test
    types = dataclasses.asdict(test.types) if test.types is not None else None
    try:
        return calls.request(test.target or "", test.args, test.kwargs, types, test.init)
    except Untagged as error:
        raise invalid(f"an argument is not a value: {error}", trial.path) from None


def options(suite: Suite, trial: Trial, nonce: str, **more: Any) -> bytes:
    """Returns the request that runs test code. nonce: the test code's report must repeat it."""
    test, reference = trial.test, suite.reference
    asked: dict[str, Any] = {"kind": test.type, "modules": ["solution", *reference.modules], "nonce": nonce}
    if reference.entry_point is not None:
        asked["entry_point"] = reference.entry_point
    if reference.prefix.strip() and shim_of(reference.language) is None:
        asked["prompt"] = closed(encodable(reference.prefix))
    if test.type == "file":
        asked |= {"name": test.name, "expect": list(test.expect or ())}
    return json.dumps(asked | more).encode()


def test_code(trial: Trial) -> str:
    """Returns the code of an assertion or of a test file."""
    return (trial.test.code if trial.test.type == "assert" else trial.test.content) or ""


def candidate_program(way: Way, suite: Suite, trials: Sequence[Trial], code: str) -> Program:
    """Returns the candidate as a program of its mode."""
    reference = suite.reference
    written = Written(code)
    shim = None if way in ("stdio", "interactive") else shim_of(reference.language)
    if shim is not None:
        entry = entry_of(reference)
        if way == "call":
            written = shim.calling(entry, code, [trial.test.target or "" for trial in trials])
        elif way == "shared":
            written = _together(suite, trials[0], code)
        else:
            written = shim.serving(entry, code)
    own = written.language is None
    return Program(
        language=written.language or reference.language,
        code=source(written.code),
        files={**suite.files, **written.files},
        mode=MODE_OF[way],
        limits=reference.limits,
        min_version=reference.min_version if own else written.min_version,
        flags=(*written.flags, *reference.flags),
    )


def _together(suite: Suite, trial: Trial, code: str) -> Written:
    """Returns the candidate and test code as one program."""
    language, entry = suite.reference.language, entry_of(suite.reference)
    framework, shim = framework_of(language), shim_of(language)
    if trial.test.type == "file" and framework is not None:
        return framework.running(entry, code, trial.test.name or "", test_code(trial))
    assert shim is not None
    return shim.sharing(entry, code, test_code(trial))


def tests_program(suite: Suite, trial: Trial) -> Program:
    """Returns test code as the partner of a candidate that answers its calls. It gets the host's limits, because it is
    not on trial.
    """
    written = Written(test_code(trial))
    shim = shim_of(suite.reference.language)
    if shim is not None:
        written = shim.testing(entry_of(suite.reference), written.code)
    return Program(
        language="python" if shim is None else suite.reference.language,
        code=source(written.code),
        mode="tests",
        files={**suite.files, **trial.files, **written.files},
    )


# --- what came of it ---------------------------------------------------------------------------------------------


def tested(trial: Trial, program: Report, partner: Report, nonce: str) -> Result | Doubted:
    """Returns a test's result, reported by test code that ran in a separate room.

    The test passes if a report with the nonce says so and the exit code of the reporting process agrees. The candidate
    is to blame for everything that it can cause, including test code that reached its limits (comparing the returned
    value can take forever) or ended without a report (test code evaluates the returned value).
    """
    if partner.status == "internal_error":
        return unjudged(trial, program, SandboxError(partner.message or "the sandbox failed at test code"))
    failed = ended(program)
    said = _report(partner.reply)
    if said is None:
        if failed in LIMITS:
            return result_of(trial, program, failed)
        spent = ended(partner)
        if spent in LIMITS:
            return result_of(trial, program, spent, "the test code exceeded its limits", ("tests_exhausted",))
        return _disturbed(trial, program, "the test code ended without a report")
    if said.get("nonce") != nonce:
        return result_of(trial, program, "WA", "the report does not come from the tests", ("forged_report",))
    if said.get("outcome") == "passed":
        if partner.status != "ok" or not _all_passed(trial, said):
            return _disturbed(trial, program, "the test code failed after its tests had passed")
        if failed in LIMITS:
            return result_of(trial, program, failed)
        provenance = _provenance(said)
        if provenance is None:
            return _disturbed(trial, program, "the test code's report is malformed")
        return replace(result_of(trial, program, "AC"), provenance=provenance)
    if said.get("who") == "tests":
        return _at_fault(trial, program, said)
    if said.get("kind") == "candidate_lost" and failed in LIMITS:
        return result_of(trial, program, failed)
    return _failed(trial, program, said)


_LEAVING = re.compile(r"\b(?:_exit|abort|kill|killpg|exec[lv]p?e?|fork|SystemExit|exit|quit|register)\b")
"""Functions and exceptions that end a process, or that run when it ends."""


def _disturbed(trial: Trial, program: Report, how: str) -> Doubted:
    """Returns the result if test code gave no valid report. The candidate is to blame unless the test code may exit by
    itself. Attack: return a value that ends the process when the test code unpickles or evaluates it.
    """
    presumed: Side = "reference" if _LEAVING.search(test_code(trial)) else "candidate"
    return _doubted(trial, program, invalid(how, trial.path), how, presumed)


def _at_fault(trial: Trial, program: Report, said: Mapping[str, Any]) -> Doubted:
    """Returns the result of test code that, judging by its code, failed before a candidate could have caused it."""
    message = _text(said.get("message"))
    return _doubted(trial, program, invalid("the test code is at fault", trial.path, message), message, "reference")


def _doubted(trial: Trial, program: Report, error: InvalidReference, how: str, presumed: Side) -> Doubted:
    otherwise = replace(result_of(trial, program, "WA", how, (JUDGE_FAILED,)), reason=JUDGE_FAILED)
    return Doubted(trial=trial, report=program, error=error, otherwise=otherwise, presumed=presumed)


def _provenance(said: Mapping[str, Any]) -> dict[str, list[int] | list[str]] | None:
    """Returns the flags of a pass, each with its calls or names; None if the agent reports no flags.

    Unknown flags are dropped, because the host may be newer. Attack: make test code evaluate something that alters the
    report, so that a pass has no flags or malformed ones.
    """
    found = said.get("provenance")
    if not isinstance(found, dict):
        return None
    known = {flag: of for flag, of in found.items() if flag in PROVENANCE}
    return known if all(_is_behind(flag, of) for flag, of in known.items()) else None


def _is_behind(flag: str, of: Any) -> bool:
    """Returns whether `of` lists call numbers, or names for the flag that lists names."""
    if not isinstance(of, list) or not 0 < len(of) <= _MOST_BEHIND:
        return False
    if flag == NAMES_FROM_CANDIDATE:
        return all(isinstance(name, str) and len(name) <= _LONGEST_NAME for name in of)
    return all(type(number) is int and 0 <= number < _MOST_CALLS for number in of)


def shared(trial: Trial, program: Report, nonce: str) -> Result | Doubted:
    """Returns a test's result, reported by test code in the candidate's own process, where the candidate can write
    anything.

    The test passes only if a report repeats the nonce and lists every expected test as passed, and the exit code
    agrees.
    """
    failed = ended(program)
    if failed not in (None, "RE"):
        return result_of(trial, program, failed)
    said = _report(program.reply)
    if said is None:
        return result_of(trial, program, "RE", "the process ended before the tests had", (calls.NO_RESULT,))
    if said.get("nonce") != nonce:
        return result_of(trial, program, "WA", "the report does not come from the tests", ("forged_report",))
    if said.get("who") == "tests":
        return _at_fault(trial, program, said)
    if said.get("outcome") != "passed":
        return _failed(trial, program, said)
    if failed or not _all_passed(trial, said):
        return result_of(trial, program, "WA", "the report and the process disagree", ("forged_report",))
    return result_of(trial, program, "AC")


def _failed(trial: Trial, program: Report, said: Mapping[str, Any]) -> Result:
    """Returns the result of a failed test, with the reason."""
    kind = _text(said.get("kind"))
    message = f"{_text(said.get('source'))}\n{_text(said.get('message'))}".strip()
    flags = (kind,) if kind in _FLAGGED else ()
    return result_of(trial, program, "WA" if kind in _WRONG else "RE", message, flags, credit=_share(trial, said))


def _share(trial: Trial, said: Mapping[str, Any]) -> float:
    """Returns the share of the expected tests that passed. It stays below 1, because not all did."""
    expect = trial.test.expect or ()
    tests = said.get("tests")
    if not expect or not isinstance(tests, dict):
        return 0.0
    return min(sum(_passed(name, tests) for name in expect) / len(expect), 1.0 - 1.0 / (len(expect) + 1))


def _all_passed(trial: Trial, said: Mapping[str, Any]) -> bool:
    """Returns whether every expected test passed individually; the report's overall claim is not enough."""
    tests = said.get("tests")
    return all(isinstance(tests, dict) and _passed(name, tests) for name in trial.test.expect or ())


def _passed(name: str, tests: Mapping[str, Any]) -> bool:
    """Returns whether a test exists and passed, with all its parameter sets or, for a class, all its members."""
    short = name.rpartition(".py::")[2]
    some = [outcome for test, outcome in tests.items() if test == short or test.startswith((f"{short}[", f"{short}::"))]
    return bool(some) and all(outcome == "passed" for outcome in some)


def _report(reply: bytes) -> dict[str, Any] | None:
    """Returns the report, or None if it is incomplete."""
    try:
        said = loads(reply)
    except Untagged:
        return None
    return said if isinstance(said, dict) and said.get("done") is True else None


def _text(value: Any) -> str:
    return encodable(value[:_MESSAGE]) if isinstance(value, str) else ""
