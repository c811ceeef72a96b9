"""Judges that are programs: their arguments, and the meaning of their exit codes.

A judge runs in a separate room and never sees the candidate's program, only its output. If it fails, control runs
determine who is to blame (`controls`). The protocols:

    testlib  files input, output, answer as arguments; exit code 0 accepted, 1 wrong, 2 presentation, 3 judge failed,
             4 text after the answer, 7 points (a number on stderr), 8 unexpected end of file; the code of a partially
             correct output is its points, which stderr repeats (https://github.com/MikeMirzayanov/testlib)
    kattis   arguments input, answer and a folder; the output on stdin; 42 accepted, 43 wrong. In the folder it can
             leave points, a message, and the input of another run (https://www.kattis.com/problem-package-format)
    exit     arguments as in testlib; 0 accepted, 1 wrong, anything else is a failure of the judge
    score    arguments input, answer, output, as in CMS; prints a number on its first line

Points count from 0 to the checker's `max_points`.
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

INPUT, OUTPUT, ANSWER = "input.txt", "output.txt", "answer.txt"
OUTPUTS, ANSWERS = "outputs/", "answers/"
FEEDBACK = "feedback/"
"""The folder in which a Kattis judge leaves files. The protocol requires the slash: judges append names to it."""
_SCORE, _MULTIPLIER, _NEXT, _SAYS = "score.txt", "score_multiplier.txt", "nextpass.in", "judgemessage.txt"

_CODES: Mapping[Protocol, Mapping[int, JudgeVerdict]] = {
    "testlib": {0: "AC", 1: "WA", 2: "PE", 4: "PE", 8: "WA"},
    "kattis": {42: "AC", 43: "WA"},
    "exit": {0: "AC", 1: "WA"},
}
_TESTLIB_POINTS = 7
_NUMBER = rb"([0-9]{1,12}(?:\.[0-9]{0,17})?(?:[eE]-?[0-9]{1,2})?)"
_PLAIN = re.compile(_NUMBER)
_POINTS = re.compile(rb"(?:points|partially correct)?[ \t]*\(?" + _NUMBER + rb"\)?", re.IGNORECASE)
_SHARE = re.compile(rb"partial[ \t]+([0-9]{1,12})/([0-9]{1,12})")
_PARTLY = re.compile(rb"partially correct \(([0-9]{1,3})\)")
_ROUNDING = 1e-9
_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Ruling:
    """A judge's ruling: `credit` from 0 to 1. `broken`: the reason if there is no ruling. `again`: the input of another
    run of the program, after which the judge rules."""

    verdict: JudgeVerdict = "WA"
    credit: float = 0.0
    message: str | None = None
    broken: str | None = None
    again: bytes | None = None


def arguments(judge: JudgeProgram, trial: Trial) -> tuple[str, ...]:
    """Returns the judge's command-line arguments for this test."""
    more = (*judge.args, *trial.test.checker_args)
    if judge.protocol == "kattis":
        return (INPUT, ANSWER, FEEDBACK, *more)
    if judge.protocol == "score":
        return (INPUT, ANSWER, OUTPUT, *more)
    return (INPUT, OUTPUT, ANSWER, *more)


def files(judge: JudgeProgram, trial: Trial, program: Report | None) -> dict[str, bytes]:
    """Returns the files next to a judge. program: the run whose output the judge reads; None for an interactive
    judge.
    """
    alone = only_output(trial)
    made = {INPUT: trial.stdin, ANSWER: trial.expected if alone is None else trial.outputs[alone]}
    if program is not None:
        made[OUTPUT] = printed(trial, program)
        for name, answer in trial.outputs.items():
            made[ANSWERS + name] = answer
            if name in program.files:
                made[OUTPUTS + name] = program.files[name]
    if judge.protocol == "kattis":
        made[FEEDBACK + ".keep"] = b""
        made |= {FEEDBACK + name: data for name, data in trial.feedback.items()}
    return made


