"""Runs a task's tests once, in a separate box."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import posixpath
import re
import tarfile
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files as resource
from typing import BinaryIO, Literal

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Limits, Report
from rewarden_sandboxes.network.rules import narrowed, read_rule
from rewarden_verifiers.boxes import BoxEntry, Boxes, BoxFault, FreshBox, LiveBox, Requests
from rewarden_verifiers.tasks import reward
from rewarden_verifiers.tasks.carried import Artifacts, Carried, Filter, merge
from rewarden_verifiers.tasks.dockerfile import is_own
from rewarden_verifiers.tasks.links import Links
from rewarden_verifiers.tasks.memory import copied
from rewarden_verifiers.tasks.reward import Reward, Unreadable
from rewarden_verifiers.tasks.task import (
    PATH,
    Copy,
    Environment,
    File,
    Files,
    HealthCheck,
    Step,
    Task,
    TaskFault,
    absolute,
)

TESTS, SOLUTION, PYTHON = "/tests", "/solution", "/rewarden/python"
AGENT, RECORD = "/logs/agent", "/logs/rewarden"
SETUP = "setup.sh"
"""The script among a step's files that runs after they are put in place."""
TRAJECTORY = "trajectory.json"
"""The trajectory's name in both folders. In the first, it is the policy's own if the policy wrote one; in the second,
it is the server's record.
"""

_CLEAN: Mapping[str, str] = {
    "PATH": PATH,
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "PYTHONPATH": PYTHON,
    "PYTHONDONTWRITEBYTECODE": "1",
    "R_PROFILE_USER": "/dev/null",
    "R_ENVIRON_USER": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": "/dev/null",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
    "GIT_CONFIG_KEY_2": "safe.directory",
    "GIT_CONFIG_VALUE_2": "*",
}
"""The verifier's environment variables. Attacks: git hooks and monitors of a repository, which run when a test calls
git; startup files in the working folder, which R reads; and a compiled module beside a test, which Python takes for the
test's own, so tests must not write any.
"""

_SEARCHED = (
    "PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
    "NODE_PATH",
    "PERL5LIB",
    "RUBYLIB",
    "BASH_ENV",
    "ENV",
)
"""Variables that name files to run, or folders of them."""

_LOADED = (
    *(".py", ".pyc", ".so", ".pth", ".ini", ".cfg", ".toml", ".js", ".mjs", ".cjs", ".ts", ".node", ".sh", ".bash"),
    *(".rb", ".pl", ".pm", ".php", ".lua", ".r", ".jar", ".class"),
)
"""Endings of file names that a later test may execute or obey because of their location."""

_PYTEST = {
    "pytest.ini": b"",
    ".pytest.ini": b"",
    "pyproject.toml": b"[tool.pytest",
    "tox.ini": b"[pytest]",
    "setup.cfg": b"[tool:pytest]",
}
"""Files that can contain pytest's configuration, and the text that marks it."""

