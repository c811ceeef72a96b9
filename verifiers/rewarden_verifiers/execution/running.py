"""Running a suite: sends jobs to the sandbox, and turns events into the results of tests.

Runs on the loop and computes little: large outputs, and patterns, are compared by `output`, where it can be killed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from typing import Any

from rewarden.errors import InvalidSample, PluginError, SampleError, SandboxError, WorkerError
from rewarden.types import Sample, Use
from rewarden_sandboxes.job import CaseResult, CompileResult, Job, Report
from rewarden_verifiers.contract import Context
from rewarden_verifiers.execution import calls, judges, modes
from rewarden_verifiers.execution.candidate import Candidate
from rewarden_verifiers.execution.checkers import TextChecker, beyond_repair, compare
from rewarden_verifiers.execution.completion import Completion
from rewarden_verifiers.execution.controls import Controls
from rewarden_verifiers.execution.output import as_text
from rewarden_verifiers.execution.plan import Batch, judging, plan
from rewarden_verifiers.execution.reference import PYTHON, JudgeProgram, Suite, Trial, invalid
from rewarden_verifiers.execution.results import (
    REASONS,
    Doubted,
    Result,
    Word,
    ended,
    is_no_python,
    result_of,
    unjudged,
)
from rewarden_verifiers.execution.rulings import Rulings
from rewarden_verifiers.execution.tagged import Untagged
from rewarden_verifiers.execution.values import ValueChecker

SMALL = 64 * 1024
"""Bytes of output and expectation together that are compared on the loop."""

_MOST_AT_ONCE = 3
"""The number of runs of a test that can go on at once, after runs of an earlier pass that ended differently."""

_WORDS: Mapping[str, Word] = {reason: word for word, reason in REASONS.items()}


class SuiteRun:
    """The run of one program through its tests. `results` is keyed by a test's place."""

    def __init__(
        self,
        ctx: Context,
        suite: Suite,
        trials: Sequence[Trial],
        candidate: Candidate,
        *,
        completion: Completion,
        stops: bool,
        strict: bool,
        syntax_is_compiling: bool,
    ) -> None:
        """completion: applies to the reference's solution as it does to the candidate. stops: whether the first failure
        ends the run. strict: whether a pass by a weak test earns nothing. syntax_is_compiling: whether a syntax error
        in Python is a compile error."""
        self._ctx = ctx
        self._suite = suite
        self._trials = trials
        self._candidate = candidate
        self._stops = stops
        self._strict = strict
        self._syntax_is_compiling = syntax_is_compiling and suite.reference.language.lower() in PYTHON
        self._controls = Controls(ctx, suite, completion)
        self._results: dict[int, Result] = {}
        self._unjudged: list[tuple[Trial, Report]] = []
        self._open: deque[Result | Doubted] = deque()
        self._again: list[Trial] = []
        self._failed = False
        self.compiler: Report | None = None

    async def run(self) -> list[Result]:
        """Returns the result of every test, in order. Raises InvalidReference."""
        for wave in sorted({trial.wave for trial in self._trials}):
            failed = self._failed_groups() if wave else frozenset()
            await self._run_all(
                [trial for trial in self._trials if trial.wave == wave and not failed & set(trial.rules.requires)]
            )
        await self._check_prefix()
        return [self._results.get(trial.place) or Result(trial=trial, verdict="SK") for trial in self._trials]

    async def _run_all(self, trials: Sequence[Trial]) -> None:
        """Runs tests, and again those whose judge asks for another run."""
        while trials and not self._over:
            for batch in plan(self._suite, trials, self._candidate.code):
                if not self._over:
                    await self._run(batch)
                    await self._settle()
            await self._judge()
            trials, self._again = _few(self._again), []

    def _failed_groups(self) -> frozenset[str | None]:
        """Returns the groups in which a test did not pass, or did not run. A failure of ours may have been a pass."""
        results = ((trial, self._results.get(trial.place)) for trial in self._trials)
        return frozenset(
            trial.test.group for trial, result in results if result is None or result.verdict not in ("AC", "IE")
        )

    async def _check_prefix(self) -> None:
        """Raises InvalidReference if every program must fail because of the prompt's code."""
        ended = self._results.values()
        broken = next((result.trial for result in ended if result.verdict == "RE"), None)
        if broken is not None and self._candidate.prefixed and all(result.verdict != "AC" for result in ended):
            await self._controls.check_prefix(broken)

    @property
    def _over(self) -> bool:
        """Returns whether a failure has decided everything."""
        return self._stops and self._failed

    def _put(self, result: Result) -> None:
        """Records a test's result; of several runs of it, the worst one counts."""
        if self._syntax_is_compiling and is_no_python(result):
            result = replace(result, verdict="CE")
        known = self._results.get(result.trial.place)
        if known is None or _weight(known) < _weight(result):
            self._results[result.trial.place] = result
            self._failed = self._failed or result.verdict not in ("AC", "IE")

    def _break(self, trials: Iterable[Trial], error: SampleError) -> None:
        """Records tests that were not judged, because of a failure of ours or of the reference's. Others can decide the
        score."""
        for trial in trials:
            if trial.place not in self._results:
                self._put(Result(trial=trial, verdict="IE", error=error))

    async def _run(self, batch: Batch) -> None:
        waiting = deque(batch.trials)  # results arrive in the order of the cases
        try:
            async with aclosing(self._ctx.sandbox.run(batch.job)) as events:
                async for event in events:
                    if isinstance(event, CompileResult):
                        self._compiled(batch, event)
                    elif not waiting:
                        raise SandboxError("the sandbox reported more runs than there were")
                    else:
                        await self._ended(batch, waiting.popleft(), event)
                    if self._over:
                        return
        except SampleError as error:
            # The candidate's code can be any text; everything else in a job is the reference's.
            self._break(waiting, _refused(error, "reference"))
        # Tests without a report did not run; if the program did not compile, its tests have their verdicts already, or
        # wait for a control run.
        doubted = {found.trial.place for found in self._open}
        untold = [trial for trial in waiting if trial.place not in doubted]
        self._break(untold, SandboxError("the sandbox did not report a test"))

    def _compiled(self, batch: Batch, event: CompileResult) -> None:
        """Raises SampleError if the program was not compiled for a reason that is not its own."""
        checker = batch.trials[0].checker
        if event.who == "partner" and isinstance(checker, JudgeProgram):
            _check_judge(checker, event)
            return
        if event.who == "partner":
            _check_tests(batch.trials[0], event)
            return
        self.compiler = event.report
        if event.report.status == "internal_error":
            raise SandboxError(event.report.message or "the sandbox failed at a compilation")
        if event.report.status != "ok":
            for trial in batch.trials:
                result = Result(trial=trial, verdict="CE")
                self._hear(_in_doubt(result, event.report) if batch.way == "shared" else result)

    async def _ended(self, batch: Batch, trial: Trial, event: CaseResult) -> None:
        """Returns a test's result. The run's output counts, whatever the clock says: a wrong output is wrong.

        Attack: print a wrong output, and use up time at random, so that the run goes unscored or only another one
        counts.
        """
        for run in (*event.earlier, event):
            if run.program.status != "internal_error":
                await self._told(batch, trial, run)
            elif "starved" in run.program.flags:
                await self._starved(batch, trial, run)
        report = event.program
        if report.status == "internal_error":
            self._put(unjudged(trial, report, SandboxError(report.message or "the sandbox failed at a run")))

    async def _starved(self, batch: Batch, trial: Trial, run: CaseResult) -> None:
        """Returns the result of a run without CPU from the host: if it ended by itself, its output is judged; if it was
        cut off, only an output that was already wrong counts."""
        report, checker = run.program, trial.checker
        answers = (trial.expected, *trial.alternatives)
        if report.exit_code is not None or report.signal is not None:
            report = replace(report, status="ok" if report.exit_code == 0 else "runtime_error")
            await self._told(batch, trial, replace(run, program=report))
            return
        if not isinstance(checker, TextChecker) or batch.way != "stdio" or not judges.reads_stdout(trial):
            return
        if all(beyond_repair(checker, report.stdout, answer) for answer in answers):
            self._put(result_of(trial, report, "WA", "its output was already wrong"))

    async def _told(self, batch: Batch, trial: Trial, event: CaseResult) -> None:
        """Returns the result of a run whose end depends on the program."""
        report = event.program
        if batch.way == "stdio":
            await self._printed(trial, report)
        elif batch.way == "call":
            await self._returned(trial, report)
        elif batch.way == "shared":
            self._hear(modes.shared(trial, report, batch.nonce))
        elif event.partner is None:  # the program killed its sandbox, twice
            self._put(result_of(trial, report, ended(report) or "RE"))
        elif batch.way == "interactive":
            assert isinstance(trial.checker, JudgeProgram)
            self._hear(judges.conversation(trial, trial.checker, report, event.partner))
        else:
            self._hear(modes.tested(trial, report, event.partner, batch.nonce))

    def _hear(self, found: Result | Doubted | Trial) -> None:
        """Records a test's result, that it is undetermined, or that the test must run again.

        The job must have ended first: a control run that waits for a slot while the job holds one could wait forever.
        """
        if isinstance(found, Trial):
            self._again.append(found)
        elif isinstance(found, Doubted) or found.provenance:
            self._open.append(found)
        else:
            self._put(found)

    async def _settle(self) -> None:
        """Uses control runs to determine who is to blame for failures, and the value of a pass by a weak test."""
        while self._open and not self._over:
            found = self._open.popleft()
            try:
                self._put(await (self._blamed(found) if isinstance(found, Doubted) else self._weighed(found)))
            except SampleError as error:
                self._put(Result(trial=found.trial, verdict="IE", report=found.report, error=error))

    async def _blamed(self, doubted: Doubted) -> Result:
        control = await self._controls.works(self._trials[doubted.trial.place])  # from its first run on
        blames_candidate = doubted.presumed == "candidate" if control is None else control.passed
        return doubted.otherwise if blames_candidate else unjudged(doubted.trial, doubted.report, doubted.error)

    async def _weighed(self, result: Result) -> Result:
        """Returns the result of a pass that may rest on something other than the compared values.

        An argument that the candidate changed matters only if the test fails without the change. If the solution's pass
        rests on the same in the same calls, that is how the test works; in other calls it is flagged.
        """
        trial, rests_on = result.trial, dict(result.provenance)
        if modes.ARGUMENT_MUTATED in rests_on and await self._controls.passes_unwritten(trial, self._candidate.code):
            del rests_on[modes.ARGUMENT_MUTATED]
        control = await self._controls.works(trial) if rests_on else None
        made = rests_on.pop(modes.OBJECT_MADE, None)
        if control is None or not control.passed:
            return replace(result, flags=(*result.flags, *sorted(rests_on)))
        known = control.provenance
        if made and modes.OBJECT_MADE not in known:
            rests_on[modes.OBJECT_RESULT] = made
        told = sorted(flag for flag, of in rests_on.items() if not set(of) <= set(known.get(flag, ())))
        flags = (*result.flags, *told)
        if self._strict and any(flag not in known for flag in told):
            return replace(result, verdict="WA", credit=0.0, reason="weak_test_exploit", flags=flags)
        return replace(result, flags=flags)

    # --- what was printed ---------------------------------------------------------------------------------------

    async def _printed(self, trial: Trial, report: Report) -> None:
        failed = ended(report)
        missing = next((name for name in trial.outputs if name not in report.files), None)
        if failed is not None:
            self._put(result_of(trial, report, failed))
        elif missing is not None:
            self._put(result_of(trial, report, "WA", f"the program left no file {missing!r}"))
        elif isinstance(trial.checker, JudgeProgram):
            self._unjudged.append((trial, report))
        else:
            assert isinstance(trial.checker, TextChecker)
            self._put(await self._compared(trial, trial.checker, report))

    async def _compared(self, trial: Trial, checker: TextChecker, report: Report) -> Result:
        """Returns the result of comparing all that a program put out: the worst of them."""
        answers = (trial.expected, *trial.alternatives)
        read = [(report.stdout, answers)] if judges.reads_stdout(trial) else []
        read += [(report.files[name], (expected,)) for name, expected in trial.outputs.items()]
        made = [await self._like_one_of(trial, checker, report, output, answers) for output, answers in read]
        return max(made, key=_weight)

    async def _like_one_of(
        self, trial: Trial, checker: TextChecker, report: Report, output: bytes, answers: Sequence[bytes]
    ) -> Result:
        """Returns the result of comparing an output with each of the right ones: the best, or of equals the first."""
        made: list[Result] = []
        for answer in answers:
            if checker.type != "regex" and len(output) + len(answer) <= SMALL:
                found = compare(checker, output, answer)
                made.append(result_of(trial, report, found.verdict, found.where))
            else:
                made.append(await self._beside(trial, report, asdict(checker), output, as_text(answer)))
            if made[-1].verdict == "AC":
                break
        return min(made, key=_weight)

    async def _returned(self, trial: Trial, report: Report) -> None:
        checker = trial.checker
        assert isinstance(checker, ValueChecker)
        failed = ended(report)
        if not trial.crosses:  # whatever limit a program met that sent it
            self._break([trial], invalid("the value is too large to send (docs/rooms.md)", f"{trial.path}.returns"))
            return
        if failed not in (None, "RE"):
            self._put(result_of(trial, report, failed))
            return
        language = self._suite.reference.language
        if len(report.reply) <= SMALL:
            try:
                found = calls.judge(checker, report.reply, trial.test.returns, language)
            except Untagged as error:
                self._break([trial], invalid(str(error), f"{trial.path}.returns"))
                return
            result = result_of(trial, report, found.verdict, found.message, (found.flag,) if found.flag else ())
        else:
            params = {"type": "value", "language": language, **asdict(checker)}
            result = await self._beside(trial, report, params, report.reply, trial.test.returns)
        if failed and result.verdict == "AC":  # it sent its result, and then ended badly
            result = result_of(trial, report, failed)
        self._put(result)

    async def _beside(self, trial: Trial, report: Report, params: Mapping[str, Any], got: bytes, wanted: Any) -> Result:
        """Returns a test's result after a comparison in a worker."""
        # Without a view: a program can print text that looks like reasoning or an end of turn.
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
        """Judges all outputs that need a judge, in one job for each judge, which is compiled once."""
        if not self._unjudged or self._over:
            return
        by_judge: dict[int, list[tuple[Trial, Report]]] = {}
        unjudged, self._unjudged = self._unjudged, []
        for trial, report in unjudged:
            by_judge.setdefault(id(trial.checker), []).append((trial, report))
        for some in by_judge.values():
            judge = some[0][0].checker
            assert isinstance(judge, JudgeProgram)
            for part, job in judging(judge, some):
                if not self._over:
                    await self._judge_part(judge, part, job)
                    await self._settle()

    async def _judge_part(self, judge: JudgeProgram, part: Sequence[tuple[Trial, Report]], job: Job) -> None:
        waiting = dict(enumerate(part))
        sandbox, code = self._ctx.sandbox, self._candidate.code
        trials = [trial for trial, _ in part]
        try:
            async with aclosing(Rulings.of(sandbox).run(sandbox, job, code, judge, trials)) as events:
                async for event in events:
                    if isinstance(event, CompileResult):
                        _check_judge(judge, event)
                        continue
                    trial, report = waiting.pop(event.index)
                    self._hear(judges.judged(trial, judge, report, event.program))
                    if self._over:
                        return
        except SampleError as error:
            self._break([trial for trial, _ in waiting.values()], _refused(error, judge.path))
        self._break([trial for trial, _ in waiting.values()], SandboxError("the sandbox did not report a judge"))


