"""Rulings that samples share: which runs of a judge are saved, and which never are.

A sandbox in this process stands in for the real one to count a judge's runs, and to break one at a chosen moment. The
test at the end needs the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from rewarden.errors import SandboxError
from rewarden.types import Batch, Outcome, Sample, Use
from rewarden_sandboxes.job import CaseResult, CompileResult, Job, Report
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.execution import rulings, series
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import DirectContext, outcome_of

PLANNER = Planner(Registry())
ACCEPTS = Report(status="ok", exit_code=0)
REJECTS = Report(status="runtime_error", exit_code=1)
CRASHES = Report(status="runtime_error", signal=11)
TIMES_OUT = Report(status="time_limit", limit="cpu_s")


@dataclass(eq=False)
class Counting:
    """A sandbox whose programs print what their first line says, and whose judge rules by a table. `read`: the outputs
    that a judge has read. `gate`: a judge waits for it before each output. `broken`: the sandbox fails at this output,
    once."""

    says: Mapping[bytes, Report] = field(default_factory=dict)
    broken: bytes | None = None
    gate: asyncio.Event | None = None
    read: list[bytes] = field(default_factory=list)

    async def run(self, job: Job) -> AsyncIterator[CompileResult | CaseResult]:
        judges = job.program.language == "cpp"
        if judges:
            yield CompileResult(report=Report(status="ok", exit_code=0))
        if series.NAME in job.program.files:  # no output shares its room here, as on a host without namespaces
            yield CaseResult(index=0, program=REJECTS)
            return
        for place, case in enumerate(job.cases):
            if not judges:
                printed = job.program.code.partition(b"\n")[0].removeprefix(b"# ")
                yield CaseResult(index=place, program=Report(status="ok", exit_code=0, stdout=printed + case.stdin))
                continue
            output = case.files["output.txt"]
            self.read.append(output)
            if self.gate is not None:
                await self.gate.wait()
            if output == self.broken:
                self.broken = None
                raise SandboxError("the host is gone")
            yield CaseResult(index=place, program=self.says.get(output, ACCEPTS))

    async def lacking(self, languages: Sequence[str]) -> str | None:
        return None


class Context(DirectContext):
    """A context with this sandbox."""

    def __init__(self, sandbox: Counting, sample: Sample) -> None:
        super().__init__(PLANNER, sample)
        self._sandbox = sandbox

    @property
    def sandbox(self) -> Counting:
        return self._sandbox


def reference(code: str = "int main() {}", **checker: Any) -> dict[str, Any]:
    judge = {"type": "program", "language": "cpp", "code": code, **checker}
    tests = [{"type": "stdio", "stdin": "1", "stdout": "1"}, {"type": "stdio", "stdin": "2", "stdout": "2"}]
    return {"language": "python", "tests": tests, "checker": judge}


async def judged(sandbox: Counting, printed: str, *, name: str = "", asked: Any = None, **params: Any) -> Outcome:
    """Judges a program of this name, which prints this before its input."""
    sample = Sample(response=f"```python\n# {printed}\n# {name}\n```", reference=asked or reference())
    return await outcome_of(PLANNER, Use(name="code", params=params), sample, Context(sandbox, sample))


async def until(sandbox: Counting, runs: int) -> None:
    while len(sandbox.read) < runs:
        await asyncio.sleep(0)


async def test_programs_of_a_group_that_print_the_same_are_judged_by_one_run() -> None:
    sandbox = Counting()
    outcomes = await asyncio.gather(*(judged(sandbox, "x", name=str(number)) for number in range(8)))
    assert [outcome.score for outcome in outcomes] == [1.0] * 8
    assert sorted(sandbox.read) == [b"x1", b"x2"]
    assert (await judged(sandbox, "x", name="later")).score == 1.0
    assert len(sandbox.read) == 2


async def test_each_other_output_gets_a_ruling_of_its_own() -> None:
    sandbox = Counting({b"b2": REJECTS})
    outcomes = await asyncio.gather(*(judged(sandbox, printed) for printed in "abc"))
    assert [outcome.score for outcome in outcomes] == [1.0, 0.0, 1.0]
    assert sorted(sandbox.read) == [b"a1", b"a2", b"b1", b"b2", b"c1", b"c2"]


@pytest.mark.parametrize(
    "other",
    [
        reference("int main() { return 1; }"),
        reference(args=["strict"]),
        reference(files={"limits.txt": "3"}),
        reference(limits={"memory_mb": 64}),
        {**reference(), "tests": [{"type": "stdio", "stdin": "1", "stdout": "3"}]},
        {**reference(), "tests": [{"type": "stdio", "stdin": "1", "stdout": "1", "checker_args": ["easy"]}]},
    ],
    ids=["judge", "arguments", "files", "limits", "answer", "arguments of the test"],
)
async def test_a_ruling_is_shared_only_if_everything_beside_the_judge_is_the_same(other: Any) -> None:
    sandbox = Counting()
    await judged(sandbox, "x")
    await judged(sandbox, "x", name="other", asked=other)
    assert len(sandbox.read) == 2 + len(other["tests"])


@pytest.mark.parametrize("failure", [CRASHES, TIMES_OUT], ids=["crash", "time-out"])
async def test_a_judge_that_fails_for_one_program_runs_again_for_the_next(failure: Report) -> None:
    """And its failure changes no verdict of another output."""
    sandbox = Counting({b"bad1": failure}, gate=asyncio.Event())
    asked = reference(f"// fails by {failure.status}")  # control runs are remembered, by the judge
    bad = [asyncio.create_task(judged(sandbox, "bad", name=str(number), asked=asked)) for number in range(2)]
    good = [asyncio.create_task(judged(sandbox, "good", name=str(number), asked=asked)) for number in range(2)]
    await until(sandbox, 2)
    assert sandbox.gate is not None
    sandbox.gate.set()
    assert [outcome.score for outcome in await asyncio.gather(*good)] == [1.0, 1.0]
    assert [outcome.reason for outcome in await asyncio.gather(*bad)] == ["judge_failed_on_output"] * 2
    assert (sandbox.read.count(b"bad1"), sandbox.read.count(b"good1")) == (2, 1)


async def test_whoever_waits_for_a_run_that_never_ends_runs_the_judge() -> None:
    sandbox = Counting(gate=asyncio.Event())
    first = asyncio.create_task(judged(sandbox, "x", name="first"))
    await until(sandbox, 1)
    others = [asyncio.create_task(judged(sandbox, "x", name=str(number))) for number in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    await until(sandbox, 2)
    assert sandbox.gate is not None
    sandbox.gate.set()
    assert [outcome.score for outcome in await asyncio.gather(*others)] == [1.0] * 3
    assert sorted(sandbox.read) == [b"x1", b"x1", b"x2"]  # of those who waited, one


async def test_whoever_waits_can_leave_without_an_effect_on_the_others() -> None:
    sandbox = Counting(gate=asyncio.Event())
    runs = [asyncio.create_task(judged(sandbox, "x", name=str(number))) for number in range(3)]
    await until(sandbox, 1)
    runs[1].cancel()
    assert sandbox.gate is not None
    sandbox.gate.set()
    assert [(await runs[place]).score for place in (0, 2)] == [1.0, 1.0]
    assert sorted(sandbox.read) == [b"x1", b"x2"]


async def test_a_failure_of_the_sandbox_is_nobody_elses() -> None:
    sandbox = Counting(broken=b"x1", gate=asyncio.Event())
    first = asyncio.create_task(judged(sandbox, "x", name="first"))
    await until(sandbox, 1)
    second = asyncio.create_task(judged(sandbox, "x", name="second"))
    await asyncio.sleep(0)
    assert sandbox.gate is not None
    sandbox.gate.set()
    assert ((await first).status, (await second).score) == ("error", 1.0)


async def test_the_first_rejection_ends_the_run_for_its_own_program_only() -> None:
    sandbox = Counting({b"x1": REJECTS}, gate=asyncio.Event())
    first = asyncio.create_task(judged(sandbox, "x", name="first"))
    await until(sandbox, 1)
    second = asyncio.create_task(judged(sandbox, "x", name="second", scoring="fraction"))
    await asyncio.sleep(0)
    assert sandbox.gate is not None
    sandbox.gate.set()
    assert ((await first).score, (await second).score) == (0.0, 0.5)
    assert sandbox.read == [b"x1", b"x2"]


async def test_a_program_that_is_judged_again_is_judged_anew() -> None:
    """A judge that rules at random must be seen to do so."""
    sandbox = Counting()
    assert (await judged(sandbox, "x")).score == 1.0
    sandbox.says = {b"x1": REJECTS}
    assert (await judged(sandbox, "x")).score == 0.0


async def test_rulings_are_forgotten_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulings, "_LASTS_S", 0.0)
    sandbox = Counting()
    await judged(sandbox, "x", name="first")
    await judged(sandbox, "x", name="second")
    assert len(sandbox.read) == 4


async def test_the_oldest_rulings_are_forgotten_if_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulings, "_MOST_BYTES", 4 * 1024)
    sandbox = Counting()
    for printed in "abc":
        await judged(sandbox, printed, name="first")
    sandbox.read.clear()
    for printed in "ca":
        await judged(sandbox, printed, name="second")
    assert sandbox.read == [b"a1", b"a2"]


@pytest.mark.needs_server
async def test_a_real_judge_reads_equal_outputs_once_and_fails_alone() -> None:
    """The judge's message is drawn at random: two with the same are of one run."""
    code = """
import os, sys
output = open("output.txt").read()
if "crash" in output:
    os.abort()
print(os.urandom(8).hex(), file=sys.stderr)
sys.exit(1)
"""
    judge = {"type": "program", "language": "python", "code": code}
    test = {"type": "stdio", "stdout": "1", "checker": judge, "visibility": "public"}
    asked = {"language": "python", "tests": [test]}
    printed = ["same", "other", "crash", "same", "crash"]
    samples = [
        Sample(response=f"```python\nprint({text!r})  # {number}\n```", reference=asked)
        for number, text in enumerate(printed)
    ]
    engine = Engine(Registry(), EngineSettings(cache=False, workers=1))
    await engine.start()
    try:
        verdicts = (
            await engine.verify(Batch(samples=samples, use=Use(name="code", params={"reveal": "verdicts"})))
        ).verdicts
    finally:
        await engine.close()
    said = [verdict.evidence["tests"][0]["message"] for verdict in verdicts]
    assert [verdict.reason for verdict in verdicts] == [
        "wrong_answer",
        "wrong_answer",
        "judge_failed_on_output",
        "wrong_answer",
        "judge_failed_on_output",
    ]
    assert said[0] == said[3] != said[1]