_OUTPUT_BYTES = 4 * 1024**2
_PART = 1 << 20
_REPORTS_BYTES = 64 << 20
"""The maximum size of files that tests write in addition to their own. Attack: fill the server's memory."""
_TESTS_BYTES = 256 << 20
"""The maximum size of the tests in an image: they are compared before and after the run."""
_CACHES = frozenset({".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.0, 1.0, 1.0)
_ROOM = Limits(cpu_s=60.0, wall_s=60.0, output_bytes=1 << 16)

End = Literal["ended", "time_limit", "memory_limit", "output_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The maximum limits of a task's box, in MiB, and the defaults for tasks that state none. network: hosts that tests
    may reach if their task asks for them (see `rewarden_sandboxes.network.rules`).
    """

    memory_mb: int = 2048
    disk_mb: int = 1024
    default_memory_mb: int = 512
    default_disk_mb: int = 512
    network: Sequence[str] = ()

    def limits(self, environment: Environment) -> Limits:
        """Returns the limits of a task's boxes: as requested, within bounds."""
        return Limits(
            memory_mb=min(environment.memory_mb or self.default_memory_mb, self.memory_mb),
            disk_mb=min(environment.disk_mb or self.default_disk_mb, self.disk_mb),
        )

    def reached(self, step: Step) -> tuple[str, ...]:
        """Returns the network rules for a step's tests: what both the task and the server allow."""
        return narrowed(tuple(map(read_rule, self.network)), step.network) if self.network else ()

    def digest(self, task: Task) -> str:
        """Returns the key of a task's check. It includes the server's settings for the tests, because they can decide
        the result.
        """
        given = [(self.reached(step), self.limits(_surroundings(task.environment, step))) for step in task.steps]
        return hashlib.sha256(repr((task.digest, given)).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of a run of tests. reward: None if no readable one was written; why: the reason. output: the end of
    the tests' output. rewritten: test files that were changed or added during the run. left: processes outlived the
    tests, and could write the reward. dropped: the policy's changes to system folders, which the tests did not see.
    unsearched: folders in PATH and similar variables that were left out because the policy controls them. requests:
    failed requests of the tests. sick: health checks that never passed.
    """

    end: End
    reward: Reward | None
    why: str = ""
    exit_code: int | None = None
    output: str = ""
    rewritten: frozenset[str] = frozenset()
    left: bool = False
    dropped: Sequence[str] = ()
    unsearched: Sequence[str] = ()
    seconds: float = 0.0
    requests: Requests = field(default_factory=Requests)
    sick: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A stored copy of a box's changes. file: unlinked, so it disappears when closed."""

    file: BinaryIO

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yields the stream from its beginning."""
        place = 0
        while data := await asyncio.to_thread(os.pread, self.file.fileno(), _PART, place):
            place += len(data)
            yield data


def identity_of(images: Sequence[str]) -> str:
    """Returns the combined identity of several images, the policy's first."""
    return " ".join(dict.fromkeys(images))


@asynccontextmanager
async def kept(changes: AsyncGenerator[bytes, None]) -> AsyncIterator[State]:
    """Yields a copy of a change stream, stored on the server's disk until the block ends."""
    with tempfile.TemporaryFile(prefix="rewarden-task-") as file:
        await copied(changes, file)
        file.flush()
        yield State(file)


# --- boxes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Base:
    """The base of an environment's boxes. image_id: their image. state: the changes that the environment makes to it,
    or None.
    """

    image_id: str
    state: State | None


class TaskBoxes:
    """Opens the boxes of a task. bases: the bases of its environments, by digest."""

    def __init__(self, boxes: Boxes, task: Task, size: Size, bases: Mapping[str, Base]) -> None:
        self._boxes = boxes
        self.task = task
        self._size = size
        self._bases = bases

    @property
    def image_id(self) -> str:
        """Returns the image of the policy's boxes."""
        return self._bases[self.task.environment.digest].image_id

    @property
    def identity(self) -> str:
        """Returns the identity of all images: check results apply to these images only."""
        return identity_of([self._bases[each.digest].image_id for each in self.task.environments])

    @property
    def limits(self) -> Limits:
        """Returns the limits of each box."""
        return self._size.limits(self.task.environment)

    @asynccontextmanager
    async def box(self, step: Step, before: State | None = None) -> AsyncIterator[FreshBox]:
        """Yields a box in which a policy can begin a step. before: the changes at the end of the previous step."""
        async with self._open() as box:
            await self.begin(box, step, before)
            yield box

    async def begin(self, box: FreshBox, step: Step, before: State | None = None) -> None:
        """Prepares a fresh box for a step. Raises TaskFault if the step's own files cannot be put in place. Other
        failures are SandboxErrors, because no policy has used the box yet.
        """
        check_image(box, self.image_id)
        state = before or self._bases[self.task.environment.digest].state
        try:
            if state is not None:
                await box.restore(state.pieces())
            await _made(box, ("mkdir", "-p", self.task.environment.workdir))
        except BoxFault as fault:
            raise SandboxError(f"the task's environment cannot be laid out: {fault}") from None
        try:
            setup = await lay(box, self.task, step)
        except BoxFault as fault:
            raise TaskFault(f"steps/{step.name}/workdir: cannot be laid: {fault}") from None
        if setup is not None and setup.status != "ok":
            raise TaskFault(f"steps/{step.name}/workdir/{SETUP} {ended(setup)}: {tail(setup)}")

    @asynccontextmanager
    async def _open(
        self, disk_mb: int = 0, network: Sequence[str] = (), step: Step | None = None
    ) -> AsyncIterator[FreshBox]:
        """Opens a box. step: the step whose tests it runs, if any."""
        environment = self.task.environment
        if step is not None:
            environment = _surroundings(environment, step)
        limits = self._size.limits(environment)
        limits = replace(limits, disk_mb=max(limits.disk_mb or 0, disk_mb))
        async with self._boxes.open(environment.image, limits=limits, env=environment.env, network=network) as box:
            check_image(box, self._bases[environment.digest].image_id)
            yield box

    async def verify(self, step: Step, state: State, *, disk_mb: int = 0, trajectory: bytes | None = None) -> Ran:
        """Runs the tests of a step on a copy of a box. disk_mb: that box's disk size, if it is larger than the task's.
        trajectory: the record of what ran in it. Raises SandboxError.
        """
        # The policy's files must fit, whatever the disk size of the tests.
        disk_mb = max(disk_mb, self.limits.disk_mb or 0)
        if not step.collect:
            return await self._verify(step, state, disk_mb, trajectory)
        try:
            async with self._collected(step, state, disk_mb) as collected:
                return await self._verify(step, collected, disk_mb, trajectory)
        except BoxFault as fault:
            return Ran(end="ended", reward=None, why=str(fault))

    @asynccontextmanager
    async def _collected(self, step: Step, state: State, disk_mb: int) -> AsyncIterator[State]:
        """Yields a copy of a box after the hooks have run in it, beside the task's services. As in Harbor, a hook that
        fails leaves no files but has no other effect. The copy's processes end here. Raises BoxFault, SandboxError.
        """
        task = self.task
        env = {"PATH": PATH, **task.environment.env}
        async with self._open(disk_mb) as box:
            await box.restore(state.pieces())
            await self._serve(box, task.environment.workdir, env)
            for hook in step.collect:
                limits = Limits(cpu_s=hook.timeout_s, wall_s=hook.timeout_s, output_bytes=_OUTPUT_BYTES)
                argv = ("/bin/sh", "-c", hook.shell)
                _check(await box.run(argv, cwd=task.environment.workdir, env=env, limits=limits))
            async with kept(box.changes()) as made:
                yield made

    async def _serve(self, box: FreshBox, cwd: str, env: Mapping[str, str]) -> None:
        for command in self.task.services:
            shell = f"exec >/dev/null 2>&1; {command}"
            await box.start(("/bin/sh", "-c", shell), cwd=cwd, env=env)

    async def _verify(self, step: Step, state: State, disk_mb: int, trajectory: bytes | None) -> Ran:
        task = self.task
        environment = step.apart or task.environment
        carried = _filter(task, step)
        env, unsearched = _clean(environment.env, carried)
        if is_own(environment.image) and "PATH" not in environment.env:
            del env["PATH"]  # the image sets its own PATH
        network = self._size.reached(step)
        cwd = step.workdir or environment.workdir
        with tempfile.TemporaryFile(prefix="rewarden-task-") as file:
            await asyncio.to_thread(self._merge, state, carried, environment, file)
            async with self._open(disk_mb, network, step) as box:
                try:
                    await box.restore(State(file).pieces())
                    placed = dict(step.tests) if step.apart is not None else tests_of(step)
                    await place(box, {**_under(placed, TESTS), **_python()})
                    await _made(box, ("mkdir", "-p", TESTS, reward.FOLDER, AGENT, "/logs/artifacts", cwd))
                    if step.apart is not None:
                        placed = await _present(box)  # files in the image count as the verifier's, too
                    if trajectory is not None:
                        await _record(box, File(trajectory))
                    await self._serve(box, task.environment.workdir, env)
                    sick = [check.shell for check in step.health if not await _healthy(box, check, cwd, env)]
                    report = await box.run(
                        ("/bin/bash", "--noprofile", "--norc", posixpath.join(TESTS, step.script)),
                        cwd=cwd,
                        env={**env, **step.env},
                        limits=Limits(cpu_s=step.verifier_s, wall_s=step.verifier_s, output_bytes=_OUTPUT_BYTES),
                    )
                    _check(report)
                    # Attack: a process that the tests started writes the reward after they have ended.
                    await box.stop()
                    ran = replace(await _result(box, report, placed), sick=sick)
                    if network:
                        ran = replace(ran, requests=await box.requests())
                    # A server that is shutting down, or a tracker of shared memory, needs a moment to end.
                    await box.resume()
                    ran = replace(ran, left=not task.services and await _left(box))
                except BoxFault as fault:
                    # Files that do not fit into the box, or block the tests' paths, must be the policy's: the
                    # solution's run succeeded.
                    ran = Ran(end="ended", reward=None, why=str(fault))
        return replace(ran, dropped=tuple(carried.dropped), unsearched=unsearched)

    def _merge(self, state: State, carried: Filter, environment: Environment, out: BinaryIO) -> None:
        streams = [(state.file, carried.of_policy)]
        base = self._bases[environment.digest].state
        if base is not None:
            # A policy's stream begins by emptying the homes that it has written to, so the environment's changes come
            # after it. Artifacts, in contrast, overwrite what is there.
            last = environment is self.task.environment
            streams.insert(len(streams) if last else 0, (base.file, carried.of_environment))
        opened = [(os.fdopen(os.dup(file.fileno()), "rb"), chosen) for file, chosen in streams]
        try:
            with os.fdopen(os.dup(state.file.fileno()), "rb") as file:
                file.seek(0)
                carried.astray = Links.of_stream(file).astray(carried.allows)
            for file, _ in opened:
                file.seek(0)
            merge(opened, out)
        except tarfile.TarError as error:
            raise SandboxError(f"the changes of a box cannot be read: {error}") from None
        finally:
            for file, _ in opened:
                file.close()
        out.flush()


def _surroundings(environment: Environment, step: Step) -> Environment:
    """Returns the environment of a step's tests: their own, or the policy's with the size that they ask for."""
    if step.apart is not None:
        return step.apart
    memory_mb, disk_mb = step.memory_mb or environment.memory_mb, step.disk_mb or environment.disk_mb
    return replace(environment, memory_mb=memory_mb, disk_mb=disk_mb)


def _filter(task: Task, step: Step) -> Filter:
    homes = [env["HOME"] for env in ((step.apart or task.environment).env, step.env) if "HOME" in env]
    if step.apart is not None:
        return Artifacts(step.artifacts, homes=homes)
    return Carried(task.keep, shared=step.mode == "shared", homes=homes)


async def _healthy(box: FreshBox, check: HealthCheck, cwd: str, env: Mapping[str, str]) -> bool:
    """Returns whether a health check passed. A check that times out has failed."""
    limits = Limits(cpu_s=check.timeout_s, wall_s=check.timeout_s, output_bytes=_OUTPUT_BYTES)
    loop = asyncio.get_running_loop()
    started, failures = loop.time() + check.start_s, 0
    while True:
        counts = loop.time() >= started
        report = await box.run(("/bin/sh", "-c", check.shell), cwd=cwd, env=env, limits=limits)
        _check(report)
        if report.status == "ok":
            return True
        failures += counts
        if failures >= check.retries:
            return False
        await asyncio.sleep(check.interval_s if counts else check.start_interval_s)


async def _record(box: FreshBox, trajectory: File) -> None:
    """Puts the server's record into a tests' box. Raises BoxFault."""
    # Attack: a forged trajectory. Nothing from the policy is carried into the second folder.
    folders = [RECORD]
    if all(entry.path != TRAJECTORY for entry in await box.list(AGENT, 1)):
        folders.append(AGENT)
    await place(box, {absolute(TRAJECTORY, folder).lstrip("/"): trajectory for folder in folders})


def check_image(box: FreshBox | LiveBox, image_id: str) -> None:
    """Raises SandboxError if a box runs another image: stored results and states do not apply to it."""
    if box.image_id != image_id:
        raise SandboxError("the image of the task was replaced, and the box runs another build of it")


def _clean(own: Mapping[str, str], carried: Filter) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the verifier's variables, merged with the environment's, and the folders that were left out of them.

    Attack: a program in a policy's folder that `ENV PATH` includes.
    """
    made = dict(_CLEAN)
    unsearched: list[str] = []
    for name in _SEARCHED:
        found = [path for path in re.split("[: ]" if name == "LD_PRELOAD" else ":", own.get(name, "")) if path]
        trusted = [path for path in found if carried.is_trusted(path)]
        unsearched += [path for path in found if path not in trusted]
        if name == "PYTHONPATH":
            made[name] = ":".join([PYTHON, *trusted])
        elif name in own:
            made[name] = ":".join(trusted) or _CLEAN.get(name, "")
    return made, tuple(dict.fromkeys(unsearched))


async def solve(box: FreshBox, task: Task, step: Step, files: Files, env: Mapping[str, str]) -> Report:
    """Runs a solution: puts its files into /solution and runs the script `step.solve`. Raises SandboxError."""
    await place(box, _under(files, SOLUTION))
    report = await box.run(
        ("/bin/bash", posixpath.join(SOLUTION, step.solve)),
        cwd=task.environment.workdir,
        env={"PATH": PATH, **env},
        limits=Limits(cpu_s=step.agent_s, wall_s=step.agent_s, output_bytes=_OUTPUT_BYTES),
    )
    _check(report)
    return report


async def lay(box: FreshBox, task: Task, step: Step) -> Report | None:
    """Puts a step's files into the working folder and runs its setup script there. Returns the script's report, or None
    if there is no script. Raises BoxFault, SandboxError.
    """
    await put(box, task, step.laid)
    if SETUP not in step.laid:
        return None
    environment = task.environment
    report = await box.run(
        ("/bin/bash", posixpath.join(environment.workdir, SETUP)),
        cwd=environment.workdir,
        env={"PATH": PATH, **environment.env},
        limits=Limits(cpu_s=environment.build_s, wall_s=environment.build_s, output_bytes=_OUTPUT_BYTES),
    )
    _check(report)
    return report


async def put(box: FreshBox, task: Task, files: Files) -> None:
    """Puts files into a box. Relative paths start in the working folder. Raises BoxFault."""
    await place(box, _under(files, task.environment.workdir))


async def build(box: FreshBox, environment: Environment) -> None:
    """Performs an environment's actions in a fresh box. Raises TaskFault if one fails, SandboxError."""
    for action in environment.actions:
        try:
            if isinstance(action, Copy):
                await place(box, _under(action.files, "/"))
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
            raise TaskFault(
                f"environment/Dockerfile, line {action.line}: {action.shell[:200]!r} {ended(report)}: {tail(report)}"
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
    # From /logs on, every name must still be of its original type: a program that a test started may have put links
    # there.
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


async def _left(box: FreshBox) -> bool:
    """Returns whether processes are still alive a few seconds after the tests."""
    for pause in _PAUSES_S:
        if not await box.processes():
            return False
        await asyncio.sleep(pause)
    return True


async def _archived(box: FreshBox, most: int) -> io.BytesIO:
    """Returns an archive of /tests, truncated after `most` bytes. Raises BoxFault."""
    data = io.BytesIO()
    async with contextlib.aclosing(box.archive(TESTS)) as pieces:
        async for piece in pieces:
            data.write(piece)
            if data.tell() > most:
                break
    data.seek(0)
    return data


async def _present(box: FreshBox) -> dict[str, File]:
    """Returns the files in /tests. Raises BoxFault."""
    data = await _archived(box, _TESTS_BYTES)
    try:
        with tarfile.open(fileobj=data) as given:
            inner = {posixpath.normpath(each.name): given.extractfile(each) for each in given if each.isreg()}
            return {name: File(file.read()) for name, file in inner.items() if file is not None}
    except tarfile.TarError:
        raise BoxFault(f"{TESTS} has more than {_TESTS_BYTES >> 20} MiB") from None


async def _rewritten(box: FreshBox, placed: Files) -> frozenset[str]:
    """Returns the test files that were changed or added. Attack: a program that a test starts alters the next test, or
    adds a file that the next test loads.
    """
    most = 2 * sum(len(file.data) + 2048 for file in placed.values()) + _REPORTS_BYTES
    try:
        data = await _archived(box, most)
    except BoxFault:
        return frozenset(placed)
    return await asyncio.to_thread(_changed, data, placed)


def _changed(data: io.BytesIO, placed: Files) -> frozenset[str]:
    seen: dict[str, bytes] = {}
    added: set[str] = set()
    try:
        with tarfile.open(fileobj=data) as given:
            for member in given:
                name = posixpath.normpath(member.name)
                inner = given.extractfile(member) if member.isreg() else None
                if inner is not None:
                    seen[name] = inner.read()
                if name not in placed and not member.isdir() and _is_loaded(name):
                    added.add(name)
    except tarfile.TarError:
        pass  # the archive was truncated; files that were not read count as missing
    return frozenset(name for name, file in placed.items() if seen.get(name) != file.data) | added


def _is_loaded(name: str) -> bool:
    """Returns whether a later test may load an added file. Reports and tool caches are harmless, and their names vary
    between runs.
    """
    parts = name.split("/")
    if _CACHES.intersection(parts) or parts[-1].startswith(".coverage."):
        return False
    return (
        name.lower().endswith(_LOADED)
        or parts[-1] == "package.json"
        or any(part.startswith(".") for part in parts)
        or "node_modules" in parts
    )


def unserved(requests: Requests) -> str:
    """Returns a message about requests that could not be served."""
    return f"the tests' requests to {', '.join(requests.unserved[:5])} could not be served"


def tail(report: Report, most: int = 2000) -> str:
    """Returns the end of a program's output."""
    text = (report.stdout + (b"\n" if report.stdout and report.stderr else b"") + report.stderr).decode(
        errors="replace"
    )
    return text.strip()[-most:]


def ended(report: Report) -> str:
    """Returns how a program ended, in words."""
    how = f"exit code {report.exit_code}" if report.status == "runtime_error" else report.status
    return f"ended with {how}"


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
    """Returns the files for /tests: the task's files, and empty pytest configurations.

    Attack: pytest also reads configuration and conftest.py from the folders above.
    """
    if any(name in step.tests and text in step.tests[name].data for name, text in _PYTEST.items()):
        return dict(step.tests)
    return {**step.tests, "pytest.ini": File(b"[pytest]\n")}


async def place(box: FreshBox, files: Files) -> None:
    """Puts files into a box. Paths start at the root, without a slash. Raises BoxFault."""
    await box.extract("/", _once(await asyncio.to_thread(archive, files)))


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
