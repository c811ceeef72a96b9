"""Several real hosts behind one lane, over TLS with a token: whatever becomes of one, every verdict is right."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program
from rewarden_sandboxes.probing import clean
from rewarden_server.engine.lanes import remote_host
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from tests.programs import LAUNCHERS, problem_of
from tests.sandbox.host_processes import HostServer, host_servers
from tests.stopped import stop

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.slow]

CASES = 6


@pytest_asyncio.fixture
async def hosts(tmp_path: Path) -> AsyncIterator[tuple[HostServer, HostServer, SandboxLane]]:
    """Two hosts that run, and a lane to both."""
    problems = {name: await problem_of(name) for name in reversed(LAUNCHERS)}
    launcher = next((name for name, problem in problems.items() if problem is None), None)
    if launcher is None:
        pytest.skip("; ".join(filter(None, problems.values())))
    (one, other), settings = host_servers(tmp_path, launcher, 2)
    lane = SandboxLane(settings, Observer())
    try:
        one.begin()
        other.begin()
        await asyncio.to_thread(one.until_it_answers)
        await asyncio.to_thread(other.until_it_answers)
        await until(lane, lambda states: states == ["ready", "ready"])
        yield one, other, lane
    finally:
        await lane.close()
        for host in (one, other):
            await asyncio.to_thread(host.end)
        await asyncio.to_thread(clean)  # what a host left that was killed


async def until(lane: SandboxLane, so: Callable[[list[str]], bool]) -> None:
    """Wait until the hosts' states are so."""
    async with asyncio.timeout(60):
        while not so([host["state"] for host in (await lane.status())["hosts"]]):
            await asyncio.sleep(0.05)


async def score(lane: SandboxLane, number: int) -> list[tuple[int, str, bytes]]:
    """Returns what a job's cases told. The program squares its input, the last one's waits, so that jobs are under
    way.
    """
    code = b"import time\nn = int(input())\nprint(n * n)\ntime.sleep(0.1)\n"
    program = Program(language="python", code=code, limits=Limits(wall_s=20.0, cpu_s=20.0))
    job = Job(program=program, cases=[Case(stdin=b"%d\n" % (number + case)) for case in range(CASES)])
    return [
        (event.index, event.program.status, event.program.stdout)
        async for event in lane.run(job)
        if isinstance(event, CaseResult)
    ]


async def right(lane: SandboxLane, tasks: list[asyncio.Task[list[tuple[int, str, bytes]]]]) -> None:
    """Every case of every job was told once, in order, and is right."""
    for number, told in enumerate(await asyncio.gather(*tasks)):
        assert told == [(case, "ok", b"%d\n" % (number + case) ** 2) for case in range(CASES)]
    assert (lane.under_way, lane.waiting) == (0, 0)


def load(lane: SandboxLane, jobs: int = 24) -> list[asyncio.Task[list[tuple[int, str, bytes]]]]:
    """Jobs that all run at once."""
    return [asyncio.create_task(score(lane, number)) for number in range(jobs)]


async def under_way(lane: SandboxLane, jobs: int) -> None:
    """Wait until each host has as many."""
    async with asyncio.timeout(60):
        while not all(host["in_flight"] >= jobs for host in (await lane.status())["hosts"]):
            await asyncio.sleep(0.01)


async def test_a_host_that_is_killed_hangs_or_leaves_costs_no_verdict(
    hosts: tuple[HostServer, HostServer, SandboxLane], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One pair of hosts for all of it: to start them takes longer than to ask them."""
    one, other, lane = hosts
    assert one.check() == 0
    assert b"a-token-of-the-tests-alone" not in Path(f"/proc/{one.pid}/cmdline").read_bytes()
    assert (await lane.status())["differences"] == []

    # Each host has two sessions, so the four are on both.
    sessions = [await lane.session(Program(language="python", code=b"print(input())")) for _ in range(4)]
    for number, session in enumerate(sessions):
        await session.send(b"%d\n" % number)
        assert await session.receive() == b"%d\n" % number
        await session.close()

    tasks = load(lane)
    await under_way(lane, 8)
    one.end(signal.SIGKILL)
    await right(lane, tasks)
    assert one_of(lane, await lane.status(), one) == "lost"

    await asyncio.to_thread(one.start)
    await until(lane, lambda states: states == ["ready", "ready"])

    tasks = load(lane)
    await under_way(lane, 8)
    other_ends = asyncio.create_task(asyncio.to_thread(other.end))  # SIGTERM: a rolling restart
    await right(lane, tasks)
    assert await other_ends == 0
    await asyncio.to_thread(other.start)
    await until(lane, lambda states: states == ["ready", "ready"])

    tasks = load(lane)
    await under_way(lane, 8)
    await asyncio.to_thread(stop, one.pid)
    monkeypatch.setattr(remote_host, "LOOK_PATIENCE_S", 1.0)  # not before: a healthy one may be as slow beside others
    await right(lane, tasks)
    assert await asyncio.to_thread(one.check) == 1
    one.send(signal.SIGCONT)
    await until(lane, lambda states: states == ["ready", "ready"])


def one_of(lane: SandboxLane, status: dict[str, object], server: HostServer) -> str:
    """The state of one host."""
    hosts = status["hosts"]
    assert isinstance(hosts, list)
    return next(str(host["state"]) for host in hosts if host["address"] == server.address)