def _few(trials: Sequence[Trial]) -> list[Trial]:
    """Returns the next runs of tests, with a few for each test.

    Attack: need time at random, so that each pass is run thrice and asks for three more, in every pass.
    """
    counts: Counter[int] = Counter()
    kept: list[Trial] = []
    for trial in trials:
        counts[trial.place] += 1
        if counts[trial.place] <= _MOST_AT_ONCE:
            kept.append(trial)
    return kept


def _weight(result: Result) -> int:
    """Returns how bad a test's result is for the program: a pass 0, no verdict less than a failure."""
    return {"AC": 0, "IE": 1}.get(result.verdict, 2)


def _in_doubt(result: Result, report: Report) -> Doubted:
    """Returns the result of a program that does not compile together with its test code, whose fault that can be."""
    error = invalid("the test code does not compile with the solution", result.trial.path)
    return Doubted(trial=result.trial, report=report, error=error, otherwise=result, presumed="candidate")


def _check_judge(judge: JudgeProgram, event: CompileResult) -> None:
    """Raises SampleError if a judge was not compiled."""
    if event.report.status == "internal_error":
        raise SandboxError(event.report.message or "the sandbox failed at a compilation")
    if event.report.status != "ok":
        raise invalid("the judge does not compile", judge.path)


def _check_tests(trial: Trial, event: CompileResult) -> None:
    """Raises SampleError if test code was not compiled: the candidate's code is not part of it."""
    if event.report.status == "internal_error":
        raise SandboxError(event.report.message or "the sandbox failed at a compilation")
    if event.report.status != "ok":
        said = (event.report.stdout + event.report.stderr)[:2_000].decode("utf-8", "replace")
        raise invalid("the test code does not compile", f"{trial.path}.code", said)


def _refused(error: SampleError, path: str) -> SampleError:
    """Returns an error of invalid input to the sandbox as the reference's fault; any other error unchanged."""
    if not isinstance(error, InvalidSample):
        return error
    field = str(error.details.get("path")).removeprefix("program.")
    if field in ("language", "min_version") or field.startswith("flags["):
        path += f".{field}"
    return invalid(f"the sandbox refuses this: {error.message}", path)
