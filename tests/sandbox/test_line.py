"""Whoever is in line for a slot: to wait is not a failure for those who can, however long the line is."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from rewarden.errors import Unavailable
from rewarden.types import Run
from rewarden_sandboxes import pool as pools
from rewarden_sandboxes.errors import NoRoom
from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program
from rewarden_sandboxes.launchers.launcher import Lease, Place
from rewarden_sandboxes.pool import Pool
from rewarden_sandboxes.service import make_server
from rewarden_sandboxes.settings import HostSettings
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.processes.settings import SandboxSettings
from tests.programs import LAUNCHERS
from tests.sandbox.conftest import started

PATIENCE_S = 0.05
LONG = Limits(wall_s=300.0)
SLEEPER = Job(program=Program(language="python", code=b"import time; time.sleep(300)", limits=LONG), cases=[Case()])


def job(number: int) -> Job:
    return Job(program=Program(language="python", code=b"print(%d)" % number), cases=[Case()])


async def told(lane: SandboxLane, asked: Job) -> list[bytes]:
    """Returns what each case of a job has written."""
    return [event.program.stdout async for event in lane.run(asked) if isinstance(event, CaseResult)]


@pytest.mark.needs_server
@pytest.mark.alone
@pytest.mark.parametrize("name", LAUNCHERS)
async def test_of_many_jobs_and_one_slot_all_are_judged_and_a_single_run_hears_that_it_is_taken(
    name: str, tmp_path: Path
) -> None:
    async for host in started(name, slots=1, warm=1, queue_timeout_s=PATIENCE_S):
        assert (await host.status(probe=True))["probe"]["ok"]
        address = f"unix:{tmp_path}/host.sock"
        server = make_server(host, address)
        await server.start()
        lane = SandboxLane(SandboxSettings(address=address, in_flight=100), Observer())
        sleeping = asyncio.create_task(told(lane, SLEEPER))
        while not any(pool["slots"] and not pool["idle"] for pool in (await host.status())["slots"].values()):
            await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(told(lane, job(number))) for number in range(30)]
        while (await host.status())["waiting"] < len(waiting):
            await asyncio.sleep(0.01)
        for _ in range(2):  # by then all have waited as long as the host's patience is
            with pytest.raises(Unavailable, match="were busy for"):
                await lane.run_program(Run(code="print('x')", language="python"))
        sleeping.cancel()
        assert await asyncio.gather(*waiting) == [[b"%d\n" % number] for number in range(30)]
        await asyncio.gather(sleeping, return_exceptions=True)
        await lane.close()
        await server.stop(0)


class NoLauncher:
    """One that can start nothing."""

    name = "none"

    async def problem(self, image: str) -> str | None:
        return "the engine is gone"

    async def image_id(self, image: str) -> str:
        return ""

    async def start(self, lease: Lease) -> Place:
        raise NoRoom("the engine is gone")

    def close(self) -> None:
        """Nothing is held."""


def pool_of(slots: int, folder: Path) -> Pool:
    """A pool of so many slots, of which none is held ready."""
    return Pool(
        NoLauncher(),
        HostSettings(slots=slots),
        "python",
        folder,
        memory_mb=64,
        processes=8,
        mounts={},
        most=slots,
        warm=0,
        spare=0,
        tiers=(),
        rooms=True,
        starts=asyncio.Semaphore(slots),
    )


async def test_who_waits_without_an_end_is_told_where_no_slot_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "_BACK_OFF_S", (0.0,))
    pool = pool_of(1, tmp_path)
    with pytest.raises(NoRoom, match="the engine is gone"):
        await asyncio.wait_for(pool.acquire(frozenset(), math.inf), 60)
    await pool.close()


class IdleSlot:
    """One that is there and does nothing."""

    tiers: frozenset[str] = frozenset()
    image = "an image"
    gone = lost = False
    runs = 0
    used = 0.0

    async def close(self) -> None:
        """Nothing is held."""


async def test_a_start_that_fails_after_another_succeeded_is_no_problem_once_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "_BACK_OFF_S", (0.0,))
    pool = pool_of(2, tmp_path)
    begun = iter(range(2))
    cut_off = asyncio.Event()

    async def start(*_: object, **__: object) -> IdleSlot:
        if next(begun) == 0:
            await cut_off.wait()
            raise NoRoom("the engine has crashed")
        return IdleSlot()

    monkeypatch.setattr(pools.Slot, "start", start)
    late = asyncio.create_task(pool.acquire(frozenset(), math.inf))
    slot = await pool.acquire(frozenset(), math.inf)
    pool.release(slot)
    await late
    cut_off.set()
    while pool.status()["starting"]:
        await asyncio.sleep(0)
    assert pool.status()["slots"] == 1
    assert pool.problem is None
    await pool.close()