def only_output(trial: Trial) -> str | None:
    """Returns the name of the file that is a test's entire output; None if stdout or several files are."""
    return next(iter(trial.outputs)) if trial.test.stdout is None and len(trial.outputs) == 1 else None


def reads_stdout(trial: Trial) -> bool:
    """Returns whether stdout is judged, and not only the files that a program leaves."""
    return trial.test.stdout is not None or not trial.outputs


def printed(trial: Trial, report: Report) -> bytes:
    """Returns the output of a run as its judge reads it."""
    alone = only_output(trial)
    return report.stdout if alone is None else report.files.get(alone, b"")


def collected(judge: JudgeProgram) -> tuple[str, ...]:
    """Returns the paths to keep from a judge's room."""
    return (FEEDBACK,) if judge.protocol == "kattis" else ()


def left(report: Report) -> dict[str, bytes]:
    """Returns the files that a judge left in its feedback folder, by name."""
    return {name[len(FEEDBACK) :]: data for name, data in report.files.items() if name.startswith(FEEDBACK)}


def ruling(judge: JudgeProgram, trial: Trial, report: Report) -> Ruling:
    """Interprets a judge's exit. The ruling is `broken` unless the judge exited by itself with a code of its
    protocol.
    """
    message = said(report)
    if report.status not in ("ok", "runtime_error") or report.exit_code is None:
        how = f"signal {report.signal}" if report.signal is not None else report.limit or report.status
        return Ruling(broken=f"the judge did not end by itself ({how})")
    code = report.exit_code
    # Python exits with 1 on an uncaught exception, which in most protocols means "wrong": the policy must not be blamed
    # for a crashed judge.
    if (
        code == 1
        and judge.language.lower() in PYTHON
        and report.stderr.startswith(b"Traceback (most recent call last)")
    ):
        last = report.stderr.rstrip().rpartition(b"\n")[2][:_MESSAGE].decode("utf-8", "replace")
        return Ruling(broken="the judge raised an exception", message=last)
    most = judge.max_points if judge.max_points is not None else trial.test.weight
    if judge.protocol == "score":
        line = report.stdout.strip().partition(b"\n")[0].strip()
        matched = _POINTS.fullmatch(line)
        if code != 0 or matched is None:
            return Ruling(broken=f"the judge ended with {code} and printed no number of points")
        return _points(float(matched[1]), most, message)
    if judge.protocol == "testlib":
        stated = report.stderr.strip()
        # The exit code alone does not tell: an output that earns 0 percent ends the judge with 0.
        partly = _PARTLY.match(stated)
        if partly is not None and int(partly[1]) == code:
            return _points(float(code), most, message)
        if code == _TESTLIB_POINTS:
            return _stated(stated, most, message)
    verdict = _CODES[judge.protocol].get(code)
    if verdict is None:
        return Ruling(broken=f"the judge ended with {code}", message=message)
    made = Ruling(verdict, 1.0 if verdict == "AC" else 0.0, message)
    return _with_feedback(judge, trial, made, left(report), most) if judge.protocol == "kattis" else made


def _stated(text: bytes, most: float, message: str | None) -> Ruling:
    """Returns the ruling for testlib's exit code for points: `points N`, or `partial N/M` as COCI's judges print it."""
    share = _SHARE.match(text)
    if share is not None and int(share[2]) > 0:
        return _points(int(share[1]) / int(share[2]), 1.0, message)
    matched = _POINTS.match(text)
    if matched is None:
        return Ruling(broken="the judge ended with 7 (points) but gave no points")
    return _points(float(matched[1]), most, message)


def _points(points: float, most: float, message: str | None) -> Ruling:
    if points > most * (1 + _ROUNDING):
        return Ruling(broken=f"the judge gave {points:g} points, of at most {most:g}", message=message)
    credit = min(1.0, points / most) if most > 0 else 1.0
    return Ruling("AC" if credit == 1 else "WA", credit, message)


