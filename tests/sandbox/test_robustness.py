"""Breakages around the sandbox: runs get what they ask for or an error of ours, never a false verdict; the words say
what mends it; and when it is mended the host serves again, without a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden_sandboxes.command import settings_of
from rewarden_sandboxes.errors import HostError, NoRoom
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program, Report
from rewarden_sandboxes.settings import HostSettings
from tests.programs import LAUNCHERS, problem_of
from tests.sandbox.conftest import events_of, run, started
from tests.sandbox.private_engine import PrivateEngine, private_engine

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.alone,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
]

PATIENCE_S = 90.0
"""Of tests that wait for something that must come; what never comes fails the test."""

LONG = Limits(cpu_s=120.0, wall_s=120.0)
_names = itertools.count()


async def until(true: Callable[[], object]) -> None:
    """Wait for something that nobody tells us of."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await asyncio.sleep(0.01)


async def until_status(host: Host, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Wait until the host says so."""
    told: dict[str, Any] = {}
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not true(told := await host.status()):
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"the host goes on saying ready={told['ready']}, reason={told['reason']}: {told['slots']}")
    return told


async def until_ready(host: Host) -> None:
    """Wait until the host says that it serves, and see that it does."""
    await until_status(host, lambda told: told["ready"] and told["problem"] is None)
    assert (await run(host, "print('back')")).stdout == b"back\n"


class Waiter:
    """A program that can be found from outside, and waits there until it is let go."""

    def __init__(self) -> None:
        self.name = f"rw-{os.getpid() % 10000}-{next(_names)}"
        self.code = (
            "import ctypes, signal\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n"
            # By the system call: without rooms /proc is not the program's to write to.
            f"ctypes.CDLL(None).prctl(15, b'{self.name}', 0, 0, 0)\n"
            "signal.sigwait({signal.SIGUSR1})\n"
            "print('let go')\n"
        )

    def pids(self) -> list[int]:
        """Returns where it runs."""
        found = []
        for path in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if path.name.isdigit() and (path / "comm").read_text().strip() == self.name:
                    found.append(int(path.name))
        return found

    async def running(self, beside: int = 0) -> int:
        """Wait until it runs; not as that process."""
        await until(lambda: [pid for pid in self.pids() if pid != beside])
        return next(pid for pid in self.pids() if pid != beside)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def supervisor_of(pid: int) -> int:
    """The first process above a run's that is a supervisor: the one that has read the boot text."""
    while pid > 1:
        pid = parent(pid)
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        # A room's init and the zygotes are forks of it, with the same words; above it stands something else.
        above = Path(f"/proc/{parent(pid)}/cmdline").read_bytes().split(b"\0")
        if command[:2] == [b"python3", b"-c"] and above[:2] != [b"python3", b"-c"]:
            return pid
    raise AssertionError("no supervisor above it")


def kill_supervisor(pid: int) -> None:
    """As the kernel does when it has no memory left."""
    os.kill(supervisor_of(pid), signal.SIGKILL)


def kill_slot(pid: int) -> None:
    """As `docker kill` does: the first process of the slot's namespace dies, and all in it."""
    inside = os.readlink(f"/proc/{pid}/ns/pid")
    supervisor = supervisor_of(pid)
    namespace = os.readlink(f"/proc/{supervisor}/ns/pid")
    assert inside != namespace
    first = supervisor
    while os.readlink(f"/proc/{parent(first)}/ns/pid") == namespace:
        first = parent(first)
    os.kill(first, signal.SIGKILL)


def init_of(pid: int) -> int:
    """The first process of the room in which this one runs."""
    room = os.readlink(f"/proc/{pid}/ns/pid")
    for path in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if path.name.isdigit() and os.readlink(path / "ns/pid") == room:
                numbers = (path / "status").read_text().partition("NSpid:")[2].partition("\n")[0].split()
                if numbers[-1] == "1":
                    return int(path.name)
    raise AssertionError("the room has no init")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    async for each in started(request.param, slots=3, warm=2):
        await each.status(probe=True)
        yield each


# --- a slot is lost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kill", [kill_supervisor, kill_slot])
async def test_a_run_whose_slot_dies_is_run_again_in_another(host: Host, kill: Callable[[int], None]) -> None:
    waiter = Waiter()
    running = asyncio.create_task(run(host, waiter.code, limits=LONG))
    first = await waiter.running()
    kill(first)
    second = await waiter.running(first)
    os.kill(second, signal.SIGUSR1)
    report = await running
    assert (report.status, report.stdout) == ("ok", b"let go\n")
    await until(lambda: not waiter.pids())
    await until_ready(host)


async def test_a_room_whose_init_is_killed_from_outside_is_our_failure(host: Host) -> None:
    waiter = Waiter()
    running = asyncio.create_task(run(host, waiter.code, limits=LONG))
    os.kill(init_of(await waiter.running()), signal.SIGKILL)
    report = await running
    assert (report.status, report.message) == (
        "internal_error",
        "the room's init was killed, and the program with it",
    )
    await until_ready(host)


async def test_of_many_cases_those_that_are_done_are_not_done_again(host: Host) -> None:
    waiter = Waiter()
    code = "import sys\nif sys.stdin.read() == 'wait':\n    " + waiter.code.replace("\n", "\n    ")
    cases = [Case(stdin=stdin) for stdin in (b"go", b"go", b"wait", b"go", b"go")]
    job = Job(program=Program(language="python", code=code.encode(), limits=LONG), cases=cases)
    running = asyncio.create_task(events_of(host, job))
    first = await waiter.running()
    kill_slot(first)
    os.kill(await waiter.running(first), signal.SIGUSR1)
    events = await running
    told = [(event.index, event.program.status) for event in events if isinstance(event, CaseResult)]
    assert told == [(n, "ok") for n in range(5)]


async def test_a_run_that_loses_two_slots_alone_has_done_it_itself(host: Host) -> None:
    # Killing what one runs in must not pay: an error of ours would go unscored.
    waiter = Waiter()
    running = asyncio.create_task(run(host, waiter.code, limits=LONG))
    first = await waiter.running()
    kill_slot(first)
    kill_slot(await waiter.running(first))
    report = await running
    assert (report.status, tuple(report.flags)) == ("runtime_error", ("killed_sandbox",))
    await until_ready(host)


async def test_runs_that_lose_two_slots_together_with_others_are_our_failure(host: Host) -> None:
    waiters = [Waiter(), Waiter()]
    running = [asyncio.create_task(run(host, waiter.code, limits=LONG)) for waiter in waiters]
    first = [await waiter.running() for waiter in waiters]
    for pid in first:
        kill_slot(pid)
    second = [await waiter.running(pid) for waiter, pid in zip(waiters, first, strict=True)]
    for pid in second:
        kill_slot(pid)
    ends = await asyncio.gather(*running, return_exceptions=True)
    assert [type(end) for end in ends] == [NoRoom, NoRoom], ends
    await until_ready(host)


@pytest.mark.parametrize("name", LAUNCHERS)
async def test_without_rooms_a_run_that_loses_two_slots_has_done_it_unless_idle_ones_die_too(name: str) -> None:
    async for host in started(name, slots=6, rooms="no"):
        waiters = [Waiter(), Waiter()]
        running = [asyncio.create_task(run(host, waiter.code, limits=LONG)) for waiter in waiters]
        first = [await waiter.running() for waiter in waiters]
        for pid in first:
            kill_supervisor(pid)
        for waiter, pid in zip(waiters, first, strict=True):
            kill_supervisor(await waiter.running(pid))
        reports = await asyncio.gather(*running)
        assert [(report.status, tuple(report.flags)) for report in reports] == 2 * [
            ("runtime_error", ("killed_sandbox",))
        ]
        waiter = Waiter()
        alone = asyncio.create_task(run(host, waiter.code, limits=LONG))
        pid = await waiter.running()
        kill_supervisor(pid)
        second = await waiter.running(pid)
        idle = next(iter(host._pools.values()))._idle
        while not idle:
            await asyncio.sleep(0.01)
        await asyncio.gather(*(slot.place.end() for slot in list(idle)))
        kill_supervisor(second)
        with pytest.raises(NoRoom, match="two slots were lost"):
            await alone


async def test_a_slot_that_dies_while_idle_costs_no_run(host: Host) -> None:
    for _ in range(3):
        waiter = Waiter()
        running = asyncio.create_task(run(host, waiter.code, limits=LONG))
        pid = await waiter.running()
        supervisor = supervisor_of(pid)
        os.kill(pid, signal.SIGUSR1)
        assert (await running).status == "ok"
        os.kill(supervisor, signal.SIGKILL)
        report = await run(host, "print('next')")
        assert (report.status, report.stdout) == ("ok", b"next\n")


async def test_when_a_zygote_dies_the_next_runs_are_served(host: Host) -> None:
    waiter = Waiter()
    running = asyncio.create_task(run(host, waiter.code, limits=LONG))
    pid = await waiter.running()
    supervisor = supervisor_of(pid)
    os.kill(pid, signal.SIGUSR1)
    assert (await running).status == "ok"
    for child in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)
    reports = [await run(host, f"print({n})") for n in range(4)]
    assert [(report.status, report.stdout) for report in reports] == [("ok", b"%d\n" % n) for n in range(4)]


