"""A host that ends leaves nothing on the machine; `clean` removes exactly what a killed one leaves.

The hosts here are processes, so that they can be stopped and killed. The tests of attacks cover what hostile programs
leave behind while their host is running.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest
import requests.exceptions
from docker.models.containers import ContainerCollection

from rewarden_sandboxes import cgroups, probing
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, Limits, Program
from rewarden_sandboxes.launchers.launcher import LABEL
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.socket_folder import OWNER, SocketFolder
from tests.programs import LAUNCHERS, problem_of

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.slow]

PATIENCE_S = 60.0
LONG = Limits(cpu_s=120.0, wall_s=120.0)

QUICK = b"import os\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '100'])\nprint('quick')\n"
ENDLESS = (
    b"import multiprocessing, os, tempfile\nopen('/tmp/kept', 'w').write('x' * 10**6)\nos.mkfifo('/tmp/fifo')\n"
    b"held = tempfile.TemporaryFile()\nos.fork()\nos.fork()\nwhile True:\n    pass\n"
)
COMPILED = b"#include <unistd.h>\nint main() { if (fork() == 0) { setsid(); } for (;;) pause(); }"


@dataclass(frozen=True)
class Alive:
    """A process, distinguished from a later one with the same pid."""

    pid: int
    started: int

    @property
    def there(self) -> bool:
        """Returns whether the process exists."""
        found = _alive(self.pid)
        return found is not None and found == self


def _alive(pid: int) -> Alive | None:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
        if fields[0] not in "ZX":
            return Alive(pid, int(fields[19]))
    return None


def descendants(pid: int) -> Iterator[int]:
    """Yields the pids of a process's children and their descendants."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split()):
                yield child
                yield from descendants(child)


class Hosted:
    """A host in a separate process, with one program that has ended and three that are running."""

    def __init__(self, launcher: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rwl-"))
        self.folder.chmod(0o711)  # the users of the slots pass through
        self.address = f"unix:{self.folder}/sock"
        settings = {"launcher": launcher, "slots": 3, "warm": 2, "folder": str(self.folder)}
        command = [sys.executable, "-m", "rewarden_sandboxes", "--address", self.address, "--tied"]
        command += ["--settings", json.dumps(settings)]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "TMPDIR": str(self.folder), "GRPC_VERBOSITY": "info"},
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "the host did not start"
        self.pid = self.process.pid

    async def busy(self) -> list[Alive]:
        """Starts programs, and returns all processes of the slots."""
        client = HostClient(self.address)
        self._client = client
        events = [event async for event in client.run(_job(QUICK))]
        assert isinstance(events[-1], CaseResult)
        assert events[-1].program.stdout == b"quick\n"
        self._running = [asyncio.create_task(_first(client, _job(code))) for code in (ENDLESS, ENDLESS)]
        compiled = asyncio.Event()
        self._running.append(asyncio.create_task(_first(client, _job(COMPILED, "c"), compiled)))
        running = 0
        try:
            async with asyncio.timeout(PATIENCE_S):
                # Four processes of each endless one, and two of the compiled.
                while not compiled.is_set() or running < 10:
                    assert not [task for task in self._running if task.done()]
                    await asyncio.sleep(0.02)
                    running = sum(_runs(pid) for pid in self.inside())
        except TimeoutError:
            pytest.fail(f"{running} processes run, compiled: {compiled.is_set()}; {await client.status()}")
        found = [alive for pid in self.inside() if (alive := _alive(pid)) is not None]
        assert len(found) > 15
        return found

    async def leave(self) -> list[object]:
        """Returns how the running programs ended for whoever asked."""
        ends: list[object] = list(await asyncio.gather(*self._running, return_exceptions=True))
        await self._client.close()
        return ends

    def errors(self) -> str:
        """Returns its stderr so far."""
        return os.pread(self._errors.fileno(), 1 << 20, 0).decode()

    def inside(self) -> list[int]:
        """Returns all processes of its slots, by their pids on the machine."""
        found = set(descendants(self.pid))
        for container in self.containers():
            with contextlib.suppress(docker.errors.APIError):
                first = int(container.attrs["State"]["Pid"])
                if first:
                    found |= {first, *descendants(first)}
        return sorted(found)

    def containers(self) -> list[Any]:
        """Returns its containers, in any state."""
        try:
            with contextlib.closing(docker.DockerClient.from_env(timeout=60)) as client:
                return list(
                    client.containers.list(all=True, filters={"label": f"{LABEL}={self.pid}"}, ignore_removed=True)
                )
        except (docker.errors.DockerException, requests.exceptions.RequestException):
            return []

    def groups(self) -> list[Path]:
        """Returns its control groups."""
        return [group for group in cgroups.leftovers() if group.name.startswith(f"rewarden-{self.pid}-")]

    def files(self) -> list[str]:
        """Returns the content of its folder."""
        return sorted(path.name for path in self.folder.iterdir())

    def mounts(self) -> list[str]:
        """Returns the mounts of the machine that belong to it."""
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return [line for line in lines if str(self.folder) in line or f"rewarden-{self.pid}-" in line]

    def left(self) -> dict[str, object]:
        """Returns all of these."""
        found = {
            "containers": self.containers(),
            "groups": self.groups(),
            "files": self.files(),
            "mounts": self.mounts(),
        }
        return {kind: things for kind, things in found.items() if things}

    def end(self) -> None:
        """Cleans up at the end of the test, in any case."""
        self.process.kill()
        self.process.wait()
        sys.stderr.write(self.errors())
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            if stream is not None:
                stream.close()
        probing.clean(self.folder)
        with contextlib.suppress(OSError):
            (self.folder / "sock").unlink()
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _job(code: bytes, language: str = "python") -> Job:
    return Job(program=Program(language=language, code=code, limits=LONG), cases=[Case()])


