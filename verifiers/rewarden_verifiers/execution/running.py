"""Runs a suite: sends jobs to the sandbox, and turns its events into test results.

Runs on the event loop and computes little: large outputs and patterns are compared by `output` in a worker, which can
be killed.
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
"""The maximum size of output and expected output together, in bytes, for a comparison on the event loop."""

_MOST_AT_ONCE = 3
"""The maximum number of runs of a test that continue in parallel, if its earlier runs ended differently."""

_WORDS: Mapping[str, Word] = {reason: word for word, reason in REASONS.items()}


class SuiteRun:
    """The run of one program through its tests. `results` is keyed by a test's position."""

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
        ends the run. strict: whether a pass of a weak test earns nothing. syntax_is_compiling: whether a syntax error
        in Python is a compile error.
        """
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
        """Runs tests, and repeats those whose judge asks for another run."""
        while trials and not self._over:
            for batch in plan(self._suite, trials, self._candidate.code):
                if not self._over:
                    await self._run(batch)
                    await self._settle()
            await self._judge()
            trials, self._again = _few(self._again), []

    def _failed_groups(self) -> frozenset[str | None]:
        """Returns the groups with a test that did not pass or did not run. A failure of ours does not count: it might
        have been a pass.
        """
        results = ((trial, self._results.get(trial.place)) for trial in self._trials)
        return frozenset(
            trial.test.group for trial, result in results if result is None or result.verdict not in ("AC", "IE")
        )

    async def _check_prefix(self) -> None:
        """Raises InvalidReference if the prompt's code makes every program fail."""
        ended = self._results.values()
        broken = next((result.trial for result in ended if result.verdict == "RE"), None)
        if broken is not None and self._candidate.prefixed and all(result.verdict != "AC" for result in ended):
            await self._controls.check_prefix(broken)

    @property
    def _over(self) -> bool:
        """Returns whether a failure has decided everything."""
        return self._stops and self._failed

    def _put(self, result: Result) -> None:
        """Records a test's result. If a test ran several times, the worst result counts."""
        if self._syntax_is_compiling and is_no_python(result):
            result = replace(result, verdict="CE")
        known = self._results.get(result.trial.place)
        if known is None or _weight(known) < _weight(result):
            self._results[result.trial.place] = result
            self._failed = self._failed or result.verdict not in ("AC", "IE")

    def _break(self, trials: Iterable[Trial], error: SampleError) -> None:
        """Records tests that were not judged because we or the reference failed. Other tests can still decide the
        score.
        """
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
            # The candidate's code can be any text, so an invalid job is the reference's fault.
            self._break(waiting, _refused(error, "reference"))
        # Tests without a report did not run. If the program did not compile, its tests already have verdicts or wait
        # for a control run.
        doubted = {found.trial.place for found in self._open}
        untold = [trial for trial in waiting if trial.place not in doubted]
        self._break(untold, SandboxError("the sandbox did not report a test"))

    def _compiled(self, batch: Batch, event: CompileResult) -> None:
        """Raises SampleError if compilation failed for a reason that is not the program's fault."""
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
        """Records a test's result from every run of it that counts. Output counts even if the run was starved of CPU: a
        wrong output is wrong.

        Attack: print a wrong output and use up time at random, so that the run goes unscored or only a repeated run
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
        """Records the result of a run that the host starved of CPU. If it ended by itself, its output is judged; if it
        was cut off, only an output that was already wrong counts.
        """
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
        """Records the result of a run whose end is the program's own doing."""
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
        """Queues or records the outcome of a test: a result, an undetermined one, or a request for another run.

        Control runs have to wait until the job has ended: one that waits for a slot while the job holds one could wait
        forever.
        """
        if isinstance(found, Trial):
            self._again.append(found)
        elif isinstance(found, Doubted) or found.provenance:
            self._open.append(found)
        else:
            self._put(found)

    async def _settle(self) -> None:
        """Uses control runs to decide who is to blame for failures, and whether passes of weak tests count."""
        while self._open and not self._over:
            found = self._open.popleft()
            try:
                self._put(await (self._blamed(found) if isinstance(found, Doubted) else self._weighed(found)))
            except SampleError as error:
                self._put(Result(trial=found.trial, verdict="IE", report=found.report, error=error))

    async def _blamed(self, doubted: Doubted) -> Result:
        control = await self._controls.works(self._trials[doubted.trial.place])  # as in the test's first run
        blames_candidate = doubted.presumed == "candidate" if control is None else control.passed
        return doubted.otherwise if blames_candidate else unjudged(doubted.trial, doubted.report, doubted.error)

    async def _weighed(self, result: Result) -> Result:
        """Returns the result of a pass that may rest on something other than the compared values.

        An argument that the candidate changed matters only if the test fails without the change. If the solution's pass
        rests on the same in the same calls, the test is built that way; in other calls the pass is flagged.
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
        """Compares everything that a program wrote, and returns the worst result."""
        answers = (trial.expected, *trial.alternatives)
        read = [(report.stdout, answers)] if judges.reads_stdout(trial) else []
        read += [(report.files[name], (expected,)) for name, expected in trial.outputs.items()]
        made = [await self._like_one_of(trial, checker, report, output, answers) for output, answers in read]
        return max(made, key=_weight)

    async def _like_one_of(
        self, trial: Trial, checker: TextChecker, report: Report, output: bytes, answers: Sequence[bytes]
    ) -> Result:
        """Compares an output with each right answer, and returns the best result, or the first of several equal
        ones.
        """
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
        if not trial.crosses:  # whatever limit the program reached while sending it
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
        if failed and result.verdict == "AC":  # it sent its result, and then failed
            result = result_of(trial, report, failed)
        self._put(result)

    async def _beside(self, trial: Trial, report: Report, params: Mapping[str, Any], got: bytes, wanted: Any) -> Result:
        """Compares in a worker and returns the test's result."""
        # No view of the text: a program may print something that looks like reasoning or an end of turn.
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
        """Judges all outputs that need a judge, in one job per judge, so that each is compiled once."""
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
    """Returns the next runs, limited to a few for each test.

    Attack: use varying time, so that each pass runs three times and each run asks for three more, in every pass.
    """
    counts: Counter[int] = Counter()
    kept: list[Trial] = []
    for trial in trials:
        counts[trial.place] += 1
        if counts[trial.place] <= _MOST_AT_ONCE:
            kept.append(trial)
    return kept