# --- something is missing ------------------------------------------------------------------------------------------


async def refused(host: Host, *words: str) -> None:
    """The host says why it cannot serve: in its status, when it is probed, and to whoever asks."""
    # A start that was under way may have failed for another reason before.
    told = await until_status(host, lambda told: all(word in (told["reason"] or "") for word in words))
    assert told["ready"] is False
    told = await host.status(probe=True)
    assert told["probe"]["ok"] is False
    with pytest.raises(HostError) as caught:
        await run(host, "print(1)")
    for word in words:
        assert word in told["probe"]["reason"], told["probe"]
        assert word in caught.value.message, caught.value.message


@contextlib.asynccontextmanager
async def hosting(**settings: Any) -> AsyncIterator[Host]:
    """A started host, whatever the machine has."""
    made = Host(HostSettings(**({"slots": 2, "warm": 1, "queue_timeout_s": 20.0} | settings)))
    await made.start()
    try:
        yield made
    finally:
        await made.close()


async def test_without_its_images_it_says_which_and_how_to_make_them() -> None:
    if problem := await problem_of("docker"):
        pytest.skip(problem)
    async with hosting(launcher="docker", image_prefix="there-is-no-such-image-") as host:
        await refused(host, "there-is-no-such-image-python:latest", "sandbox-host build")


