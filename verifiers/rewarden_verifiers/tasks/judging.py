"""One run of a task's tests, in a box of their own."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import posixpath
import tarfile
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files as resource
from typing import BinaryIO, Literal

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Limits, Report
from rewarden_verifiers.boxes import BoxEntry, Boxes, BoxFault, FreshBox
from rewarden_verifiers.tasks import reward
from rewarden_verifiers.tasks.carried import Carried, merge
from rewarden_verifiers.tasks.reward import Reward, Unreadable
from rewarden_verifiers.tasks.task import Copy, Environment, File, Files, Step, Task, TaskFault, absolute

TESTS, SOLUTION, PYTHON = "/tests", "/solution", "/rewarden/python"

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_CLEAN: Mapping[str, str] = {
    "PATH": PATH,
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "PYTHONPATH": PYTHON,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": "/dev/null",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
    "GIT_CONFIG_KEY_2": "safe.directory",
    "GIT_CONFIG_VALUE_2": "*",
}
"""The verifier's environment. Attack: hooks and monitors of a repository run when a test asks git anything."""

_PYTEST = {
    "pytest.ini": b"",
    ".pytest.ini": b"",
    "pyproject.toml": b"[tool.pytest",
    "tox.ini": b"[pytest]",
    "setup.cfg": b"[tool:pytest]",
}
"""Files that can hold pytest's configuration, and the text by which they do."""

_OUTPUT_BYTES = 4 * 1024**2
_PART = 1 << 20
_ROOM = Limits(cpu_s=60.0, wall_s=60.0, output_bytes=1 << 16)