def _with_feedback(judge: JudgeProgram, trial: Trial, made: Ruling, kept: Mapping[str, bytes], most: float) -> Ruling:
    """Returns the ruling of a Kattis judge, with the points and the next input from its folder."""
    scores = [name for name in (_SCORE, _MULTIPLIER) if name in kept]
    following = kept.get(_NEXT) if judge.passes > 1 else None
    if made.verdict != "AC":
        if scores or following is not None:
            return replace(made, broken=f"the judge rejected and left {scores[0] if scores else _NEXT}")
        return made
    if following is not None:
        if trial.turn >= judge.passes:
            return replace(made, broken=f"the judge did not rule within {judge.passes} runs")
        return replace(made, again=following)
    if not scores:
        return made
    matched = _PLAIN.fullmatch(kept[scores[0]].strip())
    if matched is None or len(scores) > 1:
        return replace(made, broken=f"the judge left {' and '.join(scores)} with no single number")
    return _points(float(matched[1]), most if scores[0] == _SCORE else 1.0, made.message)


def said(report: Report) -> str | None:
    """Returns the first line of a judge's message, shortened."""
    stated = report.files.get(FEEDBACK + _SAYS, b"").strip()
    text = (stated or report.stderr.strip() or report.stdout.strip()).partition(b"\n")[0][:_MESSAGE]
    return text.decode("utf-8", "replace") or None


def rejecting(judge: JudgeProgram) -> tuple[int, ...]:
    """The exit codes with which a judge rejects."""
    return tuple(code for code, verdict in _CODES.get(judge.protocol, {}).items() if verdict != "AC")


def judged(trial: Trial, judge: JudgeProgram, program: Report, report: Report) -> Result | Doubted | Trial:
    """Returns a test's result after a judge has read the program's output, or the test's next run if the judge asks for
    one.
    """
    if report.status == "internal_error":
        return unjudged(trial, program, SandboxError(report.message or "the sandbox failed at a judge"))
    made = ruling(judge, trial, report)
    if made.broken is not None:
        return _doubted(trial, judge, program, made)
    if made.again is not None:
        return next_run(trial, report, made.again)
    return result_of(trial, program, made.verdict, made.message, credit=made.credit)


def next_run(trial: Trial, report: Report, stdin: bytes) -> Trial:
    """Returns the next run of a test whose judge asked for one, with the files that the judge left."""
    kept = {name: data for name, data in left(report).items() if name != _NEXT}
    return replace(trial, stdin=stdin, feedback=kept, turn=trial.turn + 1)


def conversation(trial: Trial, judge: JudgeProgram, program: Report, report: Report) -> Result | Doubted | Trial:
    """Returns a test's result after the program and the judge have interacted, or the test's next run.

    If the judge accepts, the program's own exit decides; if it rejects, that is final. If the judge failed and the
    program hit a limit, the program is to blame: it kept the judge waiting.
    """
    if report.status == "internal_error":
        return unjudged(trial, program, SandboxError(report.message or "the sandbox failed at a judge"))
    failed = None if "killed_with_partner" in program.flags else ended(program)
    put = partial(result_of, trial, program)
    made = ruling(judge, trial, report)
    if made.broken is None:
        if made.again is not None and failed is None:
            return next_run(trial, report, made.again)
        if made.verdict == "AC" or made.credit > 0:
            return put(failed) if failed else put(made.verdict, made.message, credit=made.credit)
        return put(made.verdict, made.message)
    if failed in LIMITS:
        return put(failed, "the judge was waiting")
    return _doubted(trial, judge, program, made, failed)


def _doubted(trial: Trial, judge: JudgeProgram, program: Report, made: Ruling, failed: Word | None = None) -> Doubted:
    """Returns the result if a judge gave no ruling. Attack: output that crashes the judge, so that the sample goes
    unscored.
    """
    otherwise = result_of(trial, program, failed or "WA", f"the judge failed on the program's output: {made.broken}")
    return Doubted(
        trial=trial,
        report=program,
        error=invalid(f"on test {trial.id!r} {made.broken}", judge.path, made.message),
        otherwise=replace(otherwise, reason=None if failed else JUDGE_FAILED, flags=(*otherwise.flags, JUDGE_FAILED)),
        presumed="reference",
    )