async def test_without_bubblewrap_it_says_how_to_install_it_and_serves_when_it_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if problem := await problem_of("bwrap"):
        pytest.skip(problem)
    found = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tmp_path))
    async with hosting(launcher="bwrap") as host:
        await refused(host, "bubblewrap is not installed", "apt-get install bubblewrap")
        monkeypatch.setenv("PATH", found)
        await until_ready(host)


async def test_without_a_root_file_system_it_says_how_to_make_one(tmp_path: Path) -> None:
    if problem := await problem_of("bwrap"):
        pytest.skip(problem)
    async with hosting(launcher="bwrap", rootfs=str(tmp_path)) as host:
        await refused(host, str(tmp_path), "sandbox-host build --rootfs")


async def test_where_nothing_works_it_says_so_of_each_and_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    async with hosting(launcher="auto") as host:
        await refused(host, "docker: no Docker engine answers", "bwrap: bubblewrap is not installed")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"launcher": "podman"}, ["launcher", "podman", "docker", "bwrap"]),
        ({"rooms": "perhaps"}, ["rooms", "perhaps"]),
        ({"slotz": 3}, ["slotz", "slots"]),
        ({"slots": 0}, ["slots"]),
        ({"lean": "/opt/lean"}, ["lean"]),
        ({"lean": {"main": 4}}, ["lean"]),
        ({"slots": "many"}, ["slots"]),
        ({"limits": {"cpu": 1}}, ["cpu"]),
    ],
)
async def test_a_setting_that_cannot_be_is_refused_by_name(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        settings_of(settings)
    for word in words:
        assert word in str(caught.value)


# --- the machine is full -------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A folder on a file system of its own, with room for a hundred files."""
    if os.geteuid() != 0:
        pytest.skip("a file system of the test's own needs root")
    with tempfile.TemporaryDirectory(prefix="rwd-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=100", "rewarden-test", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> list[Path]:
    """Take every inode; the files that hold them."""
    taken: list[Path] = []
    with contextlib.suppress(OSError):
        while True:
            path = folder / f"full-{len(taken)}"
            path.touch()
            taken.append(path)
    return taken


@pytest.mark.parametrize("name", LAUNCHERS)
async def test_when_the_slots_folder_is_full_it_says_so_and_serves_when_it_is_not(name: str, small_disk: Path) -> None:
    if problem := await problem_of(name):
        pytest.skip(problem)
    async with hosting(launcher=name, folder=str(small_disk), slots=1) as host:
        await until_ready(host)
        waiter = Waiter()
        running = asyncio.create_task(run(host, waiter.code, limits=LONG))
        pid = await waiter.running()
        taken = fill(small_disk)
        # What the dead slot gives back must not be enough for the next one.
        held = [os.open(path, os.O_RDONLY) for path in small_disk.rglob("*/") if path.is_dir()]
        kill_slot(pid)
        with pytest.raises(NoRoom, match=r"No space left on device"):
            await asyncio.wait_for(running, PATIENCE_S)
        await refused(host, "No space left on device")
        for number in held:
            os.close(number)
        for path in taken:
            path.unlink()
        await until_ready(host)


async def test_a_host_that_starts_on_a_full_disk_serves_when_there_is_room(small_disk: Path) -> None:
    taken = fill(small_disk)
    async with hosting(launcher="docker", folder=str(small_disk)) as host:
        await refused(host, "No space left on device")
        for path in taken:
            path.unlink()
        await until_ready(host)


@pytest.fixture
def pids_group() -> Iterator[Path]:
    """A control group that counts processes."""
    base = Path("/sys/fs/cgroup")
    group = (base / "pids" if (base / "pids").is_dir() else base) / f"rewarden-test-{os.getpid()}-pids"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if not (group / "pids.max").exists():
            pytest.skip("no control group counts processes here")
        yield group
    finally:
        for path in [*group.glob("*/"), group]:
            with contextlib.suppress(OSError):
                path.rmdir()


STARVED = """
import asyncio, json, sys
from pathlib import Path
from tests.sandbox.conftest import run
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.settings import HostSettings

async def until(host, ready):
    while (told := await host.status())["ready"] != ready or (not ready and not told["problem"]):
        await asyncio.sleep(0.05)
    return told

async def main():
    limit = Path(sys.argv[1])
    host = Host(HostSettings(launcher="bwrap", slots=2, warm=1, queue_timeout_s=20.0))
    await host.start()
    await host.status(probe=True)
    print(json.dumps((await run(host, "print('before')")).stdout.decode()), flush=True)
    limit.write_text("1")
    running = asyncio.ensure_future(run(host, sys.argv[2]))  # it is killed with its slot
    try:
        await running
    except HostError as error:
        print(json.dumps(error.message), flush=True)
    print(json.dumps((await until(host, False))["reason"]), flush=True)
    limit.write_text("max")
    await until(host, True)
    print(json.dumps((await run(host, "print('after')")).stdout.decode()), flush=True)
    await host.close()

asyncio.run(main())
"""
"""A host without any server about it: what else needs threads would fail first."""


async def test_when_the_host_may_start_no_process_it_says_so_and_serves_when_it_may(pids_group: Path) -> None:
    if problem := await problem_of("bwrap"):
        pytest.skip(problem)
    waiter = Waiter()
    shell = ["sh", "-c", f'echo $$ > {pids_group}/cgroup.procs; exec "$@"', "sh"]
    command = [*shell, sys.executable, "-c", STARVED, str(pids_group / "pids.max"), waiter.code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        stdout = process.stdout
        assert stdout is not None

        async def said() -> str:
            line = await asyncio.wait_for(asyncio.to_thread(stdout.readline), PATIENCE_S)
            return str(json.loads(line))

        try:
            assert await said() == "before\n"
            kill_slot(await waiter.running())
            assert "Resource temporarily unavailable" in await said()
            assert "Resource temporarily unavailable" in await said()
            assert await said() == "after\n"
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
        finally:
            process.kill()


# --- the engine is lost --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Iterator[PrivateEngine]:
    """An engine that these tests may break."""
    with private_engine() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def engine_host(engine: PrivateEngine, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Host]:
    """A host on that engine, with two warm slots."""
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    async with hosting(launcher="docker", slots=4, warm=2) as host:
        await until_ready(host)
        yield host


class Traffic:
    """Clients that go on asking, and what they were told."""

    def __init__(self, host: Host, clients: int = 8) -> None:
        self._host = host
        self._clients = clients
        self._numbers = itertools.count()
        self._tasks: list[asyncio.Task[None]] = []
        self.ends: Counter[str] = Counter()
        self.false: list[object] = []

    async def __aenter__(self) -> Traffic:
        self._tasks = [asyncio.create_task(self._client()) for _ in range(self._clients)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _client(self) -> None:
        while True:
            number = next(self._numbers)
            try:
                report = await run(self._host, f"print({number})")
            except HostError:
                self.ends["ours"] += 1
                await asyncio.sleep(0.05)
            else:
                self._told(number, report)

    def _told(self, number: int, report: Report) -> None:
        self.ends[report.status] += 1
        if report.status != "internal_error" and (report.status, report.stdout) != ("ok", b"%d\n" % number):
            self.false.append(report)

    async def more(self, end: str, count: int) -> None:
        """Wait for so many more of that end."""
        wanted = self.ends[end] + count
        try:
            await until(lambda: self.ends[end] >= wanted)
        except TimeoutError:
            pytest.fail(f"no {count} more {end!r} came: {self.ends}, {await self._host.status()}")


async def test_an_engine_of_the_tests_own_leaves_the_machines_networks_as_they_are() -> None:
    # An engine without a bridge removes the one that it finds, and containers of the machine's own had none any more.
    before = sorted(os.listdir("/sys/class/net"))
    with private_engine():
        assert sorted(os.listdir("/sys/class/net")) == before


async def test_an_engine_that_crashes_under_load_gives_errors_and_then_service(
    engine: PrivateEngine, engine_host: Host
) -> None:
    async with Traffic(engine_host) as traffic:
        await traffic.more("ok", 20)
        engine.crash()
        await traffic.more("ours", 8)
        told = await until_status(engine_host, lambda told: "no Docker engine answers" in (told["reason"] or ""))
        assert told["ready"] is False
        engine.start()
        await traffic.more("ok", 40)
    assert traffic.false == []
    await until_ready(engine_host)


async def test_slots_that_outlive_their_engine_serve_on(engine: PrivateEngine, engine_host: Host) -> None:
    async with Traffic(engine_host) as traffic:
        await traffic.more("ok", 20)
        engine.leave()
        await traffic.more("ok", 40)
        engine.crash()
        engine.start()
        await traffic.more("ok", 40)
    assert traffic.false == []


async def test_a_host_that_starts_before_its_engine_serves_when_that_is_there(
    engine: PrivateEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    engine.crash()
    async with hosting(launcher="docker") as host:
        await refused(host, "no Docker engine answers")
        engine.start()
        await until_ready(host)


async def test_when_its_image_is_removed_it_says_which_and_serves_when_it_is_back(
    engine: PrivateEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    with contextlib.closing(engine.client()) as client:
        image = client.images.get("rewarden-sandbox-python:latest")
        image.tag("rewarden-copy-python", "latest")
        async with hosting(launcher="docker", image_prefix="rewarden-copy-", slots=1) as host:
            await until_ready(host)
            waiter = Waiter()
            running = asyncio.create_task(run(host, waiter.code, limits=LONG))
            pid = await waiter.running()
            client.images.remove("rewarden-copy-python:latest", force=True)
            kill_slot(pid)
            with pytest.raises(NoRoom, match="rewarden-copy-python:latest is not there"):
                await asyncio.wait_for(running, PATIENCE_S)
            await refused(host, "rewarden-copy-python:latest", "sandbox-host build")
            image.tag("rewarden-copy-python", "latest")
            await until_ready(host)
        client.images.remove("rewarden-copy-python:latest", force=True)


async def test_when_the_engines_disk_is_full_it_says_so_and_serves_when_it_is_not(
    engine: PrivateEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    full = engine.folder / "full"
    with contextlib.suppress(OSError), full.open("wb") as file:
        while True:
            os.write(file.fileno(), bytes(4096))
    async with hosting(launcher="docker") as host:
        await refused(host, "the disk of the Docker engine is full")
        full.unlink()
        await until_ready(host)


async def test_when_containers_may_start_no_process_it_says_so_and_serves_when_they_may(
    engine: PrivateEngine, engine_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.limit_processes("1")
    try:
        async with hosting(launcher="docker") as host:
            await refused(host, "out of processes")
            engine.limit_processes("max")
            await until_ready(host)
    finally:
        engine.limit_processes("max")
