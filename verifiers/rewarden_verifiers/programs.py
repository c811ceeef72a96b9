"""A verifier's requests to a sandbox, and the answers to them. `ctx.sandbox` is a `Sandbox`.

The fields mean what they mean in `rewarden_sandboxes.job`, which verifiers do not import: the server's lane converts.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from rewarden.types import Limits

RunStatus = Literal[
    "ok", "runtime_error", "time_limit", "memory_limit", "output_limit", "compile_error", "internal_error"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Source text in a language of the sandbox's registry. `mode`: see `rewarden_sandboxes.agent.modes`."""

    language: str
    code: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    args: Sequence[str] = ()
    mode: Literal["script", "serve", "tests", "call", "shared"] = "script"
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run, in a room of its own."""

    stdin: bytes = b""
    request: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    args: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    partner_stdin: bytes = b""
    partner_request: bytes = b""
    partner_files: Mapping[str, bytes] = field(default_factory=dict)
    partner_args: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program, compiled once, and its cases; a partner's room is taken together with the program's."""

    program: Program
    cases: Sequence[Case]
    partner: Program | None = None
    join: Literal["", "socket", "stdio"] = ""
    compile_limits: Limits = field(default_factory=Limits)
    collect: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The end of one room; see `rewarden_sandboxes.job.Report`."""

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
    """The reports of one case."""

    index: int
    program: Report
    partner: Report | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileResult:
    """The end of a compilation; when it is no `ok`, no case ran."""

    report: Report
    who: Literal["program", "partner"] = "program"


class Sandbox(Protocol):
    """Runs programs in locked rooms. Inherits the request's deadline and cancellation."""

    def run(self, job: Job) -> AsyncGenerator[CompileResult | CaseResult, None]:
        """The results of a job's cases, in order, as they end; before them the compilation's.

        Closing the iterator early kills what still runs. Raises SandboxError where no room could be had or the host
        broke, and InvalidSample for an unknown language or a malformed job. A report with status `internal_error`
        is ours: raise SandboxError for it.
        """
