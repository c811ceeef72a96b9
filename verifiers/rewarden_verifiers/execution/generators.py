"""Generators make the inputs of tests; the reference's solution makes the expected outputs.

They run once for all samples that share them, in separate rooms. No candidate sees a generator's arguments.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from rewarden.errors import InvalidSample, SandboxError
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, Program, Report, source
from rewarden_verifiers.contract import Context
from rewarden_verifiers.execution.reference import Generator, JudgeProgram, Suite, Trial, invalid

_MOST_BYTES = 128 * 1024 * 1024
"""The maximum size of the cached inputs and outputs of all suites, in bytes."""
_SAID = 200


class _Remembered:
    """Cached inputs and outputs, keyed by a digest of everything that they depend on."""

    def __init__(self) -> None:
        self._made: OrderedDict[bytes, tuple[bytes, bytes]] = OrderedDict()
        self._size = 0
        self.locks: dict[tuple[int, bytes], asyncio.Lock] = {}

    def get(self, key: bytes) -> tuple[bytes, bytes] | None:
        found = self._made.get(key)
        if found is not None:
            self._made.move_to_end(key)
        return found

    def put(self, key: bytes, made: tuple[bytes, bytes]) -> None:
        if key not in self._made:
            self._made[key] = made
            self._size += sum(map(len, made))
        while self._size > _MOST_BYTES and len(self._made) > 1:
            _, old = self._made.popitem(last=False)
            self._size -= sum(map(len, old))


_REMEMBERED = _Remembered()


async def generated(ctx: Context, suite: Suite, trials: Sequence[Trial], solution: str | None) -> Sequence[Trial]:
    """Returns the tests with their inputs and expected outputs. solution: the program that makes the expected outputs.

    Raises InvalidReference if a generator or the solution fails, and SandboxError if the sandbox fails.
    """
    wanting = [trial for trial in trials if trial.test.generate]
    if not wanting:
        return trials
    keys = {trial.place: _key(suite, trial, solution) for trial in wanting}
    whole = hashlib.sha256(b"".join(keys.values())).digest()
    place = (id(asyncio.get_running_loop()), whole)
    made: dict[int, tuple[bytes, bytes]] = {}
    try:
        # A group's samples arrive together; without the lock, each would generate the same data.
        async with _REMEMBERED.locks.setdefault(place, asyncio.Lock()):
            made |= {trial.place: known for trial in wanting if (known := _REMEMBERED.get(keys[trial.place]))}
            fresh = [trial for trial in wanting if trial.place not in made]
            made |= await _make(ctx, suite, fresh, solution)
            for trial in fresh:
                _REMEMBERED.put(keys[trial.place], made[trial.place])
    finally:
        _REMEMBERED.locks.pop(place, None)
    return [
        replace(trial, stdin=made[trial.place][0], expected=made[trial.place][1]) if trial.place in made else trial
        for trial in trials
    ]


async def _make(
    ctx: Context, suite: Suite, trials: Sequence[Trial], solution: str | None
) -> dict[int, tuple[bytes, bytes]]:
    """Returns the input and the expected output of each test, by its position."""
    made: dict[int, tuple[bytes, bytes]] = {}
    by_name: dict[str, list[Trial]] = {}
    for trial in trials:
        by_name.setdefault(trial.test.generate[0], []).append(trial)
    solved: list[Trial] = []
    for name, some in by_name.items():
        generator, path = suite.reference.generators[name], f"reference.generators[{name!r}]"
        program = Program(
            language=generator.language,
            code=source(generator.code),
            files=suite.generators[name],
            limits=generator.limits,
        )
        cases = [Case(args=trial.test.generate[1:]) for trial in some]
        for trial, report in zip(some, await _run(ctx, Job(program=program, cases=cases), path), strict=True):
            _check(report, f"the generator fails on test {trial.id!r}", path)
            stated = generator.answer == "stderr" and trial.test.stdout is None
            made[trial.place] = report.stdout, report.stderr if stated else trial.expected
            if _needs_solution(generator, trial):
                solved.append(trial)
    if solved and solution is not None:
        program = Program(
            language=suite.reference.language,
            code=source(solution),
            files=suite.files,
            limits=suite.reference.limits,
            flags=suite.reference.flags,
        )
        cases = [Case(stdin=made[trial.place][0], files=trial.files, limits=trial.limits) for trial in solved]
        job = Job(program=program, cases=cases, compile_limits=suite.reference.compile_limits)
        for trial, report in zip(solved, await _run(ctx, job, "reference.solution"), strict=True):
            _check(report, f"the solution fails on test {trial.id!r}", "reference.solution")
            made[trial.place] = made[trial.place][0], report.stdout
    return made


def _needs_solution(generator: Generator, trial: Trial) -> bool:
    """Returns whether a test's expected output comes from the solution. Tests with an interactive judge have no
    expected output.
    """
    talks = isinstance(trial.checker, JudgeProgram) and trial.checker.interactive
    return generator.answer == "solution" and trial.test.stdout is None and not trial.outputs and not talks


async def _run(ctx: Context, job: Job, path: str) -> list[Report]:
    """Returns the reports of a job's cases. path: the program's path in the reference, which the policy never writes.
    Raises InvalidReference and SandboxError.
    """
    reports: list[Report] = []
    try:
        async with aclosing(ctx.sandbox.run(job)) as events:
            async for event in events:
                report = event.program if isinstance(event, CaseResult) else event.report
                if report.status == "internal_error":
                    raise SandboxError(report.message or "the sandbox failed at a test's input")
                if isinstance(event, CompileResult):
                    _check(report, "the program does not compile", path)
                else:
                    reports.append(report)
    except InvalidSample as error:
        raise invalid(f"the sandbox refuses this: {error.message}", path) from None
    if len(reports) != len(job.cases):
        raise SandboxError("the sandbox did not report a test's input")
    return reports


def _check(report: Report, what: str, path: str) -> None:
    if report.status != "ok":
        words = (report.stderr.strip() or report.stdout.strip())[-_SAID:].decode("utf-8", "replace")
        raise invalid(f"{what} ({report.limit or report.status})", path, words or None)


def _key(suite: Suite, trial: Trial, solution: str | None) -> bytes:
    """Returns a digest of everything that a test's input and expected output depend on."""
    reference, name = suite.reference, trial.test.generate[0]
    generator = reference.generators[name]
    parts: list[object] = [trial.test.generate[1:], generator.language, generator.code, generator.limits]
    parts += [generator.answer, *_flat(suite.generators[name])]
    if _needs_solution(generator, trial):
        parts += [reference.language, solution, trial.limits, reference.compile_limits, reference.flags]
        parts += [*_flat(suite.files), *_flat(trial.files)]
    else:
        parts += [trial.expected]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(repr(part).encode("utf-8", "surrogatepass")).digest())
    return digest.digest()


def _flat(files: Mapping[str, bytes]) -> Iterator[object]:
    yield len(files)
    for name in sorted(files):
        yield name
        yield hashlib.sha256(files[name]).hexdigest()
