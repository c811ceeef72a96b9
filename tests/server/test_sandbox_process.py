"""The sandbox host of a server's own: it comes, it comes back, and it goes with the server, however that goes.

The hosts here are real processes that are told to use no launcher: what they would run is no matter of these tests.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden.errors import SandboxError
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.command import settings_of
from rewarden_sandboxes.errors import HostLost
from rewarden_sandboxes.job import Case, Job, Program
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.processes.host import HostProcess, host_settings
from rewarden_server.processes.settings import SandboxSettings
from tests.stopped import stop

pytestmark = pytest.mark.needs_server

OFF = SandboxSettings(launcher="none")
JOB = Job(program=Program(language="python", code=b""), cases=[Case()])


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields the folder in which hosts put what they need; pytest's own folders have names too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="rw-") as made:
        monkeypatch.setenv("TMPDIR", made)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(made)


@pytest_asyncio.fixture
async def host() -> AsyncIterator[HostProcess]:
    """A host that was not started."""
    made = HostProcess(OFF)
    yield made
    await made.close()


async def gone(*pids: int | None) -> None:
    """Wait until no such process is left."""
    async with asyncio.timeout(30):
        while any(pid is not None and Path(f"/proc/{pid}").exists() for pid in pids):
            await asyncio.sleep(0.01)


async def test_it_starts_when_it_is_needed_and_says_how_it_is(host: HostProcess) -> None:
    assert host.pid is None
    told = await (await host.client(30)).status()
    assert told["ready"] is False
    assert "switched off" in told["reason"]
    assert {"python", "cpp"} <= told["languages"].keys()


async def test_nobody_else_may_come_near_its_socket(host: HostProcess, folder: Path) -> None:
    client = await host.client(30)
    path = Path(client.address.removeprefix("unix:"))
    assert path.is_relative_to(folder)
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_a_path_too_long_for_a_socket_is_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", None)
    host = HostProcess(OFF)
    assert (await (await host.client(30)).status())["ready"] is False
    await host.close()


async def test_when_it_is_killed_another_comes(host: HostProcess) -> None:
    first = await host.client(30)
    pid = host.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await host.until_left(first)
    second = await host.client(30)
    assert second is not first
    assert host.pid != pid
    assert host.starts == 2
    assert (await second.status())["ready"] is False


async def test_when_it_ends_by_itself_another_comes(host: HostProcess) -> None:
    first = await host.client(30)
    assert host.pid is not None
    os.kill(host.pid, signal.SIGTERM)
    await host.until_left(first)
    assert (await (await host.client(30)).status())["ready"] is False


async def test_one_that_hangs_is_killed_and_another_comes(host: HostProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process lives and its connection stays whole: whatever it holds would wait forever."""
    monkeypatch.setattr(HostProcess, "look_s", 0.05)
    monkeypatch.setattr(HostProcess, "silent_s", 10.0)
    first = await host.client(30)
    pid = host.pid
    assert pid is not None
    await asyncio.to_thread(stop, pid)
    monkeypatch.setattr(HostProcess, "silent_s", 0.5)  # not before: a healthy one may be as silent on a busy machine
    async with asyncio.timeout(60):
        while host.current is first:
            await asyncio.sleep(0.01)
    monkeypatch.setattr(HostProcess, "silent_s", 60.0)  # so short a silence may be a busy machine's
    while host.starts == 1:
        await asyncio.sleep(0.01)
    await gone(pid)
    assert (await (await host.client(30)).status())["ready"] is False


