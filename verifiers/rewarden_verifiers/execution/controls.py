"""Control runs decide who is to blame when a judge, test code or the prompt's code fails with a candidate.

The control repeats the run on known inputs: the reference's own solution; else, for a judge that reads outputs, the
expected output; else neutral text. If that works, the candidate is to blame; if it fails as well, the reference is
broken. So a broken checker cannot zero a data set, and a crafted output cannot avoid its score.

A control runs only after the first failure, and once for all samples that need it. Its result is cached, unless it was
a sandbox failure or a time-out.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.errors import InvalidSample, SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program, Report, source
from rewarden_verifiers.contract import Context
from rewarden_verifiers.execution import judges, modes
from rewarden_verifiers.execution.candidate import Candidate
from rewarden_verifiers.execution.completion import Completion, closed, complete
from rewarden_verifiers.execution.plan import judging, plan
from rewarden_verifiers.execution.reference import PYTHON, JudgeProgram, Suite, Trial, invalid
from rewarden_verifiers.execution.results import Result
from rewarden_verifiers.extraction import encodable

_MOST_REMEMBERED = 10_000
_FAILURE_LASTS_S = 600.0
"""Seconds until a cached failure expires: by then the image may have gained a package that the judge lacked."""
_OUTPUTS = (
    b"",
    b"1\n",
    b"1 1\n",
    b"YES\n",
    b"a b c\n",
    b"[]\n",
    b"{}\n",
    b"1\n" * 1_000,
    b"1 " * 1_000 + b"\n",
)
"""Neutral outputs. A working judge handles at least one of them without failing."""
_TALKS = ("1", "1 1", "1 1 1", "? 1", "? 1 1", "! 1", "! 1 1", "YES", "a")
_TALKERS = (
    *(f"print({line + chr(10)!r} * 100_000)" for line in _TALKS),
    "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)",
    "",
)
"""Neutral programs that print something, echo their input, or print nothing. A working interactive judge handles at
least one of them without failing.
"""
_SAID = 200
_TALKING = Limits(cpu_s=2.0, wall_s=2.0)
_FAILS_FOR_ALL = re.compile(rb"^(?:ModuleNotFoundError|ImportError|NameError|SyntaxError)\b")
_PLACE = re.compile(rb'^  File "[^"\n]*", line ([0-9]+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Control:
    """The outcome of a control run. `provenance`: what a pass rests on; see `modes`. `said`: the output of a
    failure.
    """

    passed: bool
    provenance: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    said: str = ""


class _Slow(Exception):
    """A control run timed out, which proves nothing."""


class Controls:
    """The control runs of one suite. completion: whether the prompt's code comes before the solution."""

    _remembered: OrderedDict[bytes, tuple[float, Control | None]] = OrderedDict()  # noqa: RUF012 - shared by all suites
    _locks: dict[tuple[int, bytes], asyncio.Lock] = {}  # noqa: RUF012 - shared by all suites

    def __init__(self, ctx: Context, suite: Suite, completion: Completion) -> None:
        self._ctx = ctx
        self._suite = suite
        self._completion = completion

    async def works(self, trial: Trial) -> Control | None:
        """Returns the outcome of this test's judge or test code on known inputs; None if there are no known inputs.

        Raises SampleError if the sandbox fails.
        """
        return await self._once(self._key("works", trial), lambda: self._try(trial))

    async def passes_unwritten(self, trial: Trial, code: str) -> bool:
        """Returns whether a program passes test code that does not see its changes to arguments. Raises SampleError."""
        try:
            return (await self._beside(trial, code, writes_back=False)).passed
        except _Slow:
            return False

    async def check_prefix(self, trial: Trial) -> None:
        """Raises InvalidReference if the prompt's code fails on its own with this test's input, because every program
        after it would fail as well. Raises SampleError if the sandbox fails.
        """
        reference = self._suite.reference
        if reference.language.lower() not in PYTHON:
            return  # compilers do not accept an incomplete program
        control = await self._once(self._key("prefix", trial), lambda: self._try_prefix(trial))
        if control is not None and not control.passed:
            raise invalid(f"the prompt's code fails on its own: {control.said}", "reference.prefix")

    async def _once(self, key: bytes, run: Callable[[], Awaitable[Control | None]]) -> Control | None:
        """Returns the outcome of a control run, which runs once for all samples that wait for it."""
        place = (id(asyncio.get_running_loop()), key)
        try:
            async with self._locks.setdefault(place, asyncio.Lock()):
                until, control = self._remembered.get(key, (0.0, None))
                if time.monotonic() >= until:
                    control = await run()
                    lasts = math.inf if control is None or control.passed else _FAILURE_LASTS_S
                    self._remembered[key] = time.monotonic() + lasts, control
                    while len(self._remembered) > _MOST_REMEMBERED:
                        self._remembered.popitem(last=False)
                return control
        except _Slow:
            return Control(False)
        finally:
            self._locks.pop(place, None)

    # --- trying --------------------------------------------------------------------------------------------------

    async def _try(self, trial: Trial) -> Control | None:
        judge = trial.checker
        if not isinstance(judge, JudgeProgram):
            return await self._solve(trial)
        run: Trial | None = trial
        while run is not None:
            try:
                reports = await (self._talks(judge, run) if judge.interactive else self._readings(judge, run))
            except InvalidSample:  # no image has both the judge's language and the neutral program's
                return Control(False)
            rulings = [judges.ruling(judge, run, report) for report in reports]
            if all(made.broken is not None for made in rulings):
                if any(report.status == "time_limit" for report in reports):
                    raise _Slow
                return Control(False)
            # Only the solution is known to satisfy a judge that asks for further runs; a neutral program may never end
            # them.
            again = zip(rulings, reports, strict=True) if self.solution is not None else ()
            run = next(
                (judges.next_run(run, report, made.again) for made, report in again if made.again is not None), None
            )
        return Control(True)

    async def _try_prefix(self, trial: Trial) -> Control:
        """Runs the prompt's code as a separate script. It fails on an import error, a name error or a syntax error,
        except for syntax errors in the last line: a prompt can end in the middle of a line.
        """
        reference = self._suite.reference
        prompt = encodable(reference.prefix)
        files = {**self._suite.files, **trial.files}
        program = Program(language=reference.language, code=source(closed(prompt)), files=files, limits=trial.limits)
        for ran in await self._run(Job(program=program, cases=[Case(stdin=trial.stdin)])):
            said = ran.program.stderr.strip().rpartition(b"\n")[2]
            places = _PLACE.findall(ran.program.stderr)
            before_the_end = bool(places) and int(places[-1]) < len(prompt.rstrip().splitlines())
            if ran.program.status == "runtime_error" and _FAILS_FOR_ALL.match(said) and before_the_end:
                return Control(False, said=said[:_SAID].decode("utf-8", "replace"))
        return Control(True)

    async def _solve(self, trial: Trial) -> Control | None:
        """Runs test code with the solution as the candidate."""
        solution = self.solution
        return None if solution is None else await self._beside(trial, solution)

    async def _beside(self, trial: Trial, code: str, *, writes_back: bool = True) -> Control:
        """Runs test code with a program as the candidate. writes_back: see `plan`. Raises _Slow and SampleError."""
        [batch] = plan(self._suite, [trial], code, writes_back=writes_back)
        for ran in await self._run(batch.job):
            if "time_limit" in (ran.program.status, ran.partner.status if ran.partner is not None else ""):
                raise _Slow
            if batch.way == "shared":
                found = modes.shared(trial, ran.program, batch.nonce)
            elif ran.partner is not None:
                found = modes.tested(trial, ran.program, ran.partner, batch.nonce)
            else:  # the program killed its sandbox, twice
                return Control(False)
            return Control(isinstance(found, Result) and found.verdict == "AC", getattr(found, "provenance", {}))
        return Control(False)  # it does not compile

    async def _readings(self, judge: JudgeProgram, trial: Trial) -> list[Report]:
        """Returns a judge's reports on a known output, or on neutral ones."""
        known = [trial.expected] if trial.expected.strip() or trial.outputs else _OUTPUTS
        outputs = [Report(status="ok", stdout=output, files=trial.outputs) for output in known]
        solution = self.solution
        if solution is not None:
            [batch] = plan(self._suite, [trial], solution)
            ran = await self._run(batch.job)
            if ran and ran[0].program.status == "ok":
                outputs = [ran[0].program]
        return [
            ran.program
            for _, job in judging(judge, [(trial, output) for output in outputs])
            for ran in await self._run(job)
        ]

    async def _talks(self, judge: JudgeProgram, trial: Trial) -> list[Report]:
        """Returns a judge's reports after interacting with the solution, or with neutral programs."""
        solution = self.solution
        [batch] = plan(self._suite, [trial], solution or "")
        jobs = [batch.job]
        if solution is None:
            jobs = [
                replace(
                    batch.job,
                    program=Program(language="python", code=source(code)),
                    cases=[replace(case, files={}, stdin=b"", limits=_TALKING) for case in batch.job.cases],
                )
                for code in _TALKERS
            ]
        found: list[Report] = []
        for job in jobs:
            found += [ran.partner for ran in await self._run(job) if ran.partner is not None]
            if any(judges.ruling(judge, trial, report).broken is None for report in found):
                break
        return found

    async def _run(self, job: Job) -> list[CaseResult]:
        """Returns the results of a job's cases, or an empty list if its program does not compile. Raises
        SampleError.
        """
        found: list[CaseResult] = []
        async with aclosing(self._ctx.sandbox.run(job)) as events:
            async for event in events:
                reports = [event.program, event.partner] if isinstance(event, CaseResult) else [event.report]
                for report in reports:
                    if report is not None and report.status == "internal_error":
                        raise SandboxError(report.message or "the sandbox failed at a control run")
                if isinstance(event, CaseResult):
                    found.append(event)
        return found

    @property
    def solution(self) -> str | None:
        """The reference's solution as a program, after the prompt's code if candidates get it too; None if there is no
        solution.
        """
        reference = self._suite.reference
        if reference.solution is None or not reference.solution.strip():
            return None
        return complete(Candidate(encodable(reference.solution), "solution"), reference, self._completion).code

    # --- remembering ---------------------------------------------------------------------------------------------

    def _key(self, what: str, trial: Trial) -> bytes:
        """Returns a digest of everything that a control run depends on."""
        reference, judge = self._suite.reference, trial.checker
        digest = hashlib.sha256()
        test = replace(trial.test, stdin="", stdout=None, files={})
        small: list[Any] = [
            what,
            self._completion,
            reference.language,
            reference.entry_point,
            reference.modules,
            test,
            trial.limits,
        ]
        small += [reference.isolation, reference.limits, reference.compile_limits, reference.flags]
        texts = [reference.prefix, reference.solution or ""]
        tables = [self._suite.files, trial.files]
        if isinstance(judge, JudgeProgram):
            small += [judge.language, judge.args, judge.limits, judge.protocol, judge.interactive]
            small += [judge.max_points, judge.passes, judge.unbuffered]
            texts.append(judge.code)
            tables.append(judge.files)
        parts = [repr(small), *texts]
        for part in parts:
            digest.update(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest())
        for data in (trial.stdin, trial.expected, *(part for table in tables for part in _flat(table))):
            digest.update(hashlib.sha256(data).digest())
        return digest.digest()


def _flat(table: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yields the names and contents of files, and their number."""
    yield str(len(table)).encode()
    for name in sorted(table):
        yield name.encode("utf-8", "surrogatepass")
        yield table[name]
