"""A parsed task: frozen, with a digest of all its parts."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewarden.errors import InvalidReference

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The same as in the image tiers."""

Mode = Literal["separate", "shared"]
"""`separate`: the policy's changes to system folders and start-up files are not carried into the verifier's box.
`shared`: they are, and the verdict is flagged."""


class TaskFault(InvalidReference):
    """A task is malformed, or cannot be used. The message names the file and, if known, the line."""


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
"""Maps relative paths, with `/` as separator, to files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Files that the environment copies. All paths are absolute."""

    files: Files
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A shell command of the environment."""

    shell: str
    cwd: str
    env: Mapping[str, str]
    line: int


Action = Copy | Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The initial box of a task. image: the name of a tier. actions: performed in it, in order, before the policy
    starts. digest: of the image and the actions.
    """

    image: str
    actions: Sequence[Action] = ()
    workdir: str = "/tmp/box"
    env: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int | None = None
    disk_mb: int | None = None
    build_s: float = 600.0

    @property
    def digest(self) -> str:
        """Returns a digest of the box's initial state."""
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
    limits CPU and idle time.
    """

    shell: str
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """A shell command that runs before the tests, repeatedly, until it exits with 0. interval_s, start_interval_s:
    seconds between runs; the second applies during the first start_s seconds, in which failures do not count.
    timeout_s: the limit of one run. retries: the number of failures after which the tests start anyway.
    """

    shell: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An instruction and its tests. A task without steps has one step with an empty name.

    laid: files put into the environment's working folder before the step; their `setup.sh` runs there. tests: the files
    in /tests. script: the test script. solution: the files in /solution for the oracle. solve: the solution script.
    agent_s, verifier_s: limits on CPU and idle time. env: the verifier's variables. network: hosts that the tests may
    reach if the server allows them: names, `*.DOMAIN`, or `*`. memory_mb, disk_mb, workdir: of the tests' box, if they
    differ from the environment's. collect, health: run before the tests. apart: the initial state of the tests' box, if
    it does not start from the policy's box; of the policy's files, it then gets only the artifacts, which are absolute
    paths.
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
    """See the module. solution_env: the oracle's variables. keep: absolute paths whose changes are carried over
    although they are in system folders. services: shell commands that are started before the tests.
    """

    id: str
    digest: str
    environment: Environment
    steps: Sequence[Step]
    solution_env: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    services: Sequence[str] = ()

    @property
    def environments(self) -> Sequence[Environment]:
        """Returns the environments of all boxes: the policy's, and any that tests have of their own."""
        return (self.environment, *(step.apart for step in self.steps if step.apart is not None))

    def step(self, name: str | None) -> Step:
        """Returns a step by name. None selects the only step. Raises TaskFault."""
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
    """Returns the files in a folder, by path relative to it."""
    head = folder + "/"
    return {name[len(head) :]: file for name, file in files.items() if name.startswith(head)}


def absolute(path: str, base: str) -> str:
    """Returns an absolute path in the box, resolved against `base`."""
    return "/" + posixpath.normpath(posixpath.join(base, path)).lstrip("/")  # normpath keeps two leading slashes
