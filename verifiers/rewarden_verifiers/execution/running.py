"""Running a suite: jobs to the sandbox, and what comes back to the tests' ends. Runs on the loop and computes little:
large outputs, and patterns, are compared by `output` where it can be killed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from rewarden.errors import InvalidSample, PluginError, SampleError, SandboxError, WorkerError
from rewarden.types import Sample, Use
from rewarden_sandboxes.job import CaseResult, CompileResult, Job, Report
from rewarden_verifiers.contract import Context
from rewarden_verifiers.execution import calls, judges, modes
from rewarden_verifiers.execution.checkers import TextChecker, compare
from rewarden_verifiers.execution.output import as_text
from rewarden_verifiers.execution.plan import Batch, judging, plan
from rewarden_verifiers.execution.reference import JudgeProgram, Suite, Trial, invalid
from rewarden_verifiers.execution.results import REASONS, Result, Word, ended, result_of, unjudged
from rewarden_verifiers.execution.tagged import Untagged
from rewarden_verifiers.execution.values import ValueChecker

SMALL = 64 * 1024
"""Bytes of output and expectation together that are compared on the loop."""

_WORDS: Mapping[str, Word] = {reason: word for word, reason in REASONS.items()}


class SuiteRun:
    """One program's way through its tests. `results` is keyed by a test's place."""

    def __init__(self, ctx: Context, suite: Suite, trials: Sequence[Trial], code: str, *, stops: bool) -> None:
        self._ctx = ctx
        self._suite = suite
        self._trials = trials
        self._code = code
        self._stops = stops
        self._results: dict[int, Result] = {}
        self._unjudged: list[tuple[Trial, Report]] = []
        self._failed = False
        self.compiler: Report | None = None

    async def run(self) -> list[Result]:
        """The end of every test, in order. Raises InvalidReference."""
        for batch in plan(self._suite, self._trials, self._code):
            if not self._over:
                await self._run(batch)
        await self._judge()
        return [self._results.get(trial.place) or Result(trial=trial, verdict="SK") for trial in self._trials]

    @property
    def _over(self) -> bool:
        """Returns whether a failure has decided all."""
        return self._stops and self._failed

    def _put(self, result: Result) -> None:
        self._results[result.trial.place] = result
        self._failed = self._failed or result.verdict not in ("AC", "IE")

    def _break(self, trials: Iterable[Trial], error: SampleError) -> None:
        """Tests that were not judged, by a failure of ours or of the reference's. Others may decide the score."""
        for trial in trials:
            if trial.place not in self._results:
                self._put(Result(trial=trial, verdict="IE", error=error))

    async def _run(self, batch: Batch) -> None:
        waiting = deque(batch.trials)  # results come in the order of the cases
        try:
            async with aclosing(self._ctx.sandbox.run(batch.job)) as events:
                async for event in events:
                    if isinstance(event, CompileResult):
                        self._compiled(batch, event)
                    elif not waiting:
                        raise SandboxError("the sandbox told of more runs than there were")
                    else:
                        await self._ended(batch, waiting.popleft(), event)
                    if self._over:
                        return
        except SampleError as error:
            # The candidate's code is text of any kind; whatever else is in a job is the reference's.
            self._break(waiting, _refused(error, "reference"))
        # What was not told of has not run; where the program did not compile its tests have their verdict already.
        self._break(waiting, SandboxError("the sandbox told nothing of a test"))

    def _compiled(self, batch: Batch, event: CompileResult) -> None:
        """Raises SampleError where the program was not compiled, and that is no fault of its own."""
        checker = batch.trials[0].checker
        if event.who == "partner" and isinstance(checker, JudgeProgram):
            _check_judge(checker, event)
            return
        self.compiler = event.report
        if event.report.status == "internal_error":
            raise SandboxError(event.report.message or "the sandbox failed at a compilation")
        if event.report.status != "ok":
            for trial in batch.trials:
                self._put(Result(trial=trial, verdict="CE"))

    async def _ended(self, batch: Batch, trial: Trial, event: CaseResult) -> None:
        report = event.program
        if report.status == "internal_error":
            self._put(unjudged(trial, report, SandboxError(report.message or "the sandbox failed at a run")))
        elif batch.way == "stdio":
            await self._printed(trial, report)
        elif batch.way == "call":
            await self._returned(trial, report)
        elif batch.way == "shared":
            self._put(modes.shared(trial, report, batch.nonce))
        elif event.partner is None:  # the program killed its sandbox, twice
            self._put(result_of(trial, report, ended(report) or "RE"))
        elif batch.way == "interactive":
            assert isinstance(trial.checker, JudgeProgram)
            self._put(judges.conversation(trial, trial.checker, report, event.partner))
        else:
            self._put(modes.tested(trial, report, event.partner))

    # --- what was printed ---------------------------------------------------------------------------------------

    async def _printed(self, trial: Trial, report: Report) -> None:
        failed = ended(report)
        if failed is not None:
            self._put(result_of(trial, report, failed))
        elif isinstance(trial.checker, JudgeProgram):
            self._unjudged.append((trial, report))
        else:
            assert isinstance(trial.checker, TextChecker)
            self._put(await self._compared(trial, trial.checker, report))

    async def _compared(self, trial: Trial, checker: TextChecker, report: Report) -> Result:
        if checker.type != "regex" and len(report.stdout) + len(trial.expected) <= SMALL:
            found = compare(checker, report.stdout, trial.expected)
            return result_of(trial, report, found.verdict, found.where)
        return await self._beside(trial, report, asdict(checker), report.stdout, as_text(trial.expected))

    async def _returned(self, trial: Trial, report: Report) -> None:
        checker = trial.checker
        assert isinstance(checker, ValueChecker)
        failed = ended(report)
        if failed not in (None, "RE"):
            self._put(result_of(trial, report, failed))
            return
        if len(report.reply) <= SMALL:
            try:
                found = calls.judge(checker, report.reply, trial.test.returns)
            except Untagged as error:
                self._break([trial], invalid(str(error), f"{trial.path}.returns"))
                return
            result = result_of(trial, report, found.verdict, found.message, (found.flag,) if found.flag else ())
        else:
            params = {"type": "value", **asdict(checker)}
            result = await self._beside(trial, report, params, report.reply, trial.test.returns)
        if failed and result.verdict == "AC":  # it sent its result, and then came to a bad end
            result = result_of(trial, report, failed)
        self._put(result)

    async def _beside(self, trial: Trial, report: Report, params: Mapping[str, Any], got: bytes, wanted: Any) -> Result:
        """A test's end, where comparing is done in a worker."""
        # As the program printed it: a program may print what looks like a thought or an end of turn.
        view = {"part": "full", "special_tokens": []}
        sample = Sample(response=as_text(got), reference=wanted)
        outcome = await self._ctx.verify(Use(name="output", params={**params, "view": view}), sample=sample)
        if outcome.status == "scored":
            if outcome.passed:
                return result_of(trial, report, "AC")
            return result_of(trial, report, _WORDS.get(outcome.reason or "", "WA"), outcome.feedback, outcome.flags)
        said = outcome.feedback or outcome.reason or "an output could not be compared"
        error: SampleError
        if outcome.fault == "reference":
            error = invalid(said, trial.path)
        else:
            error = PluginError(said) if outcome.fault == "verifier" else WorkerError(said)
        return unjudged(trial, report, error)

    # --- judges that are programs -------------------------------------------------------------------------------

    async def _judge(self) -> None:
        """All outputs that a judge reads, in one job for each judge: it is compiled once."""
        if not self._unjudged or self._over:
            return
        by_judge: dict[int, list[tuple[Trial, Report]]] = {}
        for trial, report in self._unjudged:
            by_judge.setdefault(id(trial.checker), []).append((trial, report))
        for some in by_judge.values():
            judge = some[0][0].checker
            assert isinstance(judge, JudgeProgram)
            reports = {trial.place: report for trial, report in some}
            for trials, job in judging(judge, [(trial, report.stdout) for trial, report in some]):
                await self._judge_part(judge, trials, job, reports)

    async def _judge_part(
        self, judge: JudgeProgram, trials: Sequence[Trial], job: Job, reports: dict[int, Report]
    ) -> None:
        waiting = deque(trials)
        try:
            async with aclosing(self._ctx.sandbox.run(job)) as events:
                async for event in events:
                    if isinstance(event, CompileResult):
                        _check_judge(judge, event)
                        continue
                    if not waiting:
                        raise SandboxError("the sandbox told of more runs than there were")
                    trial = waiting.popleft()
                    self._put(judges.judged(trial, judge, reports[trial.place], event.program))
                    if self._over:
                        return
        except SampleError as error:
            self._break(waiting, _refused(error, judge.path))
        self._break(waiting, SandboxError("the sandbox told nothing of a judge"))


def _check_judge(judge: JudgeProgram, event: CompileResult) -> None:
    """Raises SampleError where a judge was not compiled."""
    if event.report.status == "internal_error":
        raise SandboxError(event.report.message or "the sandbox failed at a compilation")
    if event.report.status != "ok":
        raise invalid("the judge does not compile", judge.path)


def _refused(error: SampleError, path: str) -> SampleError:
    """Returns what the sandbox refuses, as the reference's fault; any other error as it is."""
    if not isinstance(error, InvalidSample):
        return error
    if error.details.get("path") == "program.language":
        path += ".language"
    return invalid(f"the sandbox refuses this: {error.message}", path)