async def _first(client: HostClient, job: Job, compiled: asyncio.Event | None = None) -> CaseResult | None:
    async for event in client.run(job):
        if isinstance(event, CompileResult) and compiled is not None:
            compiled.set()
        if isinstance(event, CaseResult):
            return event
    return None


def _runs(pid: int) -> bool:
    """Returns whether it is one of the programs' processes: their working folder identifies them."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd") == "/tmp/box"
    return False


async def until(true: Callable[[], object], what: Callable[[], object]) -> None:
    """Waits for something that the kernel or the engine does a moment later."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, what()
        await asyncio.sleep(0.05)


@pytest.fixture(params=LAUNCHERS)
def hosted(request: pytest.FixtureRequest) -> Iterator[Hosted]:
    """A host process of each kind that this machine supports."""
    if problem := asyncio.run(problem_of(request.param)):
        pytest.skip(problem)
    made = Hosted(request.param)
    try:
        yield made
    finally:
        made.end()


async def test_starting_a_slot_runs_none_of_grpcs_handlers_in_the_forked_child(hosted: Hosted) -> None:
    """Flake: they crashed the child before the exec, so that a slot did not start, once in a few hundred runs."""
    await hosted.busy()
    assert "fork_posix" not in hosted.errors()
    hosted.process.terminate()
    await hosted.leave()


# --- a host that is told to stop -----------------------------------------------------------------------------------


def terminate(hosted: Hosted) -> None:
    hosted.process.terminate()


def interrupt(hosted: Hosted) -> None:
    hosted.process.send_signal(signal.SIGINT)


def hang_up(hosted: Hosted) -> None:
    assert hosted.process.stdin is not None
    hosted.process.stdin.close()


@pytest.mark.parametrize("stop", [terminate, interrupt, hang_up])
async def test_a_host_that_is_stopped_while_programs_run_leaves_nothing(
    hosted: Hosted, stop: Callable[[Hosted], None]
) -> None:
    processes = await hosted.busy()
    stop(hosted)
    ends = await hosted.leave()
    assert await asyncio.to_thread(hosted.process.wait, PATIENCE_S) == 0
    assert all(isinstance(end, HostError) for end in ends), ends
    assert [each for each in processes if each.there] == []
    assert not hosted.folder.exists() or hosted.left() == {}


async def test_a_host_that_is_stopped_before_it_is_ready_leaves_nothing(hosted: Hosted) -> None:
    hosted.process.terminate()
    assert await asyncio.to_thread(hosted.process.wait, PATIENCE_S) == 0
    await until(lambda: not hosted.containers(), hosted.containers)
    assert not hosted.folder.exists() or hosted.left() == {}


