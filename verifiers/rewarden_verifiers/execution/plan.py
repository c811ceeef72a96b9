"""Turns a suite into sandbox jobs, one for each way of running, so that programs are compiled as rarely as possible.

The candidate's room receives its program, the reference's files, and a test's stdin or the arguments of a call.
Expected values go only into the rooms of judges and of test code.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from rewarden_sandboxes.job import Case, Job, Join, Program, Report, source
from rewarden_verifiers.execution import judges, modes
from rewarden_verifiers.execution.modes import Way
from rewarden_verifiers.execution.reference import JudgeProgram, Suite, Trial
from rewarden_verifiers.execution.shims.known import shim_of

Item = TypeVar("Item")

MAX_BYTES = 64 * 1024 * 1024
"""The maximum size of a job's inputs in bytes, because a job is sent as one message. Larger inputs are split over
several jobs.
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Trials that run in one job, one case each, in order. `nonce`: reports of `shared` must repeat it."""

    way: Way
    trials: Sequence[Trial]
    job: Job
    nonce: str


def way_of(suite: Suite, trial: Trial) -> Way:
    """Returns the way in which a test runs."""
    if trial.test.type == "stdio":
        return "interactive" if isinstance(trial.checker, JudgeProgram) and trial.checker.interactive else "stdio"
    if trial.test.type == "call":
        return "call"
    return "shared" if suite.reference.isolation == "shared" else "tests"


def shimmed(suite: Suite) -> bool:
    """Returns whether a shim handles the program's stdin, from which it reads requests."""
    return shim_of(suite.reference.language) is not None


def plan(suite: Suite, trials: Sequence[Trial], code: str, *, writes_back: bool = True) -> list[Batch]:
    """Yields the jobs of these tests, ordered by the first test of each.

    writes_back: whether test code sees the candidate's changes to arguments.
    """
    together: dict[tuple[Way, int], list[Trial]] = {}
    for trial in trials:
        way = way_of(suite, trial)
        # A job has one partner, so each interactive judge and each piece of test code gets its own job. A shim compiles
        # test code that shares the candidate's process into the program.
        alone = way == "tests" or (way == "shared" and shimmed(suite))
        apart = id(trial.checker) if way == "interactive" else trial.place if alone else -1
        together.setdefault((way, apart), []).append(trial)
    nonce = secrets.token_hex(16)  # reports must repeat it, so that only test code, which knows it, can write one
    return [
        Batch(way, part, _job(way, suite, part, code, nonce, writes_back), nonce)
        for (way, _), some in together.items()
        for part in _parts(some, lambda trial: len(trial.stdin) + sum(map(len, trial.files.values())))
    ]


def _parts(items: Iterable[Item], size_of: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Splits the inputs of jobs, in order, into parts of up to `MAX_BYTES`."""
    part: list[Item] = []
    size = 0
    for item in items:
        own = size_of(item)
        if part and size + own > MAX_BYTES:
            yield part
            part, size = [], 0
        part.append(item)
        size += own
    yield part


def _job(way: Way, suite: Suite, trials: Sequence[Trial], code: str, nonce: str, writes_back: bool) -> Job:
    reference = suite.reference
    program = modes.candidate_program(way, suite, trials, code)
    partner = None
    if way == "interactive":
        partner = judge_program(_judge_of(trials[0]))
    elif way == "tests":
        partner = modes.tests_program(suite, trials[0])
    return Job(
        program=program,
        cases=[_case(way, suite, trial, nonce, writes_back) for trial in trials],
        partner=partner,
        join="" if partner is None else "socket" if way == "tests" else _joined(_judge_of(trials[0])),
        rejecting=judges.rejecting(_judge_of(trials[0])) if way == "interactive" else (),
        compile_limits=reference.compile_limits,
        collect=_collected(way, trials),
    )


def _joined(judge: JudgeProgram) -> Join:
    return "stdio_unbuffered" if judge.unbuffered else "stdio"


def _collected(way: Way, trials: Sequence[Trial]) -> Sequence[str]:
    """Returns the files to keep, of the interactive judge or of the program."""
    if way == "interactive":
        return judges.collected(_judge_of(trials[0]))
    return sorted({name for trial in trials for name in trial.outputs})


def _case(way: Way, suite: Suite, trial: Trial, nonce: str, writes_back: bool) -> Case:
    made = partial(Case, files=trial.files, limits=trial.limits)
    match way:
        case "stdio":
            return made(stdin=trial.stdin)
        case "call":
            asked = modes.call_request(trial)
            return made(stdin=asked) if shimmed(suite) else made(request=asked)
        case "shared":
            if shimmed(suite):
                return made(stdin=modes.options(suite, trial, nonce, shared=True))
            return made(request=modes.options(suite, trial, nonce, tests=modes.test_code(trial)))
        case "tests":
            asked = modes.options(suite, trial, nonce, writes_back=writes_back)
            return made(partner_stdin=asked) if shimmed(suite) else made(partner_request=asked)
        case "interactive":
            judge = _judge_of(trial)
            files = judges.files(judge, trial, None)
            return made(partner_files=files, partner_args=judges.arguments(judge, trial))


def _judge_of(trial: Trial) -> JudgeProgram:
    assert isinstance(trial.checker, JudgeProgram)
    return trial.checker


def judge_program(judge: JudgeProgram) -> Program:
    """Returns a judge as a program."""
    return Program(language=judge.language, code=source(judge.code), files=judge.files, limits=judge.limits)


def judging(
    judge: JudgeProgram, outputs: Sequence[tuple[Trial, Report]]
) -> Iterator[tuple[Sequence[tuple[Trial, Report]], Job]]:
    """Yields jobs in which a judge reads the program's output of each test: a single job unless the outputs are very
    large.
    """
    read = [(one, judges.files(judge, *one)) for one in outputs]
    for part in _parts(read, lambda one: sum(map(len, one[1].values()))):
        cases = [
            Case(
                stdin=files[judges.OUTPUT] if judge.protocol == "kattis" else b"",
                files=files,
                args=judges.arguments(judge, trial),
            )
            for (trial, _), files in part
        ]
        job = Job(program=judge_program(judge), cases=cases, collect=judges.collected(judge))
        yield [one for one, _ in part], job
