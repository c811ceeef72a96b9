"""Judges that are programs: their arguments, and the meaning of their exit codes.

A judge runs in a separate room and never sees the candidate's program, only its output. If it fails, control runs
determine who is to blame (`controls`). The protocols:

    testlib  files input, output, answer as arguments; exit code 0 accepted, 1 wrong, 2 presentation, 3 judge failed,
             4 text after the answer, 7 points (a number on stderr, of 1), 8 unexpected end of file
             (https://github.com/MikeMirzayanov/testlib)
    kattis   arguments input, answer and a folder; the output on stdin; 42 accepted, 43 wrong
             (https://www.kattis.com/problem-package-format)
    exit     arguments as in testlib; 0 accepted, 1 wrong, anything else is a failure of the judge
    score    arguments input, answer, output, as in CMS; prints a number from 0 to 1 on its first line
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Report
from rewarden_verifiers.execution.reference import PYTHON, JudgeProgram, Protocol, Trial, invalid
from rewarden_verifiers.execution.results import JUDGE_FAILED, LIMITS, Doubted, Result, Word, ended, result_of, unjudged

JudgeVerdict = Literal["AC", "WA", "PE"]

INPUT, OUTPUT, ANSWER, FEEDBACK = "input.txt", "output.txt", "answer.txt", "feedback"

_CODES: Mapping[Protocol, Mapping[int, JudgeVerdict]] = {
    "testlib": {0: "AC", 1: "WA", 2: "PE", 4: "PE", 8: "WA"},
    "kattis": {42: "AC", 43: "WA"},
    "exit": {0: "AC", 1: "WA"},
}
_TESTLIB_POINTS = 7
_POINTS = re.compile(rb"(?:points|partially correct)?[ \t]*\(?([0-9]{1,12}(?:\.[0-9]{0,12})?)\)?", re.IGNORECASE)
_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Ruling:
    """A judge's ruling: `credit` from 0 to 1. `broken`: the reason if there is no ruling."""

    verdict: JudgeVerdict = "WA"
    credit: float = 0.0
    message: str | None = None
    broken: str | None = None


def arguments(judge: JudgeProgram) -> tuple[str, ...]:
    """Returns the arguments of a judge."""
    if judge.protocol == "kattis":
        return (INPUT, ANSWER, FEEDBACK, *judge.args)
    if judge.protocol == "score":
        return (INPUT, ANSWER, OUTPUT, *judge.args)
    return (INPUT, OUTPUT, ANSWER, *judge.args)


def files(judge: JudgeProgram, stdin: bytes, answer: bytes, output: bytes | None) -> dict[str, bytes]:
    """Returns the files beside a judge. An interactive one has no output."""
    made = {INPUT: stdin, ANSWER: answer}
    if output is not None:
        made[OUTPUT] = output
    if judge.protocol == "kattis":
        made[f"{FEEDBACK}/.keep"] = b""
    return made


def ruling(judge: JudgeProgram, report: Report) -> Ruling:
    """Returns the meaning of a judge's exit. It is `broken` unless it exited by itself with a code of its protocol."""
    message = said(report)
    if report.status not in ("ok", "runtime_error") or report.exit_code is None:
        how = f"signal {report.signal}" if report.signal is not None else report.limit or report.status
        return Ruling(broken=f"the judge did not end by itself ({how})")
    code = report.exit_code
    # An uncaught exception ends Python with 1, which in most protocols means "wrong": the policy must not be blamed for
    # it.
    if (
        code == 1
        and judge.language.lower() in PYTHON
        and report.stderr.startswith(b"Traceback (most recent call last)")
    ):
        last = report.stderr.rstrip().rpartition(b"\n")[2][:_MESSAGE].decode("utf-8", "replace")
        return Ruling(broken="the judge raised an exception", message=last)
    if judge.protocol == "score":
        line = report.stdout.strip().partition(b"\n")[0].strip()
        matched = _POINTS.fullmatch(line)
        if code != 0 or matched is None:
            return Ruling(broken=f"the judge ended with {code} and printed no number from 0 to 1")
        return _points(float(matched[1]), message)
    if judge.protocol == "testlib" and code == _TESTLIB_POINTS:
        matched = _POINTS.match(report.stderr.strip())
        if matched is None:
            return Ruling(broken="the judge ended with 7 (points) and named none")
        return _points(float(matched[1]), message)
    verdict = _CODES[judge.protocol].get(code)
    if verdict is None:
        return Ruling(broken=f"the judge ended with {code}", message=message)
    return Ruling(verdict, 1.0 if verdict == "AC" else 0.0, message)


def _points(points: float, message: str | None) -> Ruling:
    if points > 1:
        return Ruling(broken=f"the judge gave {points:g} points, of at most 1")
    return Ruling("AC" if points == 1 else "WA", points, message)


def said(report: Report) -> str | None:
    """Returns the first line of a judge's message, shortened."""
    text = (report.stderr.strip() or report.stdout.strip()).partition(b"\n")[0][:_MESSAGE]
    return text.decode("utf-8", "replace") or None


def rejecting(judge: JudgeProgram) -> tuple[int, ...]:
    """The exit codes with which a judge rejects."""
    return tuple(code for code, verdict in _CODES.get(judge.protocol, {}).items() if verdict != "AC")


def judged(trial: Trial, judge: JudgeProgram, program: Report, report: Report) -> Result | Doubted:
    """Returns a test's result after a judge has read the program's output."""
    if report.status == "internal_error":
        return unjudged(trial, program, SandboxError(report.message or "the sandbox failed at a judge"))
    made = ruling(judge, report)
    if made.broken is not None:
        return _doubted(trial, judge, program, made)
    return result_of(trial, program, made.verdict, made.message, credit=made.credit)


def conversation(trial: Trial, judge: JudgeProgram, program: Report, report: Report) -> Result | Doubted:
    """Returns a test's result after program and judge have interacted.

    If the judge accepts, the program's own end decides; if it rejects, that is final. A judge that failed while the
    program reached its limits was kept waiting.
    """
    if report.status == "internal_error":
        return unjudged(trial, program, SandboxError(report.message or "the sandbox failed at a judge"))
    failed = None if "killed_with_partner" in program.flags else ended(program)
    put = partial(result_of, trial, program)
    made = ruling(judge, report)
    if made.broken is None:
        if made.verdict == "AC" or made.credit > 0:
            return put(failed) if failed else put(made.verdict, made.message, credit=made.credit)
        return put(made.verdict, made.message)
    if failed in LIMITS:
        return put(failed, "the judge was waiting")
    return _doubted(trial, judge, program, made, failed)


def _doubted(trial: Trial, judge: JudgeProgram, program: Report, made: Ruling, failed: Word | None = None) -> Doubted:
    """Returns the result for a judge without a ruling. Attack: text that makes it crash, so that the sample goes
    unscored."""
    otherwise = result_of(trial, program, failed or "WA", f"the judge failed over what the program said: {made.broken}")
    return Doubted(
        trial=trial,
        report=program,
        error=invalid(f"on test {trial.id!r} {made.broken}", judge.path, made.message),
        otherwise=replace(otherwise, reason=None if failed else JUDGE_FAILED, flags=(*otherwise.flags, JUDGE_FAILED)),
        presumed="reference",
    )
