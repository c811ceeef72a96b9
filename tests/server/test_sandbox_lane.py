"""`ctx.sandbox`: an orchestrator's programs, whatever becomes of the host under them."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden.errors import InvalidSample, Overloaded, SandboxError
from rewarden.types import Batch, Outcome, Run, Sample, Use, Verdict
from rewarden_sandboxes.errors import BadJob, Busy, HostError, NoRoom
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, JobEvent, Limits, Program, Report, source
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.lanes import host_retry
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.contract import Context, spec_of, verifier
from rewarden_verifiers.outcome import scored
from rewarden_verifiers.registry import Registry
from tests.server.hosts import ENFORCED, ScriptedHost, serving

PROGRAM = Program(language="python", code=b"print(1)")
JOB = Job(program=PROGRAM, cases=[Case(stdin=b"a"), Case(stdin=b"b")])

Open = Callable[..., Any]


@pytest_asyncio.fixture
async def open_lane(tmp_path: Path) -> AsyncIterator[Open]:
    """A lane to a scripted host."""
    async with AsyncExitStack() as stack:

        async def make(script: ScriptedHost, observer: Observer | None = None, **settings: Any) -> SandboxLane:
            address = await stack.enter_async_context(serving(script, tmp_path))
            lane = SandboxLane(SandboxSettings(address=address, **settings), observer or Observer())
            stack.push_async_callback(lane.close)
            return lane

        yield make


async def told(lane: SandboxLane, asked: Job = JOB) -> list[JobEvent]:
    """All of a job's events."""
    return [event async for event in lane.run(asked)]


async def test_a_job_goes_to_the_host_as_it_is_and_its_results_come_back(open_lane: Open) -> None:
    script = ScriptedHost()
    lane = await open_lane(script)
    asked = Job(
        program=Program(
            language="python",
            code="é".encode(),
            files={"a": b"1"},
            args=("x",),
            mode="tests",
            limits=Limits(cpu_s=1.5, memory_mb=64),
        ),
        cases=(Case(stdin=b"in", request=b"{}", partner_stdin=b"p"),),
        partner=Program(language="python", code=b"", mode="serve"),
        join="socket",
        compile_limits=Limits(wall_s=2.0),
        collect=("out.txt",),
    )
    assert await told(lane, asked) == [
        CaseResult(
            index=0,
            program=Report(
                status="ok", exit_code=0, stdout=b"in", cpu_time=0.25, wall_time=0.5, enforced=ENFORCED, flags=()
            ),
        )
    ]
    assert script.jobs == [replace(asked, patience_s=math.inf)]  # however long the line is


async def test_text_that_is_no_unicode_reaches_the_interpreter_which_refuses_it(open_lane: Open) -> None:
    script = ScriptedHost()
    lane = await open_lane(script)
    await told(lane, Job(program=Program(language="python", code=source("x\ud800")), cases=[Case()]))
    assert script.jobs[0].program.code == b"x\xed\xa0\x80"


@pytest.mark.parametrize(
    ("raised", "named"),
    [
        (NoRoom("docker is gone"), SandboxError),
        (HostError("the disk is full"), SandboxError),
        (BadJob("program.language", "unknown language 'pyhton'"), InvalidSample),
    ],
)
async def test_what_the_host_refuses_has_the_right_fault(
    open_lane: Open, raised: HostError, named: type[Exception]
) -> None:
    async def refuse(asked: Job) -> AsyncGenerator[JobEvent, None]:
        raise raised
        yield

    lane = await open_lane(ScriptedHost(refuse))
    with pytest.raises(named, match=raised.message):
        await told(lane)


async def test_a_malformed_job_is_the_callers_fault_and_names_the_field(open_lane: Open) -> None:
    lane = await open_lane(ScriptedHost())
    with pytest.raises(InvalidSample) as raised:
        await told(lane, Job(program=PROGRAM, cases=[Case(limits=Limits(cpu_s=float("nan")))]))
    assert raised.value.details == {"path": "cases[0].limits.cpu_s"}


