"""Requests to the host, and its answers: frozen dataclasses, with checks where they arrive.

A *job* is a program, compiled once, and the cases on which it runs, each in a room of its own. A *session* is a program
that runs once, fed and read while it does. A *partner* is a second
program, in a second room of the same slot, joined to the first; both rooms are taken together. A *report* says how
one room ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

RunStatus = Literal[
    "ok", "runtime_error", "time_limit", "memory_limit", "output_limit", "compile_error", "internal_error"
]
"""`ok`: it ended by itself with exit code 0. `runtime_error`: another exit code, or a signal. `…_limit`: it was killed
at that limit. `compile_error`: there is nothing to run. `internal_error`: ours; says nothing about the program."""

Mode = Literal["script", "serve", "tests", "call", "shared"]
"""The mode in which a program is run. `script`: as the language's registry row says. The others: for Python see
`rewarden_sandboxes.agent.modes`. A program of another language is run as its row says, with the mode's descriptors,
and follows the mode by itself; its request comes by stdin."""

Join = Literal["", "socket", "stdio", "stdio_unbuffered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The resources that a room may use. None: the language's default, then the host's.

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
        """Returns those that are set."""
        return {name: value for name in LIMITS if (value := getattr(self, name)) is not None}


LIMITS = tuple(limit.name for limit in fields(Limits))
WHOLE_LIMITS = frozenset(LIMITS) - {"cpu_s", "wall_s"}
"""The limits that are whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Source text in a language of the registry, and files beside it (relative path to content). min_version: the
    oldest toolchain that can run it, such as `1.21`; the host refuses the job where its own is older. flags: further
    flags of its compilation, such as `-O3`, that the language's row allows.
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
    """A program's text as its file holds it. Half of a surrogate pair stays: to refuse it is the compiler's business,
    since the model wrote it."""
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run of the program. `request` is what its mode reads; files are added to the program's own."""

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
    """See the module. `join`: `socket` gives both rooms one end of a socketpair as descriptor 3; `stdio` joins the
    partner's stdout to the program's stdin and the other way round; `stdio_unbuffered` does the same, and takes the
    buffer from the program's stdout where the language's library has one. `collect`: files of the working folders that
    the reports of a program that ended by itself have, `name/` for all files of a folder; together they are bounded
    as output is. `rejecting`: the partner's exit codes that end the
    program at once. `once`: its limits are the limits, and no run is repeated to see whether the host was slow: for
    callers who wait no longer. `patience_s`: how long it may wait for a room, in
    seconds; None: as the host says; infinite: as long as the host can make rooms.
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

    limit: the limit that was hit. exit_code: None where a signal or a limit ended it. reply: what the mode wrote to
    its own channel. Times in seconds: cpu_time of all its processes together, wall_time since it started, idle_time
    of which it was neither running nor runnable. peak_memory: bytes, None where nothing measures it. truncated:
    output was cut at its limit. enforced: each limit to what holds it here (`cgroup`, `rlimit`, `tmpfs`, `polled`,
    `per_process`, `supervisor`, `no`). flags: `rerun` (an earlier run said nothing certain of its time), `starved` (the
    host had no CPU for it: `internal_error`, and what it printed by then is there).
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
    """The reports of one case. `partner` is None where the job has none. `earlier`: runs of the same case that said
    nothing certain of their time, where they ended in another way or with other output than this one.
    """

    index: int
    program: Report
    partner: Report | None = None
    earlier: Sequence[CaseResult] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileResult:
    """The result of a compilation. When it is no `ok`, no case runs and no case result comes."""

    report: Report
    who: Literal["program", "partner"] = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The usage of a session, a box or an exec so far. cpu_s: CPU seconds of all its processes together. idle_s:
    seconds in which nothing of it ran or was runnable. memory: bytes that it holds now and that cannot be taken
    back from it; what processes share counts for each. None where nothing says so. Of a whole box: disk, bytes of
    its files, and processes, how many it has; idle_s is 0 there.
    """

    cpu_s: float
    idle_s: float
    memory: int | None = None
    disk: int | None = None
    processes: int | None = None


JobEvent = CompileResult | CaseResult
