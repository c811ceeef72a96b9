"""Requests to the host, and its answers: frozen dataclasses, which their receivers validate.

A *job* is a program, compiled once, and the cases on which it runs, each in a room of its own. A *session* is a program
that runs once, while the caller writes its stdin and reads its stdout. A *partner* is a second program, in a second
room of the same slot, joined to the first; both rooms are allocated together. A *report* says how one room ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

RunStatus = Literal[
    "ok", "runtime_error", "time_limit", "memory_limit", "output_limit", "compile_error", "internal_error"
]
"""`ok`: it exited with code 0. `runtime_error`: another exit code, or a signal. `…_limit`: it was killed at that limit.
`compile_error`: there is nothing to run. `internal_error`: our failure, which says nothing about the program."""

Mode = Literal["script", "serve", "tests", "call", "shared"]
"""The mode in which a program runs. `script`: as the language's registry row says. The others: for Python see
`rewarden_sandboxes.agent.modes`. A program in another language is run as its row says, with the mode's descriptors, and
must implement the mode itself; it reads its request from stdin."""

Join = Literal["", "socket", "stdio", "stdio_unbuffered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The resources that a room may use. None: the language's default, otherwise the host's.

    cpu_s: CPU seconds of all its processes together. wall_s: seconds that it may spend idle (neither running nor
    runnable). memory_mb: of all processes and files together, MiB. processes: processes and threads. output_bytes:
    stdout and stderr together. disk_mb: files in its folders, MiB. open_files: descriptors of one process.
    """

    cpu_s: float | None = None
    wall_s: float | None = None
    memory_mb: int | None = None
    processes: int | None = None
    output_bytes: int | None = None
    disk_mb: int | None = None
    open_files: int | None = None

    def given(self) -> dict[str, Any]:
        """Returns the limits that are set."""
        return {name: value for name in LIMITS if (value := getattr(self, name)) is not None}


LIMITS = tuple(limit.name for limit in fields(Limits))
WHOLE_LIMITS = frozenset(LIMITS) - {"cpu_s", "wall_s"}
"""The limits that are whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Source text in a language of the registry, with other files (relative path to content). min_version: the oldest
    toolchain that can run it, such as `1.21`; the host refuses the job if its own is older. flags: additional compiler
    flags, such as `-O3`, that the language's row allows.
    """

    language: str
    code: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    args: Sequence[str] = ()
    mode: Mode = "script"
    limits: Limits = Limits()
    min_version: str = ""
    flags: Sequence[str] = ()


def source(text: str) -> bytes:
    """Returns a program's text as the bytes of its file. Lone surrogates are kept: the model wrote them, so the
    compiler must refuse them.
    """
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run of the program. `request`: the input of its mode. Files are added to the program's own."""

    stdin: bytes = b""
    request: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    args: Sequence[str] = ()
    limits: Limits = Limits()
    partner_stdin: bytes = b""
    partner_request: bytes = b""
    partner_files: Mapping[str, bytes] = field(default_factory=dict)
    partner_args: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """See the module. `join`: `socket` gives each room one end of a socketpair as descriptor 3; `stdio` connects the
    partner's stdout to the program's stdin and vice versa; `stdio_unbuffered` also disables the buffering of the
    program's stdout, if the language's library has any. `collect`: files of the working folders to include in the
    report of a program that exits by itself, `name/` for all files of a folder; their total size is bounded like
    output. `rejecting`: exit codes of the partner that end the program at once. `once`: the limits apply as they are,
    and no run is repeated to find out whether the host was slow; for callers that cannot wait longer. `patience_s`: the
    longest wait for a room, in seconds; None: the host's setting; infinite: as long as the host can make rooms.
    """

    program: Program
    cases: Sequence[Case] = (Case(),)
    partner: Program | None = None
    join: Join = ""
    rejecting: Sequence[int] = ()
    once: bool = False
    compile_limits: Limits = Limits()
    collect: Sequence[str] = ()
    patience_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report of how one room ended.

    limit: the limit that was hit. exit_code: None if a signal or a limit ended it. reply: the output of the mode on its
    own channel. Times are in seconds: cpu_time of all its processes together; wall_time since it started; idle_time,
    the part in which it was neither running nor runnable. peak_memory: bytes, None if it is not measured. truncated:
    output was cut at its limit. enforced: each limit and its mechanism here (`cgroup`, `rlimit`, `tmpfs`, `polled`,
    `per_process`, `supervisor`, `no`). flags: `rerun` (the time of an earlier run was uncertain), `starved` (the host
    had no CPU for it: the status is `internal_error`, and its output so far is kept).
    """

    status: RunStatus
    limit: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    reply: bytes = b""
    cpu_time: float = 0.0
    wall_time: float = 0.0
    idle_time: float = 0.0
    peak_memory: int | None = None
    truncated: bool = False
    files: Mapping[str, bytes] = field(default_factory=dict)
    enforced: Mapping[str, str] = field(default_factory=dict)
    flags: Sequence[str] = ()
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The reports of one case. `partner` is None if the job has none. `earlier`: runs of the same case whose time was
    uncertain, if they ended differently or with other output than this one.
    """

    index: int
    program: Report
    partner: Report | None = None
    earlier: Sequence[CaseResult] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileResult:
    """The result of a compilation. If it is not `ok`, no case runs and no case result follows."""

    report: Report
    who: Literal["program", "partner"] = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The usage of a session, a box or an exec so far. cpu_s: CPU seconds of all its processes together. idle_s:
    seconds in which none of its processes was running or runnable. memory: bytes that it holds now and that the kernel
    cannot reclaim; shared pages count once per process. None if it is not measured. Only for a whole box: disk, the
    bytes of its files, and processes, their number; its idle_s is 0. Only for a box with a network, each as
    `HOST:PORT`: unserved, requests that its rules allow and that could not be served, also those that still wait;
    refused, requests that its rules do not allow.
    """

    cpu_s: float
    idle_s: float
    memory: int | None = None
    disk: int | None = None
    processes: int | None = None
    unserved: Sequence[str] = ()
    refused: Sequence[str] = ()


JobEvent = CompileResult | CaseResult