# --- a host that is killed -----------------------------------------------------------------------------------------


async def test_no_process_survives_a_killed_host_and_clean_removes_its_leftovers(hosted: Hosted) -> None:
    processes = await hosted.busy()
    hosted.process.kill()
    await hosted.leave()
    await until(lambda: not any(each.there for each in processes), lambda: [each for each in processes if each.there])
    await asyncio.to_thread(hosted.process.wait)
    said = probing.clean(hosted.folder)
    await until(lambda: not hosted.containers(), hosted.containers)
    (hosted.folder / "sock").unlink()  # whoever named the address removes it, or the next host there does
    assert hosted.left() == {}, said
    assert any("folder" in line for line in said)
    assert [
        line for line in probing.clean(hosted.folder) if str(hosted.folder) in line or f"-{hosted.pid}-" in line
    ] == []


async def test_clean_finds_all_leftovers_of_a_host_killed_while_its_slots_start(
    hosted: Hosted,
) -> None:
    # Slots are being made all the time: each run loses its own.
    client = HostClient(hosted.address)
    job = _job(b"import os\nos.kill(os.getppid(), 9)\nprint(1)\n")
    running = [asyncio.create_task(_first(client, job)) for _ in range(6)]
    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    hosted.process.kill()
    await asyncio.gather(*running, return_exceptions=True)
    await client.close()
    await asyncio.to_thread(hosted.process.wait)

    def cleaned() -> bool:
        probing.clean(hosted.folder)
        (hosted.folder / "sock").unlink(missing_ok=True)
        return hosted.left() == {}

    await until(cleaned, hosted.left)


# --- what clean leaves alone ---------------------------------------------------------------------------------------


async def test_clean_removes_nothing_of_a_running_host(hosted: Hosted) -> None:
    processes = [each for each in await hosted.busy() if _runs(each.pid)]
    before = (len(hosted.containers()), hosted.groups(), hosted.files())
    said = probing.clean(hosted.folder)
    assert [line for line in said if str(hosted.folder) in line or f"-{hosted.pid}-" in line] == []
    assert (len(hosted.containers()), hosted.groups(), hosted.files()) == before
    assert [each for each in processes if not each.there] == []
    client = HostClient(hosted.address)
    assert (await client.status())["ready"]
    await client.close()
    hosted.process.terminate()
    await hosted.leave()


