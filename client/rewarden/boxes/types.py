"""The requests to a box, and its answers, as frozen dataclasses.

This module is the source: JSON, protobuf and OpenAPI have the same fields. Treat lists and mappings as immutable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from rewarden.types import Limits, RunResult, Text

Right = Literal["exec", "files", "fork", "snapshot", "score", "close", "read"]
"""`exec`: run programs. `files`: read and write files. `read`: see the box's state. `score`: judge the box, and begin
the next step of its task. The others are the operations of the same names."""

RIGHTS: tuple[Right, ...] = ("exec", "files", "fork", "snapshot", "score", "close", "read")

EndReason = Literal["closed", "expired", "idle", "host_lost", "slot_lost", "draining"]
"""`closed`: by a caller. `expired`: its time to live is over. `idle`: nobody used it for `idle_s`. `host_lost`: its
sandbox host died or left. `slot_lost`: its container died. `draining`: the server stopped."""

BoxContent = Union[str, Mapping[str, str]]
"""Text, or bytes as `{"base64": "…"}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxLimits:
    """The resources of a box as a whole. None: the server's default.

    memory_mb: of all processes and files together, MiB. disk_mb: all changes to its file system, MiB. processes:
    processes and threads. open_files: descriptors of one process.
    """

    memory_mb: int | None = None
    disk_mb: int | None = None
    processes: int | None = None
    open_files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxRequest:
    """A box to open.

    image: a tier, such as `python`, or an own image: its id, or its name with a digest. env: environment variables of
    everything that runs in it. files: path (absolute, or relative to the working folder: `/tmp/box`, or that of an own
    image) to content. ttl_s: seconds until it is closed whatever happens. idle_s: seconds without a request after which
    it is closed; a process in the background does not keep it open. rollout: the caller's name for the rollout.
    snapshot: the id of a snapshot with which its file system begins. task: the id of a task of the server's, whose
    image, environment and limits the box has, and by which it is scored. network: names that its programs may reach
    through the sandbox host's proxy, as `HOST`, `HOST:PORT` or `*.DOMAIN`; its `sandbox.network` must allow each.
    """

    image: str = "python"
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, BoxContent] = field(default_factory=dict)
    limits: BoxLimits = BoxLimits()
    ttl_s: float | None = None
    idle_s: float | None = None
    rollout: str | None = None
    snapshot: str | None = None
    task: str | None = None
    network: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxUsage:
    """The resources that a box has used so far. cpu_s: CPU seconds of all its processes. memory_bytes, disk_bytes,
    processes: at the moment. None: not measured."""

    cpu_s: float | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecState:
    """A program that was started in a box. state: `running` or `ended`; status: see `RunResult.status`."""

    exec: int
    state: str
    background: bool = False
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxInfo:
    """A box. state: `open` or `ended`; reason: see `EndReason`. image_id: the identity of the image's content. limits
    and enforced: as for a run, the limits in force and the mechanism that enforces each. Times are seconds since the
    epoch. lease: of a box that was forked by a lease, one with the same rights. task: with which it was opened."""

    id: str
    state: str = "open"
    reason: str | None = None
    image: str = ""
    image_id: str | None = None
    rollout: str | None = None
    created_at: float = 0.0
    expires_at: float = 0.0
    idle_s: float = 0.0
    limits: Mapping[str, int] = field(default_factory=dict)
    enforced: Mapping[str, str] = field(default_factory=dict)
    usage: BoxUsage | None = None
    execs: Sequence[ExecState] = ()
    lease: str | None = None
    task: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecRequest:
    """A program to start in a box: one of `argv`, `shell` (a command line for `sh -c`), and `code` with its `language`.

    stdin: all of its input. feed: its input stays open and is sent while it runs. cwd: absolute, or relative to the
    working folder. limits: of this program; `cpu_s`, `wall_s` (seconds spent idle) and `output_bytes`. background:
    return at once; the program lives until it ends or the box does.
    """

    argv: Sequence[str] | None = None
    shell: str | None = None
    language: str | None = None
    code: str | None = None
    stdin: BoxContent | None = None
    feed: bool = False
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    background: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult(RunResult):
    """The end of a program in a box; see `RunResult`. exec: its number in the box."""

    exec: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecOutput:
    """Bytes that a program wrote. stream: `stdout` or `stderr`."""

    stream: str
    data: bytes

    @property
    def text(self) -> str:
        """Returns the bytes as text, with those that are not UTF-8 replaced."""
        return self.data.decode(errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecProgress:
    """The kept output of a program in the background, from a position on. next: the position after it. dropped: bytes
    before it that are no longer kept. result: its end, once it has ended."""

    exec: int
    state: str
    output: Sequence[ExecOutput] = ()
    next: int = 0
    dropped: int = 0
    result: ExecResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookRequest:
    """A notebook to start in a box. kernel: its language. cwd: absolute, or relative to the box's working folder."""

    kernel: str = "python"
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookInfo:
    """A notebook of a box. notebook: its number in the box. state: `idle`, `busy` or `ended`. message: why it has
    ended."""

    notebook: int
    kernel: str = "python"
    state: str = "idle"
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRequest:
    """A cell to run. timeout_s: seconds that it may run or be idle before it is interrupted. output_bytes: the most of
    its outputs, as JSON; each value of a structured output counts 64 more. None: the server's default."""

    code: str
    timeout_s: float | None = None
    output_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """The end of a cell, which is always the policy's doing.

    status: `ok`; `error` for an exception; `time_limit`, `output_limit` or `interrupted` if the cell was interrupted;
    `kernel_died` if its kernel ended. outputs: as in a notebook file (nbformat 4): `stream`, `display_data`,
    `execute_result`, `error`. count: the kernel's number of the cell. restarted: a new kernel runs, without the
    variables. over: no kernel runs any more. truncated: some output was dropped. exit_code, signal: of a kernel that
    died. message: an explanation for people. wall_time: seconds.
    """

    notebook: int
    status: str
    outputs: Sequence[Mapping[str, Any]] = ()
    count: int | None = None
    restarted: bool = False
    over: bool = False
    truncated: bool = False
    exit_code: int | None = None
    signal: int | None = None
    message: str | None = None
    wall_time: float = 0.0

    @property
    def text(self) -> str:
        """Returns the outputs as a terminal shows them: what was written, the text of what was shown, tracebacks."""
        return "".join(_shown(output) for output in self.outputs)

    @property
    def value(self) -> Mapping[str, Any] | None:
        """Returns the last expression's value by media type, such as `text/plain`; None if there is none."""
        found = [output for output in self.outputs if output.get("output_type") == "execute_result"]
        return found[-1].get("data") if found else None

    @property
    def error(self) -> Mapping[str, Any] | None:
        """Returns the exception: `ename`, `evalue`, `traceback`; None if there is none."""
        found = [output for output in self.outputs if output.get("output_type") == "error"]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of a notebook, as its kernel describes it. size: its `len`. text: the beginning of its `repr`."""

    name: str
    type: str = ""
    size: int | None = None
    shape: Sequence[int] | None = None
    text: str = ""


def _shown(output: Mapping[str, Any]) -> str:
    match output.get("output_type"):
        case "stream":
            return str(output.get("text", ""))
        case "error":
            return "\n".join(output.get("traceback") or ()) + "\n"
    data = output.get("data") or {}
    text = data.get("text/plain") if isinstance(data, Mapping) else None
    return "" if text is None else f"{text}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxFile:
    """An entry of a folder. name: its path below the listed folder. kind: `file`, `folder`, `link` or `other`. mode:
    its permission bits. target: where a link leads. Bytes of name and target that are not UTF-8 are replaced;
    name_base64 and target_base64 then hold the original ones."""

    name: str
    kind: str
    size: int = 0
    mode: int = 0
    target: str | None = None
    name_base64: str | None = None
    target_base64: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSnapshot:
    """A copy of a box's file system, kept by the server. bytes: its size. image_id: the image on which it can be
    restored. expires_at: seconds since the epoch."""

    snapshot: str
    bytes: int
    image_id: str | None = None
    expires_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxLease:
    """A signed permission to use a box, to be sent instead of a key. expires_at: seconds since the epoch."""

    lease: str
    box: str
    rights: Sequence[str] = ()
    rollout: str | None = None
    expires_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBegun:
    """A step of a box's task that has begun. instruction: what the policy is told. problem: why the files of the step
    could not be laid, or what its `setup.sh` ended with, which earlier steps of the policy's can cause; None: nothing
    went wrong."""

    step: str
    instruction: str
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRequest:
    """A copy of a box; see `BoxRequest`. None: as the box itself."""

    ttl_s: float | None = None
    idle_s: float | None = None
    rollout: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """live: the processes of the box go on while the copy is taken, and may change files meanwhile."""

    live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRequest:
    """rights: see `Right`. expires_s: seconds from now. rollout: must be the box's, if it is given."""

    rights: Sequence[Right]
    expires_s: float = 600.0
    rollout: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """step: the name of a step of the box's task."""

    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """A box to be judged: `response`, or the text of the file `response_file`, as a sample's response. Neither, for a
    verifier that judges the box itself, such as `task`."""

    use: Union[str, Mapping[str, Any]]
    response: Text | None = None
    response_file: str | None = None
    reference: Any = None
    prompt: Text | None = None
    metadata: Mapping[str, Any] | None = None