async def test_without_a_sandbox_it_says_so(tmp_path: Path) -> None:
    lane = SandboxLane(SandboxSettings(launcher="none"), Observer())
    with pytest.raises(SandboxError, match="launcher is none"):
        await told(lane)
    assert (await lane.status())["state"] == "off"
    await lane.close()


async def test_a_lost_job_is_begun_anew_and_no_result_comes_twice(tmp_path: Path) -> None:
    async def half(asked: Job) -> AsyncGenerator[JobEvent, None]:
        yield CaseResult(index=0, program=Report(status="ok", stdout=b"from the first"))
        await asyncio.Event().wait()

    lane = SandboxLane(SandboxSettings(address=f"unix:{tmp_path}/host.sock"), Observer())
    events = lane.run(JOB)
    async with serving(ScriptedHost(half), tmp_path):
        first = await anext(events)  # here, and not only on its way: what the host sent may be lost with it
    async with serving(ScriptedHost(), tmp_path):
        rest = [event async for event in events]
    stdout = [event.program.stdout for event in [first, *rest] if isinstance(event, CaseResult)]
    assert stdout == [b"from the first", b"b"]
    await lane.close()


async def test_a_job_that_loses_every_host_ends_as_a_failure_of_ours(tmp_path: Path) -> None:
    lane = SandboxLane(SandboxSettings(address=f"unix:{tmp_path}/nobody.sock", start_s=0.01), Observer())
    with pytest.raises(SandboxError, match="cannot be reached"):
        await told(lane)
    assert (await lane.status())["state"] == "missing"
    await lane.close()


async def test_a_host_that_has_too_much_to_do_is_asked_again(open_lane: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_retry, "_BUSY_S", 0.0001)
    refusals = 3

    async def busy(asked: Job) -> AsyncGenerator[JobEvent, None]:
        nonlocal refusals
        refusals -= 1
        if refusals >= 0:
            raise Busy("too much waits")
        yield CaseResult(index=0, program=Report(status="ok"))

    lane = await open_lane(ScriptedHost(busy))
    assert len(await told(lane)) == 1
    refusals = 100  # however often: that others are served first is not a failure
    assert len(await told(lane)) == 1
    refusals = 1
    with pytest.raises(Overloaded, match="too much waits"):  # whoever has its caller waiting
        await lane.run_program(Run(code="", language="python"))


async def test_so_many_are_under_way_and_the_rest_waits_in_its_order(open_lane: Open) -> None:
    under_way, most = 0, 0
    let_go = asyncio.Event()

    async def counted(asked: Job) -> AsyncGenerator[JobEvent, None]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await let_go.wait()
        under_way -= 1
        yield CaseResult(index=0, program=Report(status="ok"))

    script = ScriptedHost(counted)
    lane = await open_lane(script, in_flight=3)
    asked = [Job(program=Program(language="python", code=b"%d" % n), cases=[Case()]) for n in range(20)]
    tasks = [asyncio.create_task(told(lane, job)) for job in asked]
    async with asyncio.timeout(30):
        while len(script.jobs) < 3:
            await asyncio.sleep(0.001)
    assert (lane.under_way, lane.waiting) == (3, 17)
    tasks[10].cancel()  # who leaves the queue holds up nobody
    let_go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most == 3
    begun = [int(job.program.code) for job in script.jobs]
    assert sorted(begun[:3]) == [0, 1, 2]
    assert begun[3:] == sorted(begun[3:])
    assert 10 not in begun
    assert (lane.under_way, lane.waiting) == (0, 0)