def test_clean_removes_only_folders_of_dead_hosts_of_this_user(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / OWNER).write_text(str(dead.pid))
    strange = {
        "rewarden-slots-none": None,
        "rewarden-slots-words": "who knows",
        "somebody-elses": str(dead.pid),
    }
    for name, owner in strange.items():
        (tmp_path / name).mkdir()
        if owner is not None:
            (tmp_path / name / OWNER).write_text(owner)
    (tmp_path / "rewarden-slots-link").symlink_to(kept)
    (tmp_path / "rewarden-slots-file").write_text(str(dead.pid))
    if os.geteuid() == 0:
        (tmp_path / "rewarden-slots-theirs").mkdir()
        (tmp_path / "rewarden-slots-theirs" / OWNER).write_text(str(dead.pid))
        os.chown(tmp_path / "rewarden-slots-theirs", 12345, 12345)
    ours = SocketFolder(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    (tmp_path / "rewarden-slots-dead").mkdir()
    (tmp_path / "rewarden-slots-dead" / OWNER).write_text(str(dead.pid))
    said = [line for line in probing.clean(tmp_path) if str(tmp_path) in line]
    assert said == [f"removed the folder {tmp_path / 'rewarden-slots-dead'}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (kept / OWNER).exists()
    ours.remove()
    assert not ours.path.exists()


async def test_a_host_removes_leftovers_of_a_killed_one_whose_pid_is_reused(tmp_path: Path) -> None:
    # In a container each host is process 1, or nearly so: numbers say nothing.
    (tmp_path / "rewarden-slots-dead").mkdir()
    (tmp_path / "rewarden-slots-dead" / OWNER).write_text(str(os.getpid()))
    host = Host(HostSettings(launcher="none", folder=str(tmp_path)))
    await host.start()
    await host.status(probe=True)
    await host.close()
    assert list(tmp_path.iterdir()) == []


async def test_clean_removes_a_container_that_never_started() -> None:
    if problem := await problem_of("docker"):
        pytest.skip(problem)
    dead = subprocess.Popen(["true"])
    dead.wait()
    with contextlib.closing(docker.DockerClient.from_env(timeout=60)) as client:
        made = client.containers.create(
            "rewarden-sandbox-python:latest",
            ["true"],
            name=f"rewarden-{dead.pid}-test-1",
            labels={LABEL: str(dead.pid)},
        )
        ours = client.containers.create(
            "rewarden-sandbox-python:latest",
            ["true"],
            name=f"rewarden-{os.getpid()}-test-1",
            labels={LABEL: str(os.getpid())},
        )
        try:
            said = probing.clean(Path(tempfile.gettempdir()) / "nowhere")
            assert f"removed the container {made.name}" in said
            with pytest.raises(docker.errors.NotFound):
                made.reload()
            ours.reload()
        finally:
            for container in (made, ours):
                with contextlib.suppress(docker.errors.NotFound):
                    container.remove(force=True)


async def test_clean_continues_if_a_container_disappears(monkeypatch: pytest.MonkeyPatch) -> None:
    if problem := await problem_of("docker"):
        pytest.skip(problem)
    dead = subprocess.Popen(["true"])
    dead.wait()
    with contextlib.closing(docker.DockerClient.from_env(timeout=60)) as client:
        made = [
            client.containers.create(
                "rewarden-sandbox-python:latest",
                ["true"],
                name=f"rewarden-{dead.pid}-test-{number}",
                labels={LABEL: str(dead.pid)},
            )
            for number in (1, 2, 3)
        ]
        get = ContainerCollection.get

        def gone(self: Any, name: str) -> Any:
            """The first is gone before it is looked at, the second before it is removed."""
            if name == made[0].id:
                made[0].remove(force=True)
            found = get(self, name)
            if name == made[1].id:
                made[1].remove(force=True)
            return found

        monkeypatch.setattr(ContainerCollection, "get", gone)
        try:
            said = probing.clean(Path(tempfile.gettempdir()) / "nowhere")
        finally:
            monkeypatch.undo()
            for container in made:
                with contextlib.suppress(docker.errors.NotFound):
                    container.remove(force=True)
    assert [line for line in said if "test-" in line or "refuses" in line] == [f"removed the container {made[2].name}"]


# --- descriptors ---------------------------------------------------------------------------------------------------


def descriptors() -> list[str]:
    """Returns the open descriptors of this process."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}").partition(":[")[0])
    return sorted(found)


async def _life(launcher: str, folder: Path) -> None:
    """Runs that end, runs that are left, slots that are lost, starts that fail, and the end."""
    host = Host(HostSettings(launcher=launcher, slots=2, warm=1, folder=str(folder)))  # type: ignore[arg-type]
    await host.start()
    try:
        await host.status(probe=True)
        client_left = asyncio.create_task(_all(host, _job(ENDLESS)))
        assert await _all(host, _job(QUICK))
        await asyncio.wait([client_left], timeout=0.5)
        client_left.cancel()
        await asyncio.gather(client_left, return_exceptions=True)
        assert await _all(host, _job(b"print(1)"))
    finally:
        await host.close()
    missing = Host(HostSettings(launcher=launcher, image_prefix="no-such-", rootfs=str(folder), folder=str(folder)))  # type: ignore[arg-type]
    await missing.start()
    assert (await missing.status())["ready"] is False
    await missing.close()


async def _all(host: Host, job: Job) -> list[CompileResult | CaseResult]:
    async with contextlib.aclosing(host.run(job)) as events:
        return [event async for event in events]


@pytest.mark.parametrize("launcher", LAUNCHERS)
async def test_a_host_leaks_no_descriptor_and_no_file(launcher: str, tmp_path: Path) -> None:
    if problem := await problem_of(launcher):
        pytest.skip(problem)
    with tempfile.TemporaryDirectory(prefix="rwl-") as folder:
        Path(folder).chmod(0o711)
        await _life(launcher, Path(folder))  # whatever is opened once for all is open now
        before = descriptors()
        for _ in range(2):
            await _life(launcher, Path(folder))
        assert descriptors() == before
        assert list(Path(folder).iterdir()) == []
