"""Several sandbox hosts behind one lane: to which of them a job goes, and what becomes of it when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden.errors import InvalidSample, SandboxError, Unavailable
from rewarden.types import Run
from rewarden_sandboxes.cpu_permits import CpuPermits
from rewarden_sandboxes.errors import BadJob, Busy, HostError, Leaving, NoRoom
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, JobEvent, Program, Report
from rewarden_server.boxes.settings import BoxSettings
from rewarden_server.cli.check_lines import show_check
from rewarden_server.cli.sandbox_state import sandbox_state
from rewarden_server.engine.lanes import remote_host, remote_hosts
from rewarden_server.engine.lanes.host_skew import host_skew
from rewarden_server.engine.lanes.remote_hosts import RemoteHosts
from rewarden_server.engine.lanes.resizable_semaphore import ResizableSemaphore
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.observe.metrics import Metrics
from rewarden_server.processes.settings import SandboxSettings
from tests.server.hosts import Answer, ScriptedHost, serving

JOB = Job(program=Program(language="python", code=b""), cases=[Case(stdin=b"a"), Case(stdin=b"b")])

Open = Callable[..., Any]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks follow each other at once, and may take as long as a busy machine needs: tests wait for what they find."""
    monkeypatch.setattr(remote_host, "_LOOK_S", 0.02)
    for module, name in (
        (remote_host, "LOOK_PATIENCE_S"),
        (remote_hosts, "LOOK_PATIENCE_S"),
        (remote_hosts, "_STATUS_PATIENCE_S"),
    ):
        monkeypatch.setattr(module, name, 60.0)


@pytest_asyncio.fixture
async def open_lane(tmp_path: Path) -> AsyncIterator[Open]:
    """A lane to scripted hosts, which has looked at each; host number n is at `{n}.sock`."""
    async with AsyncExitStack() as stack:

        async def make(*scripts: ScriptedHost, **settings: Any) -> SandboxLane:
            addresses = [
                await stack.enter_async_context(serving(script, tmp_path, str(number)))
                for number, script in enumerate(scripts)
            ]
            lane = SandboxLane(SandboxSettings(address=",".join(addresses), **settings), Observer())
            stack.push_async_callback(lane.close)
            await lane.status()
            return lane

        yield make


async def told(lane: SandboxLane, job: Job = JOB) -> list[CompileResult | CaseResult]:
    """All of a job's events."""
    return [event async for event in lane.run(job)]


async def until(lane: SandboxLane, *states: str) -> None:
    """Wait until the hosts are so, one after the other."""
    async with asyncio.timeout(30):
        while tuple(each.state for each in remote(lane).hosts) != states:
            await asyncio.sleep(0.005)


def remote(lane: SandboxLane) -> RemoteHosts:
    """The lane's hosts."""
    assert isinstance(lane._hosts, RemoteHosts)
    return lane._hosts


def with_slots(slots: int, answer: Answer | None = None) -> ScriptedHost:
    """A host that says that it has so many slots, none of them in use."""
    script = ScriptedHost(answer) if answer is not None else ScriptedHost()
    script.told |= {"capacity": {"slots": slots, "sessions": 2}, "slots": {}}
    return script


def raising(error: HostError) -> Answer:
    """Every job ends so."""

    async def answer(job: Job) -> AsyncGenerator[JobEvent, None]:
        raise error
        yield

    return answer


async def forever(job: Job) -> AsyncGenerator[JobEvent, None]:
    await asyncio.Event().wait()
    yield


async def begun(*scripts: ScriptedHost, jobs: int) -> None:
    """Wait until so many jobs have reached the hosts."""
    async with asyncio.timeout(30):
        while sum(len(script.jobs) for script in scripts) < jobs:
            await asyncio.sleep(0.005)


# --- to which