async def test_stopping_early_kills_what_runs_and_frees_the_place(open_lane: Open) -> None:
    async def forever(asked: Job) -> AsyncGenerator[JobEvent, None]:
        yield CaseResult(index=0, program=Report(status="runtime_error", exit_code=1))
        await asyncio.Event().wait()

    script = ScriptedHost(forever)
    lane = await open_lane(script, in_flight=1)
    for _ in range(3):
        script.left.clear()
        async with aclosing(lane.run(JOB)) as events:
            async for _event in events:
                break  # a verifier that stops at the first failure
        await asyncio.wait_for(script.left.wait(), 30)
    assert lane.under_way == 0


async def test_what_ends_is_told_to_the_observer(open_lane: Open) -> None:
    seen: list[tuple[str, str, float]] = []

    class Watch(Observer):
        def program_ended(self, language: str, status: str, seconds: float) -> None:
            seen.append((language, status, seconds))

    async def both(asked: Job) -> AsyncGenerator[JobEvent, None]:
        if asked.program.language == "c":
            yield CompileResult(report=Report(status="compile_error", wall_time=2.0))
            return
        yield CompileResult(report=Report(status="ok"))
        yield CaseResult(index=0, program=Report(status="time_limit", wall_time=1.0))

    lane = await open_lane(ScriptedHost(both), Watch())
    await told(lane, Job(program=PROGRAM, cases=[Case()]))
    await told(lane, Job(program=Program(language="c", code=b""), cases=[Case()]))
    assert seen == [("python", "time_limit", 1.0), ("c", "compile_error", 2.0)]


# --- through the engine


@verifier(version="1", determinism="stateful")
async def runs(response: str, ctx: Context) -> Outcome:
    """Passes when the program ends well."""
    status = ""
    async for event in ctx.sandbox.run(Job(program=Program(language="python", code=response.encode()), cases=[Case()])):
        status = event.report.status if isinstance(event, CompileResult) else event.program.status
    return scored(1.0 if status == "ok" else 0.0)


@pytest_asyncio.fixture
async def judge(tmp_path: Path) -> AsyncIterator[Open]:
    """The verdict of a program by `runs`, on a scripted host."""
    async with AsyncExitStack() as stack:
        numbers = itertools.count()

        async def make(script: ScriptedHost, **envelope: Any) -> Verdict:
            address = await stack.enter_async_context(serving(script, tmp_path, str(next(numbers))))
            registry = Registry()
            spec = spec_of(runs)
            assert spec is not None
            registry.add(spec)
            engine = Engine(registry, EngineSettings(), warm=(), sandbox=SandboxSettings(address=address))
            await engine.start()
            stack.push_async_callback(engine.close, 0)
            batch = Batch(samples=[Sample(response="print(1)")], use=Use(name="runs"), **envelope)
            (verdict,) = (await engine.verify(batch)).verdicts
            return verdict

        yield make


async def test_a_verifiers_program_runs(judge: Open) -> None:
    assert (await judge(ScriptedHost())).score == 1.0


async def test_a_failure_of_the_sandbox_is_never_a_number(judge: Open) -> None:
    async def refuse(asked: Job) -> AsyncGenerator[JobEvent, None]:
        raise NoRoom("docker is gone")
        yield

    verdict = await judge(ScriptedHost(refuse))
    assert (verdict.status, verdict.score, verdict.fault, verdict.reason) == ("error", None, "infra", "sandbox_failed")
    assert verdict.retryable
    assert "docker is gone" in (verdict.feedback or "")


async def test_the_deadline_kills_what_runs(judge: Open) -> None:
    async def forever(asked: Job) -> AsyncGenerator[JobEvent, None]:
        await asyncio.Event().wait()
        yield

    for deadline_s in (0.2, 2.0, 20.0):  # a busy machine may not bring the job there in the first
        script = ScriptedHost(forever)
        verdict = await judge(script, deadline_s=deadline_s)
        assert (verdict.status, verdict.reason) == ("error", "deadline")
        if script.jobs:
            break
    await asyncio.wait_for(script.left.wait(), 30)