@pytest.mark.parametrize("failures", [0, 5])
async def test_one_that_answers_at_last_is_left_alone(
    host: HostProcess, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    """A connection that breaks says nothing yet."""
    monkeypatch.setattr(HostProcess, "look_s", 0.0)
    monkeypatch.setattr(HostProcess, "again_s", 0.0)
    looks = 0
    enough = asyncio.Event()
    answer = HostClient.answer

    async def failing(client: HostClient) -> None:
        nonlocal looks
        looks += 1
        if looks > 20:
            enough.set()
        if looks % (failures + 1):
            raise HostLost("the connection broke")
        await answer(client)

    monkeypatch.setattr(HostClient, "answer", failing)
    client = await host.client(30)
    await asyncio.wait_for(enough.wait(), 30)
    assert host.current is client
    assert host.starts == 1


async def test_closing_it_leaves_nothing(host: HostProcess, folder: Path) -> None:
    await host.client(30)
    pid = host.pid
    await host.close()
    await gone(pid)
    assert list(folder.iterdir()) == []
    await host.close()  # twice is once


async def test_closing_it_while_it_starts_leaves_nothing(host: HostProcess, folder: Path) -> None:
    host.start()
    while host.pid is None:
        await asyncio.sleep(0)
    pid = host.pid
    await host.close()
    await gone(pid)
    assert list(folder.iterdir()) == []


async def test_one_that_cannot_start_says_why_at_once_and_is_tried_again(tmp_path: Path) -> None:
    wrong = tmp_path / "languages.yaml"
    wrong.write_text("x: {images: [python]}\n")
    host = HostProcess(SandboxSettings(launcher="none", languages=wrong))
    with pytest.raises(HostLost, match=r"x\.file: is missing|x\.run: is missing"):
        await host.client(30)
    wrong.write_text("x: {images: [python], file: main.x, run: [x]}\n")
    async with asyncio.timeout(30):
        while not host.answers:
            await asyncio.sleep(0.01)
    assert "x" in (await (await host.client(30)).status())["languages"]
    await host.close()


async def test_a_lane_says_in_words_how_its_host_is() -> None:
    # `auto` on a machine of whatever kind may well be ready; a launcher by name that is not there is not.
    lane = SandboxLane(SandboxSettings(launcher="docker", image_prefix="there-is-no-such-image-"), Observer())
    assert (await lane.status())["state"] == "idle"
    lane.start()
    assert (await lane.status())["state"] in ("starting", "missing")
    async with asyncio.timeout(60):
        while (await lane.status())["state"] != "missing":
            await asyncio.sleep(0.05)
    assert (await lane.status())["reason"]
    with pytest.raises(SandboxError, match=r"image|engine"):
        async for _ in lane.run(JOB):
            pass
    await lane.close()


async def test_after_the_servers_end_no_job_waits_for_a_host() -> None:
    lane = SandboxLane(SandboxSettings(launcher="docker"), Observer())
    await lane.close()
    with pytest.raises(SandboxError, match="the server is stopping"):
        async for _ in lane.run(JOB):
            pass


OWNER = """
import asyncio, sys
from rewarden_server.processes.settings import SandboxSettings
from rewarden_server.processes.host import HostProcess

async def main():
    host = HostProcess(SandboxSettings(launcher="none"))
    client = await host.client(30)
    print(host.pid, client.address, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_when_the_server_is_killed_the_host_ends_and_leaves_nothing(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, address = (await asyncio.to_thread(owner.stdout.readline)).split()
        client = HostClient(address)
        assert (await client.status())["ready"] is False
        owner.kill()
        await gone(int(pid))
        await client.close()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, {"launcher": "auto", "rooms": "auto"}),
        ({"slots": 3, "rootfs": "host"}, {"launcher": "auto", "rooms": "auto", "slots": 3, "rootfs": "host"}),
    ],
)
def test_the_host_is_told_what_was_set_and_chooses_the_rest(
    given: dict[str, Any], told: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELAN_HOME", str(tmp_path / "nowhere"))
    assert host_settings(SandboxSettings(**given), LeanSettings()) == told


def test_the_host_is_told_the_lean_projects_that_are_on_this_machine() -> None:
    lean = LeanSettings(projects={"far": "http://lean", "mathlib": "/srv/mathlib"}, memory_mb=6000, processes=40)
    told = host_settings(SandboxSettings(), lean)
    assert told["sessions"] > 40
    assert host_settings(SandboxSettings(sessions=3), lean)["sessions"] == 3
    assert (told["lean"], told["lean_memory_mb"]) == ({"mathlib": "/srv/mathlib"}, 6000)
    assert settings_of(told).lean == {"mathlib": "/srv/mathlib"}