async def test_jobs_are_shared_by_the_slots_that_each_host_has(open_lane: Open) -> None:
    large, small = with_slots(9, forever), with_slots(3, forever)
    lane = await open_lane(large, small)
    tasks = [asyncio.create_task(told(lane)) for _ in range(12)]
    await begun(large, small, jobs=12)
    assert (len(large.jobs), len(small.jobs)) == (9, 3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert [each.in_flight for each in remote(lane).hosts] == [0, 0]


async def test_what_other_servers_have_there_counts(open_lane: Open) -> None:
    full, empty = with_slots(4), with_slots(4)
    full.told |= {"slots": {"python": {"slots": 4, "idle": 0, "starting": 0}}, "waiting": 3}
    lane = await open_lane(full, empty)
    for _ in range(3):
        await told(lane)
    assert (len(full.jobs), len(empty.jobs)) == (0, 3)


async def test_a_job_goes_to_a_host_that_has_its_language_and_image(open_lane: Open) -> None:
    rows = {"python": {"images": ["base", "python"], "aliases": ["py"]}, "c": {"images": ["toolchains"], "aliases": []}}
    no_row, no_image, whole = (with_slots(slots) for slots in (900, 90, 9))
    no_row.told |= {"languages": {"python": rows["python"]}, "images": {"base": "1"}}
    no_image.told |= {"languages": rows, "images": {"base": "1", "toolchains": ""}}
    whole.told |= {"languages": rows, "images": {"base": "1", "toolchains": "2"}}
    lane = await open_lane(no_row, no_image, whole)
    await told(lane, Job(program=Program(language="C", code=b""), cases=[Case()]))
    await told(lane, Job(program=Program(language="py", code=b""), cases=[Case()]))
    assert [len(script.jobs) for script in (no_row, no_image, whole)] == [1, 0, 1]
    # Of what nobody has, whoever is asked says so.
    no_row.answer = no_image.answer = whole.answer = raising(NoRoom("no such language"))
    with pytest.raises(SandboxError, match="no such language"):
        await told(lane, Job(program=Program(language="zig", code=b""), cases=[Case()]))


async def test_what_no_host_has_is_said_at_once_and_a_missing_image_is_no_fault_of_the_program(
    open_lane: Open, tmp_path: Path
) -> None:
    knowing, other = with_slots(1, raising(NoRoom("its image is missing"))), with_slots(900)
    other.answer = raising(BadJob("program.language", "unknown language"))
    c = {"images": ["toolchains"], "aliases": []}
    knowing.told |= {"ready": False, "reason": "no images", "languages": {"c": c}, "images": {"toolchains": ""}}
    other.told |= {"languages": {}, "images": {}}
    lane = await open_lane(knowing, other, start_s=1000.0)
    with pytest.raises(SandboxError, match="its image is missing"):
        await told(lane, Job(program=Program(language="c", code=b""), cases=[Case()]))
    # A host that is away for a while must not have everybody wait behind those who mistype a language.
    for each in remote(lane).hosts[:1]:
        each.lost()
        assert each.state == "lost"
        each._rest_until = float("inf")
    with pytest.raises(InvalidSample, match="unknown language"):
        await asyncio.wait_for(told(lane, Job(program=Program(language="zig", code=b""), cases=[Case()])), 30)


async def test_what_no_host_has_is_told_before_any_job_also_while_the_only_host_is_away(open_lane: Open) -> None:
    script = with_slots(1)
    rows = {"python": {"images": ["python"], "aliases": ["py"]}, "go": {"images": ["native"], "aliases": []}}
    script.told |= {"languages": rows, "images": {"python": "1", "native": ""}}
    lane = await open_lane(script)
    assert await lane.lacking(["PY"]) is None
    assert "--only native" in (await lane.lacking(["python", "go"]) or "")
    (host,) = remote(lane).hosts
    host.lost()
    host._rest_until = float("inf")
    asked = asyncio.create_task(lane.lacking(["python", "zig"]))
    await until(lane, "lost")
    host._rest_until = 0.0
    host._wake.set()
    assert await asyncio.wait_for(asked, 30) == "unknown language 'zig'; known: python, go"
    assert script.jobs == []


async def test_a_host_that_is_not_ready_gets_nothing_while_another_is(open_lane: Open) -> None:
    limping, well = with_slots(900), with_slots(1)
    limping.told |= {"ready": False, "reason": "docker is gone"}
    lane = await open_lane(limping, well)
    await told(lane)
    assert (len(limping.jobs), len(well.jobs)) == (0, 1)
    status = await lane.status()
    assert (status["state"], status["reason"]) == ("ready", None)
    assert [(each["state"], each["reason"]) for each in status["hosts"]] == [
        ("limping", "docker is gone"),
        ("ready", None),
    ]
    well.told |= {"ready": False, "reason": "the images are missing"}
    await until(lane, "limping", "limping")
    status = await lane.status()
    assert status["state"] == "missing"
    assert "docker is gone" in status["reason"]
    assert "the images are missing" in status["reason"]


async def test_so_many_are_under_way_as_the_hosts_that_are_ready_have_slots_for(open_lane: Open) -> None:
    one, other = with_slots(5), with_slots(7)
    lane = await open_lane(one, other)
    assert lane._turns.most == 4 * 12
    one.told["ready"] = False
    await until(lane, "limping", "ready")
    assert lane._turns.most == 4 * 7


# --- what fails


async def test_a_host_that_is_lost_in_the_middle_is_replaced_and_no_result_comes_twice(
    tmp_path: Path, open_lane: Open
) -> None:
    async def half(job: Job) -> AsyncGenerator[JobEvent, None]:
        yield CaseResult(index=0, program=Report(status="ok", stdout=b"from the first"))
        await asyncio.Event().wait()

    dying, well = with_slots(900, half), with_slots(1)
    async with serving(well, tmp_path, "well") as other, serving(dying, tmp_path, "dying") as address:
        lane = SandboxLane(SandboxSettings(address=f"{address},{other}"), Observer())
        await lane.status()
        events = lane.run(JOB)
        first = await anext(events)
        (server := remote(lane).hosts[0]).client.hang_up("the cable was cut")
        rest = [event async for event in events]
        assert [event.program.stdout for event in [first, *rest] if isinstance(event, CaseResult)] == [
            b"from the first",
            b"b",
        ]
        assert (len(dying.jobs), len(well.jobs), server.in_flight) == (1, 1, 0)
        await lane.close()


GOOD, BAD = Report(status="ok"), Report(status="compile_error")


@pytest.mark.parametrize(
    ("first", "then", "cases", "fault"),
    [
        # One host compiles what the other interprets: each case is told once, and is its own.
        ([CompileResult(report=GOOD)], [], "ab", None),
        ([], [CompileResult(report=GOOD)], "ab", None),
        ([CompileResult(report=GOOD)], [CompileResult(report=BAD)], "a", "did not compile"),
    ],
)
async def test_what_hosts_say_otherwise_makes_no_wrong_result(
    open_lane: Open, first: list[JobEvent], then: list[JobEvent], cases: str, fault: str | None
) -> None:
    lane: SandboxLane

    def case(index: int, text: bytes) -> CaseResult:
        return CaseResult(index=index, program=Report(status="ok", stdout=text))

    async def half(job: Job) -> AsyncGenerator[JobEvent, None]:
        for event in [*first, case(0, b"a")]:
            yield event
        raise Leaving("about to end")

    async def whole(job: Job) -> AsyncGenerator[JobEvent, None]:
        for event in [*then, case(0, b"again"), case(1, b"b")]:
            yield event

    lane = await open_lane(with_slots(900, half), with_slots(1, whole))
    found = []
    with contextlib.ExitStack() as stack:
        if fault is not None:
            stack.enter_context(pytest.raises(SandboxError, match=fault))
        async for event in lane.run(JOB):
            if isinstance(event, CaseResult):
                found.append((event.index, event.program.stdout.decode()))
    assert found == list(enumerate(cases))


async def test_a_job_that_loses_two_hosts_is_not_tried_on_a_third(open_lane: Open) -> None:
    lane: SandboxLane

    async def cut(job: Job) -> AsyncGenerator[JobEvent, None]:
        for each in remote(lane).hosts:
            if each.in_flight:
                each.client.hang_up("it brought its host down")
        await asyncio.Event().wait()
        yield

    scripts = [with_slots(9, cut) for _ in range(3)]
    lane = await open_lane(*scripts)
    with pytest.raises(SandboxError, match="brought its host down"):
        await told(lane)
    assert sorted(len(script.jobs) for script in scripts) == [0, 1, 1]


@pytest.mark.parametrize("error", [Busy("too much waits"), NoRoom("docker is gone"), Leaving("about to end")])
async def test_what_one_host_refuses_goes_to_another_at_once(open_lane: Open, error: HostError) -> None:
    refusing, well = with_slots(900, raising(error)), with_slots(1)
    lane = await open_lane(refusing, well)
    assert len(await told(lane)) == 2
    ended = await lane.run_program(Run(code="", language="python"))
    assert ended.status == "ok"
    assert len(well.jobs) == 2


async def test_where_no_host_has_room_the_job_says_why_after_two(open_lane: Open) -> None:
    scripts = [with_slots(9, raising(NoRoom("docker is gone"))) for _ in range(3)]
    lane = await open_lane(*scripts)
    with pytest.raises(SandboxError, match="docker is gone"):
        await told(lane)
    assert sum(len(script.jobs) for script in scripts) == 2


async def test_when_the_only_host_leaves_jobs_wait_until_it_is_back(open_lane: Open) -> None:
    script = with_slots(4, raising(Leaving("about to end")))
    lane = await open_lane(script)
    script.told |= {"ready": False, "leaving": True, "reason": "about to end"}
    waiting = [
        asyncio.create_task(told(lane)),
        asyncio.create_task(lane.run_program(Run(code="", language="python"))),
    ]
    await until(lane, "leaving")
    assert (await lane.status())["state"] == "missing"
    script.answer = with_slots(4).answer
    script.told |= {"ready": True, "leaving": False, "reason": None}
    events, ended = await asyncio.gather(*waiting)
    assert len(events) == 2
    assert ended.status == "ok"


async def test_a_host_that_answers_no_more_gets_nothing_until_it_does(
    open_lane: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is stopped, or whose machine is gone: its connection stays whole, and nothing comes over it."""
    hung, well = with_slots(900, forever), with_slots(1)
    lane = await open_lane(hung, well)
    task = asyncio.create_task(told(lane))
    await begun(hung, jobs=1)
    whole = hung.status

    async def never(probe: bool = False) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr(remote_host, "LOOK_PATIENCE_S", 0.5)
    hung.status = never  # type: ignore[method-assign]
    assert len(await asyncio.wait_for(task, 30)) == 2  # begun anew on the other
    await until(lane, "lost", "ready")
    await told(lane)
    assert (len(hung.jobs), len(well.jobs)) == (1, 2)
    hung.status = whole  # type: ignore[method-assign]
    await until(lane, "ready", "ready")


async def test_whoever_accepts_and_says_nothing_is_no_host(open_lane: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_host, "LOOK_PATIENCE_S", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        lane = SandboxLane(SandboxSettings(address=f"127.0.0.1:{silent.getsockname()[1]}", start_s=0.2), Observer())
        with pytest.raises(SandboxError, match="cannot be reached"):
            await told(lane)
        with pytest.raises(Unavailable, match="no program can run now"):
            await lane.run_program(Run(code="", language="python"))
        await lane.close()


async def test_a_host_whose_status_makes_no_sense_is_none_until_it_does(open_lane: Open) -> None:
    script = with_slots(4)
    sense, script.told["slots"] = script.told["slots"], {"python": "many"}
    lane = await open_lane(script)
    status = await lane.status()
    assert (status["state"], status["reason"]) == ("missing", "its status cannot be read: TypeError")
    script.told["slots"] = sense
    await until(lane, "ready")


async def test_when_all_hosts_are_gone_each_is_named(tmp_path: Path) -> None:
    addresses = [f"unix:{tmp_path}/{name}.sock" for name in ("one", "other")]
    lane = SandboxLane(SandboxSettings(address=",".join(addresses), start_s=0.05), Observer())
    with pytest.raises(SandboxError, match="no sandbox host answers") as raised:
        await told(lane)
    assert all(address in raised.value.message for address in addresses)
    # A single run has its caller waiting, so it is told at once where there never was a host.
    lane.settings = SandboxSettings(address=lane.settings.address, start_s=1000.0)
    with pytest.raises(Unavailable, match="no sandbox host answers"):
        await lane.run_program(Run(code="", language="python"))
    assert (lane.under_way, lane.waiting) == (0, 0)
    await lane.close()


async def test_one_that_comes_and_goes_rests_longer_every_time(tmp_path: Path) -> None:
    lane = SandboxLane(SandboxSettings(address=f"unix:{tmp_path}/0.sock"), Observer())
    async with serving(with_slots(4), tmp_path, "0"):
        await lane.status()
        (flapping,) = remote(lane).hosts
        rests = []
        for _ in range(8):
            flapping.state = "ready"
            flapping.lost()
            rests.append(flapping._rest_until - flapping._ready_since)
        assert flapping._losses == 8
        assert rests[-1] > rests[1]
        assert flapping._rest_until > asyncio.get_running_loop().time()
        await lane.close()


async def test_what_waits_for_a_host_ends_with_the_server(tmp_path: Path) -> None:
    lane = SandboxLane(SandboxSettings(address=f"unix:{tmp_path}/nobody.sock", start_s=1000.0), Observer())
    task = asyncio.create_task(told(lane))
    while not lane.under_way:
        await asyncio.sleep(0)
    await lane.close()
    with pytest.raises(SandboxError, match="the server is stopping"):
        await asyncio.wait_for(task, 30)


# --- what is said of them


def test_what_hosts_differ_in_is_said() -> None:
    same = {"version": "1", "launcher": "docker", "images": {"python": "a"}, "languages": {"c": {"run": ["c"]}}}
    assert host_skew({"one": same, "other": dict(same)}) == []
    assert host_skew({"one": same}) == []
    other = {"version": "2", "launcher": "docker", "images": {"python": "b", "base": "c"}, "languages": {}}
    assert host_skew({"one": same, "other": other}) == [
        "the hosts differ in their version: 1 on one, 2 on other",
        "the image python differs: a on one, b on other",
        "the language c is missing on other",
    ]
    assert host_skew({"one": same, "other": {**same, "images": {"python": ""}}}) == [
        "the image python is missing on other"
    ]


async def test_the_lane_and_the_doctor_say_how_each_host_is(open_lane: Open) -> None:
    one, other = with_slots(4), with_slots(4)
    one.told |= {"version": "1", "images": {"python": "sha256:1"}}
    other.told |= {"version": "2", "images": {"python": "sha256:2"}}
    lane = await open_lane(one, other)
    assert len((await lane.status())["differences"]) == 2
    gone = lane.settings.address.replace("/1.sock", "/gone.sock")
    settings = SandboxSettings(address=f"{lane.settings.address},{gone.split(',')[1]}")
    check = await sandbox_state(settings, BoxSettings())
    assert str(check.details).count("scripted runs programs") == 2
    assert check.summary == "2 of 3 hosts answer"
    assert [problem for problem, _ in check.problems if "gone.sock: the sandbox host cannot be reached" in problem]
    assert [problem for problem, _ in check.problems if "the image python differs" in problem]


async def test_the_doctor_warns_of_boxes_that_can_fill_more_than_the_machine(open_lane: Open) -> None:
    one, other = with_slots(4), with_slots(4)
    one.told |= {"boxes": {"open": 0, "most": 5}, "machine_memory_mb": 10_000}
    other.told |= {"boxes": {"open": 0, "most": 4}, "machine_memory_mb": 10_000}
    lane = await open_lane(one, other)
    settings = SandboxSettings(address=lane.settings.address)
    check = await sandbox_state(settings, BoxSettings(memory_mb=2000, disk_mb=500))
    assert check.state == "works"
    [(warning, fix)] = check.warnings
    assert "0.sock: 5 boxes (sandbox.boxes) can fill 12500 MiB" in warning
    assert "the machine has 10000" in warning
    assert "sandbox.boxes = 4," in fix
    assert (await sandbox_state(settings, BoxSettings(memory_mb=1500, disk_mb=500))).warnings == ()
    show_check(check, 10)
    one.told["rooms"] = False  # it has no boxes
    assert (await sandbox_state(settings, BoxSettings(memory_mb=2000, disk_mb=500))).warnings == ()


async def test_each_host_has_its_gauges(open_lane: Open, tmp_path: Path) -> None:
    script, gone = ScriptedHost(), ScriptedHost()
    gone.told |= {"ready": False, "reason": "no"}
    metrics = Metrics()
    metrics.sandbox(await (await open_lane(script, gone)).status())
    page = metrics.page().decode()
    for line in (
        'rewarden_sandbox_slots{state="busy"} 2.0',
        f'rewarden_sandbox_host_slots{{host="unix:{tmp_path}/0.sock",state="busy"}} 2.0',
        f'rewarden_sandbox_host_ready{{host="unix:{tmp_path}/0.sock"}} 1.0',
        f'rewarden_sandbox_host_ready{{host="unix:{tmp_path}/1.sock"}} 0.0',
        f'rewarden_sandbox_host_in_flight{{host="unix:{tmp_path}/0.sock"}} 0.0',
    ):
        assert line in page


# --- turns


async def test_turns_come_in_order_and_their_number_can_change() -> None:
    turns = ResizableSemaphore(1)
    order: list[int] = []
    let_go = asyncio.Event()

    async def take(number: int) -> None:
        async with turns.turn():
            order.append(number)
            await let_go.wait()

    tasks = [asyncio.create_task(take(number)) for number in range(6)]
    await asyncio.sleep(0)
    assert (order, turns.taken, turns.waiting) == ([0], 1, 5)
    tasks[1].cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await tasks[1]
    turns.allow(3)
    tasks[2].cancel()  # in the moment in which it has its turn
    await asyncio.gather(tasks[2], return_exceptions=True)
    await asyncio.sleep(0)
    assert (order, turns.taken, turns.waiting) == ([0, 3, 4], 3, 1)
    turns.allow(1)
    let_go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (order, turns.taken, turns.waiting) == ([0, 3, 4, 5], 0, 0)


async def test_who_is_cancelled_in_the_moment_of_another_ones_turn_is_only_cancelled() -> None:
    async def take(turns: ResizableSemaphore) -> None:
        async with turns.turn():
            await asyncio.Event().wait()

    turns, tokens = ResizableSemaphore(1), CpuPermits(1)
    await tokens.take()
    holding, cancelled = asyncio.create_task(take(turns)), asyncio.create_task(take(turns))
    waiting = asyncio.create_task(tokens.take())
    await asyncio.sleep(0)
    cancelled.cancel()
    turns.allow(5)
    waiting.cancel()
    tokens.give()
    holding.cancel()
    told = await asyncio.gather(holding, cancelled, waiting, return_exceptions=True)
    assert [type(error) for error in told] == 3 * [asyncio.CancelledError]
    assert (turns.taken, turns.waiting, tokens.free, tokens.waiting) == (0, 0, 1, 0)
