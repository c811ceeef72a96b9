"""A scripted sandbox host behind the real service, for failures that a real one rarely has.

`python -m tests.server.hosts ADDRESS` serves one that answers as its programs' arguments say.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from rewarden_sandboxes.errors import NoRoom
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import CaseResult, Job, JobEvent, Report
from rewarden_sandboxes.service import make_server, serve
from tests.ports import free_port

Answer = Callable[[Job], AsyncGenerator[JobEvent, None]]

ENFORCED = {"cpu_s": "cgroup", "memory_mb": "no"}


async def as_told(job: Job) -> AsyncGenerator[JobEvent, None]:
    """Every case ends as the program's only argument says, a report's fields in JSON; without such it ends well."""
    if len(job.program.args) != 1 or not job.program.args[0].startswith('{"status":'):
        async for event in ok(job):
            yield event
        return
    for index in range(len(job.cases)):
        yield CaseResult(index=index, program=Report(**json.loads(job.program.args[0])))


async def ok(job: Job) -> AsyncGenerator[JobEvent, None]:
    """Every case ends well, and has written its input."""
    for index, case in enumerate(job.cases):
        report = Report(status="ok", exit_code=0, stdout=case.stdin, cpu_time=0.25, wall_time=0.5, enforced=ENFORCED)
        yield CaseResult(index=index, program=report)


class ScriptedHost:
    """Has `Host`'s face. `jobs`: what it was asked; `left`: set when a job's iterator was closed before its end."""

    def __init__(self, answer: Answer = ok) -> None:
        self.answer = answer
        self.jobs: list[Job] = []
        self.left = asyncio.Event()
        self.told: dict[str, Any] = {"ready": True, "reason": None, "launcher": "scripted", "enforced": ENFORCED}
        self.told |= {"slots": {"python": {"slots": 3, "idle": 1, "starting": 2}}, "waiting": 0}
        self.told |= {"compile_cache": {"hits": 5, "misses": 2, "evictions": 1, "entries": 1, "bytes": 900}}

    async def start(self) -> None:
        """Nothing is to be done."""

    def leave(self) -> None:
        """Nothing is to be done."""

    async def close(self) -> None:
        """Nothing is to be done."""

    async def run(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """As the script says."""
        self.jobs.append(job)
        try:
            async for event in self.answer(job):
                yield event
        except (GeneratorExit, asyncio.CancelledError):
            self.left.set()
            raise

    @asynccontextmanager
    async def box(self, spec: object, patience_s: float | None = None) -> AsyncIterator[Any]:
        """It has none."""
        raise NoRoom("a scripted host has no boxes")
        yield

    async def status(self, probe: bool = False) -> dict[str, Any]:
        """As the script says."""
        return {**self.told, **({"probe": {"ok": True, "reason": None}} if probe else {})}


@asynccontextmanager
async def serving(host: ScriptedHost, folder: Path, name: str = "host") -> AsyncIterator[str]:
    """Serve it; the address."""
    address = f"unix:{folder / name}.sock"
    server = make_server(cast(Host, host), address)
    await server.start()
    try:
        yield address
    finally:
        await server.stop(0)


class ScriptedProcess:
    """A scripted host in a process of its own; the address."""

    def __init__(self, folder: Path) -> None:
        self._address = f"unix:{folder}/scripted.sock"

    def __enter__(self) -> str:
        command = [sys.executable, "-m", "tests.server.hosts", self._address]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline()
        return self._address

    def __exit__(self, *exc: object) -> None:
        self._process.communicate()  # closes its input, with which it ends


if __name__ == "__main__":
    asyncio.run(serve(cast(Host, ScriptedHost(as_told)), sys.argv[1], tied=True))


def free_address() -> str:
    """HOST:PORT at which nobody listens."""
    return f"127.0.0.1:{free_port()}"
