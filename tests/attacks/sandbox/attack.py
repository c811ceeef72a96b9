"""An attack on the sandbox: a hostile program, how it must end, and its honest twin, which must work.

Programs that try things say `BREACH` and what it was for each thing that worked, and `HELD` when they have tried all.
Hostile processes call themselves `MARK`, so that the machine can be searched for what outlived its room.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rewarden_sandboxes.job import Case, Job, Limits, Program, RunStatus

MARK = f"rw-attack{os.getpid():06x}"
"""The name of the hostile processes of this run, so that two runs on a machine do not find each other's; at most 15
bytes, as the kernel keeps no more."""

CALL_ME = f'open("/proc/self/comm", "w").write("{MARK}")\n'
"""Python: take the name."""

SMALL = Limits(cpu_s=1.0, wall_s=0.6, memory_mb=128, processes=32, output_bytes=1 << 20, disk_mb=16, open_files=64)
"""The limits of attacks: whoever hits one hits it soon."""

ROOMY = Limits(cpu_s=10.0, wall_s=10.0, memory_mb=256, processes=32, output_bytes=1 << 20, disk_mb=16, open_files=64)
"""Of programs that must get to their end."""

NO_LIMITS = Limits()
"""As the language and the host have it."""

ENDED: tuple[RunStatus, ...] = (
    "ok", "runtime_error", "time_limit", "memory_limit", "output_limit", "compile_error"
)  # fmt: skip
"""Whatever is the program's own doing: anything but `internal_error`, which would go unscored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A program and how it must end.

    ends: the statuses that will do. limit: the limit that must be named. held: it must have tried everything, and
    nothing worked. says: what stdout must be. without_counters: the statuses that will do as well where no cgroup
    counts memory. twin: a program in the same language that does what is allowed; it must end `ok` and say `twin_says`.
    """

    title: str
    code: str
    language: str = "python"
    ends: Sequence[RunStatus] = ("ok",)
    limit: str | None = None
    held: bool = False
    says: bytes | None = None
    without_counters: Sequence[RunStatus] = ()
    limits: Limits = SMALL
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    collect: Sequence[str] = ()
    compile_limits: Limits = NO_LIMITS
    twin: str
    twin_says: bytes = b"fine\n"

    def __str__(self) -> str:
        return f"{self.language}: {self.title}"

    def job(self, code: str, limits: Limits) -> Job:
        """The program, or its twin, as a job."""
        return Job(
            program=Program(language=self.language, code=code.encode(), files=self.files, limits=limits),
            cases=[Case(stdin=self.stdin)],
            collect=self.collect,
            compile_limits=self.compile_limits,
        )
