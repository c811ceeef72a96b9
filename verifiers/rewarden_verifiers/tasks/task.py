"""A task as read: frozen, with a digest of all its parts."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewarden.errors import InvalidReference

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The image tiers' own."""

Mode = Literal["separate", "shared"]
"""`separate`: the policy's changes to system folders and start-up files are not carried into the verifier's box.
`shared`: they are, and the verdict is flagged."""


class TaskFault(InvalidReference):
    """A task is malformed, or cannot be used. The message names the file and the line, where there is one."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a task."""

    data: bytes
    executable: bool = False

    def text(self, name: str) -> str:
        """Returns the content. Raises TaskFault."""
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            raise TaskFault(f"{name}: is not UTF-8") from None


Files = Mapping[str, File]
"""Relative path, with `/` between its parts, to file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Files that the environment gets. Each path is absolute."""

    files: Files
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A shell command that makes the environment."""

    shell: str
    cwd: str
    env: Mapping[str, str]
    line: int


Action = Copy | Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The box that a task begins with. image: the name of a tier. actions: done in it, in order, before the policy.
    digest: of image and actions."""

    image: str
    actions: Sequence[Action] = ()
    workdir: str = "/tmp/box"
    env: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int | None = None
    disk_mb: int | None = None
    build_s: float = 600.0

    @property
    def digest(self) -> str:
        """Returns a digest of what the box begins with."""
        made = hashlib.sha256(self.image.encode())
        for action in self.actions:
            if isinstance(action, Copy):
                made.update(digest_of(action.files).encode())
            else:
                made.update(repr((action.shell, action.cwd, sorted(action.env.items()))).encode())
        return made.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A shell command that runs in a copy of the policy's box before the tests, and leaves files for them. timeout_s:
    of CPU and idle time."""

    shell: str
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """A shell command that is run until it ends with 0, before the tests. interval_s, start_interval_s: seconds between
    two runs, the second during the first start_s seconds, in which failures do not count. timeout_s: of one run.
    retries: failures after which the tests begin all the same."""

    shell: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An instruction and its tests. A task of one step has one, with an empty name.

    laid: what is laid into the environment's working folder before the step; its `setup.sh` is run there.
    tests: what lies in /tests. script: the file of /tests that is run. solution: what lies in /solution for the oracle.
    solve: the file of it that is run. agent_s,
    verifier_s: limits of CPU and idle time. env: of the verifier. network: hosts that the tests may reach, if the
    server allows them: names, `*.DOMAIN`, or `*`. memory_mb, disk_mb, workdir: of the tests' box, where they are not
    the environment's. collect, health: done before the tests. apart: what the tests' box begins with, where that is
    not the policy's box: of the policy's files, it gets the artifacts, which are absolute paths, and nothing else.
    """

    name: str
    instruction: str
    tests: Files
    laid: Files = field(default_factory=dict)
    script: str = "test.sh"
    solution: Files = field(default_factory=dict)
    solve: str = "solve.sh"
    agent_s: float = 600.0
    verifier_s: float = 600.0
    env: Mapping[str, str] = field(default_factory=dict)
    mode: Mode = "separate"
    network: Sequence[str] = ()
    memory_mb: int | None = None
    disk_mb: int | None = None
    workdir: str | None = None
    collect: Sequence[Hook] = ()
    health: Sequence[HealthCheck] = ()
    apart: Environment | None = None
    artifacts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """See the module. solution_env: of the oracle. keep: absolute paths whose changes are carried although they lie in
    system folders. services: shell commands that are started before the tests."""

    id: str
    digest: str
    environment: Environment
    steps: Sequence[Step]
    solution_env: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    services: Sequence[str] = ()

    @property
    def environments(self) -> Sequence[Environment]:
        """Returns the environments of all boxes: the policy's, and those that tests have of their own."""
        return (self.environment, *(step.apart for step in self.steps if step.apart is not None))

    def step(self, name: str | None) -> Step:
        """Returns a step. None: the only one. Raises TaskFault."""
        if name is None and len(self.steps) == 1:
            return self.steps[0]
        found = next((step for step in self.steps if step.name == name), None)
        if found is None:
            known = ", ".join(step.name for step in self.steps if step.name) or "none: it has no steps"
            raise TaskFault(f"the task {self.id!r} has no step {name!r}; its steps: {known}")
        return found

    def beginning(self, step: Step) -> str:
        """Returns a digest of the state in which a step begins."""
        return hashlib.sha256(f"{self.digest} {step.name}".encode()).hexdigest()


def digest_of(files: Files) -> str:
    """Returns a digest of names, modes and contents."""
    made = hashlib.sha256()
    for name in sorted(files):
        file = files[name]
        head = f"{len(name.encode())} {name} {int(file.executable)} {len(file.data)} "
        made.update(head.encode())
        made.update(file.data)
    return made.hexdigest()


def below(files: Files, folder: str) -> dict[str, File]:
    """Returns the files of a folder, by their path in it."""
    head = folder + "/"
    return {name[len(head) :]: file for name, file in files.items() if name.startswith(head)}


def absolute(path: str, base: str) -> str:
    """Returns a path of the box, resolved against a folder of it."""
    return "/" + posixpath.normpath(posixpath.join(base, path)).lstrip("/")  # normpath leaves two slashes as they are
