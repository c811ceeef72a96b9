"""From a suite to jobs of the sandbox: one for each way of running, so that a program is compiled as seldom as can be.

What goes into the candidate's room: its program, the reference's files, a test's stdin or the arguments of a call.
What was expected goes into no room but that of a judge or of test code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewarden_sandboxes.job import Case, Job, Program, source
from rewarden_verifiers.execution import judges, modes
from rewarden_verifiers.execution.modes import Way
from rewarden_verifiers.execution.reference import JudgeProgram, Suite, Trial

MAX_BYTES = 64 * 1024 * 1024
"""Of inputs in one job; more are spread over several. A job travels in one message."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Trials that one job runs, a case each, in order. `nonce`: what reports of `shared` must repeat."""

    way: Way
    trials: Sequence[Trial]
    job: Job
    nonce: str


def way_of(suite: Suite, trial: Trial) -> Way:
    """Returns how a test is run."""
    if trial.test.type == "stdio":
        return "interactive" if isinstance(trial.checker, JudgeProgram) and trial.checker.interactive else "stdio"
    if trial.test.type == "call":
        return "call"
    return "shared" if suite.reference.isolation == "shared" else "tests"


def plan(suite: Suite, trials: Sequence[Trial], code: str) -> list[Batch]:
    """The jobs for these tests, in the order of the first test of each."""
    together: dict[tuple[Way, int], list[Trial]] = {}
    for trial in trials:
        way = way_of(suite, trial)
        # A partner is of the job: one job for each interactive judge, and one for each piece of test code.
        apart = id(trial.checker) if way == "interactive" else trial.place if way == "tests" else -1
        together.setdefault((way, apart), []).append(trial)
    nonce = modes.nonce()
    return [
        Batch(way, part, _job(way, suite, part, code, nonce), nonce)
        for (way, _), some in together.items()
        for part in _parts(some)
    ]


def _parts(trials: Sequence[Trial]) -> Iterator[Sequence[Trial]]:
    part: list[Trial] = []
    size = 0
    for trial in trials:
        own = len(trial.stdin) + sum(map(len, trial.files.values()))
        if part and size + own > MAX_BYTES:
            yield part
            part, size = [], 0
        part.append(trial)
        size += own
    yield part


def _job(way: Way, suite: Suite, trials: Sequence[Trial], code: str, nonce: str) -> Job:
    reference = suite.reference
    program = Program(
        language=reference.language,
        code=source(code),
        files=suite.files,
        mode=modes.MODE_OF[way],
        limits=reference.limits,
    )
    partner = None
    if way == "interactive":
        judge = trials[0].checker
        assert isinstance(judge, JudgeProgram)
        partner = judge_program(judge)
        cases = [
            Case(
                limits=trial.limits,
                files=trial.files,
                partner_files=judges.files(judge, trial.stdin, trial.expected, None),
                partner_args=judges.arguments(judge),
            )
            for trial in trials
        ]
    elif way == "stdio":
        cases = [Case(stdin=trial.stdin, files=trial.files, limits=trial.limits) for trial in trials]
    elif way == "call":
        cases = [modes.call_case(trial) for trial in trials]
    elif way == "shared":
        cases = [
            Case(
                files=trial.files,
                limits=trial.limits,
                request=modes.options(suite, trial, nonce=nonce, tests=modes.test_code(trial)),
            )
            for trial in trials
        ]
    else:
        partner = modes.tests_program(suite, trials[0])
        cases = [
            Case(files=trial.files, limits=trial.limits, partner_request=modes.options(suite, trial))
            for trial in trials
        ]
    return Job(
        program=program,
        cases=cases,
        partner=partner,
        join="" if partner is None else "stdio" if way == "interactive" else "socket",
        compile_limits=reference.compile_limits,
    )


def judge_program(judge: JudgeProgram) -> Program:
    """A judge as a program."""
    return Program(language=judge.language, code=source(judge.code), files=judge.files, limits=judge.limits)


def judging(judge: JudgeProgram, outputs: Sequence[tuple[Trial, bytes]]) -> Iterator[tuple[Sequence[Trial], Job]]:
    """Jobs in which a judge reads what the program printed in each test: one, unless that is very large."""
    part: list[tuple[Trial, bytes]] = []
    size = 0
    for trial, output in outputs:
        own = len(trial.stdin) + len(trial.expected) + len(output)
        if part and size + own > MAX_BYTES:
            yield _judging(judge, part)
            part, size = [], 0
        part.append((trial, output))
        size += own
    yield _judging(judge, part)


def _judging(judge: JudgeProgram, outputs: Sequence[tuple[Trial, bytes]]) -> tuple[Sequence[Trial], Job]:
    cases = [
        Case(
            stdin=output if judge.protocol == "kattis" else b"",
            files=judges.files(judge, trial.stdin, trial.expected, output),
            args=judges.arguments(judge),
        )
        for trial, output in outputs
    ]
    return [trial for trial, _ in outputs], Job(program=judge_program(judge), cases=cases)
