"""Control runs: they settle who is to blame where a judge, test code or the prompt's code fails beside a candidate.

Each is tried on what is known: on the reference's own solution, else, for a judge that reads outputs, on the expected
one, else on neutral text. Where it works there, the failure is the candidate's; where it fails there too, the reference
is broken. So neither does one broken checker zero a data set, nor can a clever text mask itself.

They run at the first failure, not before. What they showed is remembered; a failure of the sandbox's never is.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.errors import InvalidSample, SandboxError
from rewarden_sandboxes.job import CaseResult, Job, Limits, Program, Report, source
from rewarden_verifiers.contract import Context
from rewarden_verifiers.execution import judges, modes
from rewarden_verifiers.execution.candidate import Candidate, closed, complete
from rewarden_verifiers.execution.plan import judging, plan
from rewarden_verifiers.execution.reference import JudgeProgram, Suite, Trial, invalid
from rewarden_verifiers.execution.results import Result
from rewarden_verifiers.extraction import encodable

_MOST_REMEMBERED = 10_000
_OUTPUTS = (b"1\n", b"1\n" * 1_000, b"1 " * 1_000 + b"\n")
"""Outputs one of which a judge that works survives."""
_TALKERS = (
    "print('1\\n' * 100_000)",
    "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)",
    "",
)
"""Programs that say something, say what they heard, and say nothing: an interactive judge that works survives one of
them."""
_TALKING = Limits(cpu_s=2.0, wall_s=2.0)
_OPEN_END = re.compile(rb"was never closed|unterminated|unexpected EOF|expected an indented block|expected 'except'")
"""Words of Python about code that only wants to be continued."""


@dataclass(frozen=True, slots=True)
class Control:
    """The outcome of a control run. `provenance`: of a pass; see `modes`."""

    passed: bool
    provenance: Mapping[str, Sequence[Any]] = field(default_factory=dict)


class Controls:
    """The control runs of one suite."""

    _remembered: OrderedDict[bytes, Control | None] = OrderedDict()  # noqa: RUF012 - of all suites, on purpose

    def __init__(self, ctx: Context, suite: Suite) -> None:
        self._ctx = ctx
        self._suite = suite

    async def works(self, trial: Trial) -> Control | None:
        """The outcome on what is known of the judge or the test code of this test; None where nothing is known.

        Raises SampleError where the sandbox fails.
        """
        key = self._key("works", trial)
        if key not in self._remembered:
            self._remember(key, await self._try(trial))
        return self._remembered[key]

    async def check_prefix(self) -> None:
        """Raises InvalidReference where the prompt's code fails by itself, and SampleError where the sandbox does."""
        reference = self._suite.reference
        key = self._key("prefix", None)
        if key not in self._remembered:
            program = Program(
                language=reference.language,
                code=source(closed(encodable(reference.prefix))),
                files=self._suite.files,
                limits=reference.limits,
            )
            [ran] = await self._run(Job(program=program))
            # A prefix may end within a text or a bracket: that is no defect of it.
            fails = ran.program.status == "runtime_error" and not _OPEN_END.search(ran.program.stderr)
            said = ran.program.stderr.strip().rpartition(b"\n")[2].decode("utf-8", "replace") if fails else ""
            self._remember(key, Control(not fails, {"said": [said]}))
        control = self._remembered[key]
        if control is not None and not control.passed:
            raise invalid(f"the prompt's code fails by itself: {control.provenance['said'][0]}", "reference.prefix")

    # --- trying --------------------------------------------------------------------------------------------------

    async def _try(self, trial: Trial) -> Control | None:
        judge = trial.checker
        if not isinstance(judge, JudgeProgram):
            return await self._solve(trial)
        try:
            reports = await (self._talks(judge, trial) if judge.interactive else self._readings(judge, trial))
        except InvalidSample:  # no image has both the judge's language and the neutral program's
            return Control(False)
        return Control(any(judges.ruling(judge, report).broken is None for report in reports))

    async def _solve(self, trial: Trial) -> Control | None:
        """Test code beside the solution."""
        if self._suite.reference.solution is None:
            return None
        [batch] = plan(self._suite, [trial], self._solution)
        for ran in await self._run(batch.job):
            if batch.way == "shared":
                found = modes.shared(trial, ran.program, batch.nonce)
            elif ran.partner is not None:
                found = modes.tested(trial, ran.program, ran.partner, batch.nonce)
            else:
                break
            return Control(isinstance(found, Result) and found.verdict == "AC", getattr(found, "provenance", {}))
        return Control(False)

    async def _readings(self, judge: JudgeProgram, trial: Trial) -> list[Report]:
        """The ends of a judge that reads what is known to be an output, or what looks like one."""
        if self._suite.reference.solution is not None:
            [batch] = plan(self._suite, [trial], self._solution)
            ran = await self._run(batch.job)
            outputs = [ran[0].program.stdout] if ran and ran[0].program.status == "ok" else [trial.expected]
        elif trial.test.stdout is not None:
            outputs = [trial.expected]
        else:
            outputs = list(_OUTPUTS)
        return [
            ran.program
            for _, job in judging(judge, [(trial, Report(status="ok", stdout=output)) for output in outputs])
            for ran in await self._run(job)
        ]

    async def _talks(self, judge: JudgeProgram, trial: Trial) -> list[Report]:
        """The ends of a judge that talks with the solution, or with programs of which it should survive one."""
        reference = self._suite.reference
        [batch] = plan(self._suite, [trial], self._solution if reference.solution is not None else "")
        jobs = [batch.job]
        if reference.solution is None:
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
            if any(judges.ruling(judge, report).broken is None for report in found):
                break
        return found

    async def _run(self, job: Job) -> list[CaseResult]:
        """The ends of a job's cases: none where its program does not compile. Raises SampleError."""
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
    def _solution(self) -> str:
        reference = self._suite.reference
        return complete(Candidate(encodable(reference.solution or ""), "solution"), reference, "auto").code

    # --- remembering ---------------------------------------------------------------------------------------------

    def _key(self, what: str, trial: Trial | None) -> bytes:
        """The digest of all that a control run depends on."""
        reference = self._suite.reference
        known: list[Any] = [
            what,
            reference.language,
            reference.prefix,
            reference.limits,
            sorted(self._suite.files.items()),
        ]
        if trial is not None:
            judge = trial.checker if isinstance(trial.checker, JudgeProgram) else None
            known += [reference.solution, reference.entry_point, reference.modules, reference.isolation, trial.test]
            known += [trial.stdin, trial.expected, sorted(trial.files.items()), trial.limits]
            if judge is not None:
                known += [judge.language, judge.code, sorted(judge.files.items()), judge.args, judge.limits]
                known += [judge.protocol, judge.interactive]
        return hashlib.sha256(repr(known).encode("utf-8", "surrogatepass")).digest()

    def _remember(self, key: bytes, control: Control | None) -> None:
        self._remembered[key] = control
        while len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)
