"""Judges that are programs: how they are asked, and what their exit codes mean.

A judge runs in a room of its own and never sees the candidate's program, only what it printed. What a judge breaks is
the reference's fault. The protocols:

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
from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidReference, SampleError, SandboxError
from rewarden_sandboxes.job import Report
from rewarden_verifiers.execution.reference import PYTHON, JudgeProgram, Trial
from rewarden_verifiers.execution.results import LIMITS, Result, Word, ended, flags_of

JudgeVerdict = Literal["AC", "WA", "PE"]

INPUT, OUTPUT, ANSWER, FEEDBACK = "input.txt", "output.txt", "answer.txt", "feedback"

_ACCEPTED, _WRONG = 0, 1
_TESTLIB: dict[int, JudgeVerdict] = {0: "AC", 1: "WA", 2: "PE", 4: "PE", 8: "WA"}
_TESTLIB_POINTS = 7
_KATTIS: dict[int, JudgeVerdict] = {42: "AC", 43: "WA"}
_EXIT: dict[int, JudgeVerdict] = {_ACCEPTED: "AC", _WRONG: "WA"}
_POINTS = re.compile(rb"(?:points|partially correct)?[ \t]*\(?([0-9]{1,12}(?:\.[0-9]{0,12})?)\)?", re.IGNORECASE)
_MESSAGE = 200
_SIGPIPE = 13
_END_OF_TALK = re.compile(rb"\b(?:EOFError|BrokenPipeError|ConnectionResetError)\b[^\n]{0,200}\s*\Z")
_UNREADABLE = re.compile(rb"\b(?:ValueError|IndexError|UnicodeDecodeError)\b[^\n]{0,400}\s*\Z")
_FLOOD = 0.1
"""Share of a judge's CPU time from which a program that talked with it until it died was writing without end."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A judge's ruling: `credit` from 0 to 1. `broken` is why it said nothing."""

    verdict: JudgeVerdict = "WA"
    credit: float = 0.0
    message: str | None = None
    broken: str | None = None


def arguments(judge: JudgeProgram) -> tuple[str, ...]:
    """Returns what a judge is called with."""
    if judge.protocol == "kattis":
        return (INPUT, ANSWER, FEEDBACK, *judge.args)
    if judge.protocol == "score":
        return (INPUT, ANSWER, OUTPUT, *judge.args)
    return (INPUT, OUTPUT, ANSWER, *judge.args)


def files(judge: JudgeProgram, stdin: bytes, answer: bytes, output: bytes | None) -> dict[str, bytes]:
    """Returns what lies beside a judge. An interactive one has no output."""
    made = {INPUT: stdin, ANSWER: answer}
    if output is not None:
        made[OUTPUT] = output
    if judge.protocol == "kattis":
        made[f"{FEEDBACK}/.keep"] = b""
    return made


def ruling(judge: JudgeProgram, report: Report) -> Ruling:
    """Returns what a judge's end means. It is `broken` where it did not end by itself with a code of its protocol."""
    message = said(report)
    if report.status not in ("ok", "runtime_error") or report.exit_code is None:
        how = f"signal {report.signal}" if report.signal is not None else report.limit or report.status
        return Ruling(broken=f"the judge did not end by itself ({how})")
    code = report.exit_code
    # An uncaught exception ends Python with 1, which in most protocols is "wrong": the policy must not pay for it.
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
    known = {"testlib": _TESTLIB, "kattis": _KATTIS}.get(judge.protocol, _EXIT)
    verdict = known.get(code)
    if verdict is None:
        return Ruling(broken=f"the judge ended with {code}", message=message)
    return Ruling(verdict, 1.0 if verdict == "AC" else 0.0, message)


def _points(points: float, message: str | None) -> Ruling:
    if points > 1:
        return Ruling(broken=f"the judge gave {points:g} points, of at most 1")
    return Ruling("AC" if points == 1 else "WA", points, message)


def said(report: Report) -> str | None:
    """The first line of what a judge said, bounded."""
    text = (report.stderr.strip() or report.stdout.strip()).partition(b"\n")[0][:_MESSAGE]
    return text.decode("utf-8", "replace") or None


def judged(trial: Trial, judge: JudgeProgram, program: Report, report: Report) -> Result:
    """A test's end, where a judge has read what the program printed."""
    flags = flags_of(program)
    made = ruling(judge, report)
    if made.broken is not None:
        return Result(trial=trial, verdict="IE", report=program, flags=flags, error=_broken(trial, judge, report, made))
    return Result(
        trial=trial, verdict=made.verdict, credit=made.credit, message=made.message, report=program, flags=flags
    )


def conversation(trial: Trial, judge: JudgeProgram, program: Report, report: Report) -> Result:
    """A test's end, where program and judge talked with one another.

    A judge that accepts leaves the verdict to how the program ended. One that rejects has the last word, unless the
    program broke by itself: then the judge may have seen no more than its end. One that fails is the reference's fault,
    except where the program did it: it went away in the middle, kept the judge waiting, or wrote without end.
    """
    flags = flags_of(program)
    failed = ended(program)

    def put(verdict: Word, *, credit: float = 0.0, message: str | None = None, more: tuple[str, ...] = ()) -> Result:
        return Result(
            trial=trial, verdict=verdict, credit=credit, message=message, report=program, flags=(*flags, *more)
        )

    if report.status == "internal_error":
        error: SampleError = SandboxError(report.message or "the sandbox failed at a judge")
        return Result(trial=trial, verdict="IE", report=program, flags=flags, error=error)
    made = ruling(judge, report)
    if made.broken is None:
        if made.verdict == "AC" or made.credit > 0:
            return put(failed) if failed else put(made.verdict, credit=made.credit, message=made.message)
        # A judge that leaves makes a program break that still talks: that is no defect of its own.
        own = failed in LIMITS or (failed and program.signal != _SIGPIPE and not _END_OF_TALK.search(program.stderr))
        return put(failed if failed and own else made.verdict, message=made.message)
    if failed in LIMITS:
        return put(failed, message="the judge was waiting")
    if report.signal == _SIGPIPE or _END_OF_TALK.search(report.stderr):
        return put(failed or "WA", message="the program ended before the judge")
    if failed is None and _UNREADABLE.search(report.stderr):
        # Attack: leave early, so that the judge stumbles over an empty line and the sample goes unscored. A program
        # that the judge has left ends with an error of its own; this one was done.
        return put("WA", message="the judge could not read what the program said")
    if report.status == "time_limit" and program.cpu_time >= _FLOOD * report.cpu_time:
        # Attack: flood the judge until it dies, so that the sample goes unscored.
        return put("OLE", message="the judge was flooded", more=("judge_flooded",))
    return Result(trial=trial, verdict="IE", report=program, flags=flags, error=_broken(trial, judge, report, made))


def _broken(trial: Trial, judge: JudgeProgram, report: Report, made: Ruling) -> SampleError:
    if report.status == "internal_error":
        return SandboxError(report.message or "the sandbox failed at a judge")
    # A judge's words may quote a hidden test: they go to the evidence, and not to the feedback.
    more = {"said": made.message} if made.message else {}
    return InvalidReference(f"{judge.path}: on test {trial.id!r} {made.broken}", path=judge.path, **more)