End = Literal["ended", "time_limit", "memory_limit", "output_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The most that a task's box gets, MiB, and how much one gets that asks for nothing."""

    memory_mb: int = 2048
    disk_mb: int = 1024
    default_memory_mb: int = 512
    default_disk_mb: int = 512

    def limits(self, environment: Environment) -> Limits:
        """Returns the limits of a task's boxes: as much as it asks for, within bounds."""
        return Limits(
            memory_mb=min(environment.memory_mb or self.default_memory_mb, self.memory_mb),
            disk_mb=min(environment.disk_mb or self.default_disk_mb, self.disk_mb),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of a run of tests. reward: None where none was written that can be read; why: the reason then.
    output: the end of what the tests printed. rewritten: test files that were changed while they ran. dropped: changes
    of the policy's to system folders, which the tests did not see.
    """

    end: End
    reward: Reward | None
    why: str = ""
    exit_code: int | None = None
    output: str = ""
    rewritten: frozenset[str] = frozenset()
    dropped: Sequence[str] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """A kept copy of a box's changes. file: unlinked, so that it ends with this."""

    file: BinaryIO

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yields the stream from its beginning."""
        place = 0
        while data := await asyncio.to_thread(os.pread, self.file.fileno(), _PART, place):
            place += len(data)
            yield data


@asynccontextmanager
async def kept(changes: AsyncGenerator[bytes, None]) -> AsyncIterator[State]:
    """Yields a copy of a stream of changes, on the server's disk for as long as the block lasts."""
    with tempfile.TemporaryFile(prefix="rewarden-task-") as file:
        async with contextlib.aclosing(changes):
            async for piece in changes:
                await asyncio.to_thread(file.write, piece)
        file.flush()
        yield State(file)


# --- boxes -----------------------------------------------------------------------------------------------------------


class TaskBoxes:
    """Opens the boxes of a task. image_id: the image on which all of them stand. state: the changes with which its
    environment begins; None: none."""

    def __init__(self, boxes: Boxes, task: Task, size: Size, image_id: str, state: State | None) -> None:
        self._boxes = boxes
        self.task = task
        self._size = size
        self.image_id = image_id
        self._state = state

    @property
    def limits(self) -> Limits:
        """Returns the limits of each box."""
        return self._size.limits(self.task.environment)

    @asynccontextmanager
    async def box(self, before: State | None = None) -> AsyncIterator[FreshBox]:
        """Yields a box in which a policy begins. before: the changes with which an earlier step ended."""
        async with self._open() as box:
            await self.begin(box, before)
            yield box

    async def begin(self, box: FreshBox, before: State | None = None) -> None:
        """Makes of a fresh box one in which a policy begins. Raises BoxFault, SandboxError."""
        check_image(box, self.image_id)
        state = before or self._state
        if state is not None:
            await box.restore(state.pieces())
        await _made(box, ("mkdir", "-p", self.task.environment.workdir))

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[FreshBox]:
        environment = self.task.environment
        async with self._boxes.open(environment.image, limits=self.limits, env=environment.env) as box:
            check_image(box, self.image_id)
            yield box

    async def verify(self, step: Step, state: State) -> Ran:
        """Runs the tests of a step on a copy of a box. Raises SandboxError."""
        task = self.task
        carried = Carried(task.keep, shared=step.mode == "shared")
        with tempfile.TemporaryFile(prefix="rewarden-task-") as file:
            await asyncio.to_thread(self._merge, state, carried, file)
            async with self._open() as box:
                try:
                    await box.restore(State(file).pieces())
                    placed = tests_of(step)
                    await box.extract("/", _once(archive({**_under(placed, TESTS), **_python()})))
                    await _made(box, ("mkdir", "-p", reward.FOLDER, "/logs/agent", "/logs/artifacts"))
                    for command in task.services:
                        shell = f"exec >/dev/null 2>&1; {command}"
                        await box.start(("/bin/sh", "-c", shell), cwd=task.environment.workdir, env=self._clean({}))
                    report = await box.run(
                        ("/bin/bash", "--noprofile", "--norc", posixpath.join(TESTS, step.script)),
                        cwd=task.environment.workdir,
                        env=self._clean(step.env),
                        limits=Limits(cpu_s=step.verifier_s, wall_s=step.verifier_s, output_bytes=_OUTPUT_BYTES),
                    )
                    _check(report)
                    # Attack: whatever the tests have started could write the reward after them.
                    await box.stop()
                    ran = await _result(box, report, placed)
                except BoxFault as fault:
                    # Whatever does not fit into the box, or stands where the tests must, is in the policy's files: the
                    # remembered run of the solution went through.
                    ran = Ran(end="ended", reward=None, why=str(fault))
        return replace(ran, dropped=tuple(carried.dropped))

    def _clean(self, env: Mapping[str, str]) -> dict[str, str]:
        own = self.task.environment.env
        path = {"PATH": own["PATH"]} if "PATH" in own else {}
        return {**_CLEAN, **path, **env}

    def _merge(self, state: State, carried: Carried, out: BinaryIO) -> None:
        streams = [(state.file, carried.of_policy)]
        if self._state is not None:
            streams.insert(0, (self._state.file, carried.of_environment))
        opened = [(os.fdopen(os.dup(file.fileno()), "rb"), chosen) for file, chosen in streams]
        try:
            for file, _ in opened:
                file.seek(0)
            merge(opened, out)
        except tarfile.TarError as error:
            raise SandboxError(f"the changes of a box cannot be read: {error}") from None
        finally:
            for file, _ in opened:
                file.close()
        out.flush()


def check_image(box: FreshBox, image_id: str) -> None:
    """Raises SandboxError for a box on another image: what was found out, and kept, is about the one before."""
    if box.image_id != image_id:
        raise SandboxError("the image of the task was replaced meanwhile")


async def solve(box: FreshBox, task: Task, step: Step, files: Files, env: Mapping[str, str]) -> Report:
    """Runs a solution: the script `step.solve` among files that lie in /solution. Raises SandboxError."""
    await box.extract("/", _once(archive(_under(files, SOLUTION))))
    report = await box.run(
        ("/bin/bash", posixpath.join(SOLUTION, step.solve)),
        cwd=task.environment.workdir,
        env={"PATH": PATH, **env},
        limits=Limits(cpu_s=step.agent_s, wall_s=step.agent_s, output_bytes=_OUTPUT_BYTES),
    )
    _check(report)
    return report


async def put(box: FreshBox, task: Task, files: Files) -> None:
    """Puts files into a box: relative paths begin in the working folder. Raises BoxFault."""
    placed = {absolute(name, task.environment.workdir).lstrip("/"): file for name, file in files.items()}
    await box.extract("/", _once(archive(placed)))


async def build(box: FreshBox, environment: Environment) -> None:
    """Does the actions of an environment in a fresh box. Raises TaskFault for one that fails, SandboxError."""
    for action in environment.actions:
        try:
            if isinstance(action, Copy):
                await box.extract("/", _once(archive({name.lstrip("/"): file for name, file in action.files.items()})))
                continue
            report = await box.run(
                ("/bin/sh", "-c", action.shell),
                cwd=action.cwd,
                env={"PATH": PATH, **action.env},
                limits=Limits(cpu_s=environment.build_s, wall_s=environment.build_s, output_bytes=_OUTPUT_BYTES),
            )
        except BoxFault as fault:
            raise TaskFault(f"environment/Dockerfile, line {action.line}: {fault}") from None
        _check(report)
        if report.status != "ok":
            how = f"exit code {report.exit_code}" if report.status == "runtime_error" else report.status
            raise TaskFault(
                f"environment/Dockerfile, line {action.line}: {action.shell[:200]!r} ended with {how}: {tail(report)}"
            )


# --- results ---------------------------------------------------------------------------------------------------------


async def _result(box: FreshBox, report: Report, placed: Files) -> Ran:
    end: End = "ended"
    if report.status in ("time_limit", "memory_limit", "output_limit"):
        end = report.status
    rewritten = await _rewritten(box, placed)
    found: Reward | None = None
    why = ""
    try:
        found = await _reward(box)
    except (Unreadable, BoxFault) as error:
        why = str(error)
    return Ran(
        end=end,
        reward=found,
        why=why,
        exit_code=report.exit_code,
        output=tail(report),
        rewritten=rewritten,
        seconds=report.wall_time,
    )


async def _reward(box: FreshBox) -> Reward:
    """Returns the reward. Raises Unreadable, BoxFault."""
    # From /logs on, each name must be what it was made as: a program that a test started may have put links there.
    seen: dict[str, BoxEntry] = {entry.path: entry for entry in await box.list("/logs", 2)}
    folder = posixpath.basename(reward.FOLDER)
    if folder not in seen or seen[folder].kind != "folder":
        raise Unreadable(f"{reward.FOLDER} is no folder any more")
    for name, read in ((reward.TEXT, reward.read_text), (reward.JSON, reward.read_json)):
        entry = seen.get(f"{folder}/{name}")
        if entry is None:
            continue
        if entry.kind != "file" or entry.size > reward.MOST_BYTES:
            raise Unreadable(f"{name} is not a file of at most {reward.MOST_BYTES} bytes")
        return read(await box.read(f"{reward.FOLDER}/{name}", reward.MOST_BYTES))
    raise Unreadable(f"the tests wrote neither {reward.TEXT} nor {reward.JSON}")


async def _rewritten(box: FreshBox, placed: Files) -> frozenset[str]:
    """Returns the test files that are not what they were. Attack: a program that a test starts changes the next one."""
    data = io.BytesIO()
    most = 2 * sum(len(file.data) + 2048 for file in placed.values()) + (1 << 20)
    try:
        async with contextlib.aclosing(box.archive(TESTS)) as pieces:
            async for piece in pieces:
                data.write(piece)
                if data.tell() > most:
                    break
    except BoxFault:
        return frozenset(placed)
    data.seek(0)
    seen: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=data) as given:
            for member in given:
                inner = given.extractfile(member) if member.isreg() else None
                if inner is not None:
                    seen[posixpath.normpath(member.name)] = inner.read()
    except tarfile.TarError:
        pass  # it is larger than it may be; whatever was not read is missing
    return frozenset(name for name, file in placed.items() if seen.get(name) != file.data)


def tail(report: Report, most: int = 2000) -> str:
    """Returns the end of what a program printed."""
    text = (report.stdout + (b"\n" if report.stdout and report.stderr else b"") + report.stderr).decode(
        errors="replace"
    )
    return text.strip()[-most:]


def _check(report: Report) -> None:
    if report.status == "internal_error":
        raise SandboxError(report.message or "a program in a box ended with an error of the sandbox's")


async def _made(box: FreshBox, argv: Sequence[str]) -> None:
    report = await box.run(argv, cwd="/", env={"PATH": PATH}, limits=_ROOM)
    _check(report)
    if report.status != "ok":
        raise BoxFault(f"{' '.join(argv)}: {tail(report)}")


# --- archives --------------------------------------------------------------------------------------------------------


def tests_of(step: Step) -> dict[str, File]:
    """Returns what lies in /tests: the task's files, and an empty configuration of pytest.

    Attack: pytest takes its configuration, and conftest.py, from the folders above as well.
    """
    if any(name in step.tests and text in step.tests[name].data for name, text in _PYTEST.items()):
        return dict(step.tests)
    return {**step.tests, "pytest.ini": File(b"[pytest]\n")}


def archive(files: Files) -> bytes:
    """Returns a tar archive of files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name, file in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(file.data)
            info.mode = 0o755 if file.executable else 0o644
            made.addfile(info, io.BytesIO(file.data))
    return out.getvalue()


@lru_cache(maxsize=1)
def _python() -> dict[str, File]:
    text = resource("rewarden_verifiers.tasks.clean").joinpath("sitecustomize.py").read_bytes()
    return {absolute("sitecustomize.py", PYTHON).lstrip("/"): File(text)}


def _under(files: Files, folder: str) -> dict[str, File]:
    return {absolute(name, folder).lstrip("/"): file for name, file in files.items()}


async def _once(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _PART):
        yield data[start : start + _PART]