def _weight(result: Result) -> int:
    """Ranks a test's result: 0 for a pass, more for no verdict, most for a failure."""
    return {"AC": 0, "IE": 1}.get(result.verdict, 2)


def _in_doubt(result: Result, report: Report) -> Doubted:
    """Returns the result of a program that does not compile together with the test code; either may be to blame."""
    error = invalid("the test code does not compile with the solution", result.trial.path)
    return Doubted(trial=result.trial, report=report, error=error, otherwise=result, presumed="candidate")


def _check_judge(judge: JudgeProgram, event: CompileResult) -> None:
    """Raises SampleError if a judge did not compile."""
    if event.report.status == "internal_error":
        raise SandboxError(event.report.message or "the sandbox failed at a compilation")
    if event.report.status != "ok":
        raise invalid("the judge does not compile", judge.path)


def _check_tests(trial: Trial, event: CompileResult) -> None:
    """Raises SampleError if test code did not compile. It is compiled without the candidate's code."""
    if event.report.status == "internal_error":
        raise SandboxError(event.report.message or "the sandbox failed at a compilation")
    if event.report.status != "ok":
        said = (event.report.stdout + event.report.stderr)[:2_000].decode("utf-8", "replace")
        raise invalid("the test code does not compile", f"{trial.path}.code", said)


def _refused(error: SampleError, path: str) -> SampleError:
    """Blames the reference if the sandbox rejects its input; returns any other error unchanged."""
    if not isinstance(error, InvalidSample):
        return error
    field = str(error.details.get("path")).removeprefix("program.")
    if field in ("language", "min_version") or field.startswith("flags["):
        path += f".{field}"
    return invalid(f"the sandbox refuses this: {error.message}", path)
