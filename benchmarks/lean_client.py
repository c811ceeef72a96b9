"""`lean_client`: a warm `lean --worker` with our client, with the package leanclient, and a new `lean` for each text.

Runs only if it is named, because it needs a package that nothing else here uses: `pip install leanclient`, and
`make lean`. All three run outside any sandbox and alternate text by text, so that other load affects them alike. Then
come a text that never ends and one whose memory only grows; leanclient limits neither, except by a timeout.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.lean import KINDS
from benchmarks.lean_load import HEADER, small
from benchmarks.report import Report
from benchmarks.sandbox_cost import descendants
from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Clock
from rewarden_sandboxes.job import Report as Ending
from rewarden_server.lean.process import Bounds, Ended, Process
from tests.lean.endless import HANGING, HUNGRY
from tests.lean.toolchain import Library, build, toolchain

_TEXTS = 12
_LIMIT_S = 2.0
_AMPLE = Bounds(cpu_s=60.0, wall_s=60.0, output_bytes=1 << 24)
_TICK = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_OPTION = "-Dserver.reportDelayMs=0"


class Unlocked:
    """A worker outside a room, as a session of `rewarden_server.lean.process`."""

    report: Ending | None = None
    host_lost = False

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child

    @classmethod
    async def start(cls, library: Library) -> Unlocked:
        """Returns the session of a worker that has just started."""
        child = await asyncio.create_subprocess_exec(
            str(library.toolchain / "bin/lean"),
            "--worker",
            _OPTION,
            "file:///Main.lean",
            env={"LEAN_PATH": str(library.built), "PATH": os.defpath},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return cls(child)

    async def send(self, data: bytes) -> None:
        """Sends; see `Session`."""
        assert self.child.stdin is not None
        self.child.stdin.write(data)
        await self.child.stdin.drain()

    async def receive(self) -> bytes:
        """Receives; see `Session`."""
        assert self.child.stdout is not None
        return await self.child.stdout.read(1 << 16)

    async def clock(self) -> Clock:
        """Reads the clock; see `Session`."""
        try:
            return Clock(cpu_s=_cpu([self.child.pid]), idle_s=0.0, memory=_held([self.child.pid]))
        except OSError:
            raise SandboxError("the worker has exited") from None

    async def close(self) -> None:
        """Ends the worker; see `Session`."""
        if self.child.returncode is None:
            self.child.kill()
            await self.child.wait()


@dataclass(slots=True)
class Costs:
    """Seconds for each text. wall: until its messages arrived; client: CPU of this process."""

    wall: list[float] = field(default_factory=list)
    client: list[float] = field(default_factory=list)

    async def of(self, work: Awaitable[Any]) -> Any:
        """Returns the result of the work, and keeps its costs."""
        start, own = time.perf_counter(), time.process_time()
        result = await work
        self.wall.append(time.perf_counter() - start)
        self.client.append(time.process_time() - own)
        return result


def _cpu(pids: list[int]) -> float:
    """Returns the CPU seconds that processes have used."""
    fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum((int(each[11]) + int(each[12])) * _TICK for each in fields)


def _held(pids: list[int]) -> int:
    """Returns the bytes that processes hold; shared memory counts for each."""
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE for pid in pids)


def _below() -> list[int]:
    return list(descendants(os.getpid()))


def _cold(library: Library, folder: Path, text: str) -> None:
    (folder / "Cold.lean").write_text(HEADER + text, encoding="utf-8")
    ended = library.lean("Cold.lean", folder=folder)
    assert ended.returncode == 0, ended.stdout


async def _started(library: Library) -> tuple[Process, Unlocked]:
    session = await Unlocked.start(library)
    process = Process(session)
    await process.open(HEADER, _AMPLE)
    return process, session


async def _texts(report: Report, library: Library, folder: Path, process: Process, pool: Any) -> None:
    """Measures texts that end, twelve of each kind."""
    for kind, made in KINDS.items():
        ours, theirs, cold = Costs(), Costs(), Costs()
        for number in range(_TEXTS):
            text = made(1000 + number)
            await cold.of(asyncio.to_thread(_cold, library, folder, text))
            await ours.of(process.elaborate(HEADER + text, _AMPLE))
            assert process.diagnostics == []
            told = await theirs.of(pool.run(text))
            assert told.body_diagnostics == [], told
        warm = statistics.median(ours.wall)
        report.figure(f"{kind}: our code", 1e3 * warm, "ms")
        report.figure("   leanclient, times that", statistics.median(theirs.wall) / warm, "x")
        report.figure("   `lean` started for each, times that", statistics.median(cold.wall) / warm, "x")
        report.figure("   leanclient's CPU in this process, times ours", sum(theirs.client) / sum(ours.client), "x")
    broken = "theorem bad (p : Prop) : p := by\n  exact nothing\n"
    await process.elaborate(HEADER + broken, _AMPLE)
    told = await pool.run(broken)
    same = [each.message for each in process.diagnostics] == [each["message"] for each in told.body_diagnostics]
    report.figure("a wrong text has the same messages from both", int(same), least=1)


async def _endless(report: Report, library: Library, process: Process, client: Any, pool: Any) -> None:
    """Measures an endless text, for two seconds of CPU (ours) or of wall time (leanclient's), and the text after it."""
    start, used = time.perf_counter(), 0.0
    try:
        await process.elaborate(HEADER + HANGING, Bounds(cpu_s=_LIMIT_S, wall_s=60.0, output_bytes=1 << 24))
    except Ended:
        used = process.spent.cpu_s
        await process.close()
    report.figure("no end, our code: CPU when it was killed", used, "s")
    process, session = await _started(library)
    await process.elaborate(HEADER + small(1, 1), _AMPLE)
    report.figure("   the next text judged after", time.perf_counter() - start, "s")
    await session.close()

    from leanclient.aio.errors import LeanRequestTimeout

    pids, start = _below(), time.perf_counter()
    before = _cpu(pids)
    try:
        await pool.run(HANGING, timeout=_LIMIT_S)
    except LeanRequestTimeout:
        report.figure("no end, leanclient: CPU when it timed out", _cpu(pids) - before, "s")
    before = _cpu(pids)
    await asyncio.sleep(2)
    report.figure("   CPU in the 2 s after that", _cpu(pids) - before, "s")
    start = time.perf_counter()
    await pool.run(small(2, 1), timeout=60)
    report.figure("   the next text, which cancels it, judged after", time.perf_counter() - start, "s")

    growing = asyncio.ensure_future(pool.run(HUNGRY, timeout=8))
    most, before = 0, _held(pids)
    while not growing.done() and most < 1 << 30:
        await asyncio.sleep(0.05)
        most = max(most, _held(pids))
    await asyncio.gather(growing, return_exceptions=True)
    report.figure("no bound, leanclient: additional memory when it timed out", (most - before) / 2**20, "MiB")
    await pool.run(small(3, 1), timeout=60)
    report.figure("   additional memory when the next text was judged", (_held(pids) - before) / 2**20, "MiB")
    await client.close()


async def _run(report: Report, library: Library, folder: Path) -> None:
    from leanclient.aio import AsyncLeanLSPClient, ScratchPool

    start = time.perf_counter()
    process, session = await _started(library)
    report.figure("our code: from the start to the loaded header", 1e3 * (time.perf_counter() - start), "ms")
    os.environ["LEAN_PATH"] = str(library.built)  # leanclient passes on its whole environment
    start = time.perf_counter()
    command = [str(library.toolchain / "bin/lean"), "--server", _OPTION]  # leanclient starts `lake serve`
    client = AsyncLeanLSPClient(str(library.folder), server_command=command)
    await client.start()
    pool = ScratchPool(client, HEADER, size=1)
    await pool.warm()
    report.figure("leanclient: the same", 1e3 * (time.perf_counter() - start), "ms")
    theirs = [pid for pid in _below() if pid != session.child.pid]
    report.figure("our code: processes", 1)
    report.figure("leanclient: processes", len(theirs))
    report.figure("   memory, times that of our process", _held(theirs) / _held([session.child.pid]), "x")
    await _texts(report, library, folder, process, pool)
    await _endless(report, library, process, client, pool)
    report.figure("processes left behind", len(_below()), most=0)


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("lean_client: our code for a warm Lean process, and leanclient's")
    lean = toolchain()
    if lean is None or importlib.util.find_spec("leanclient") is None:
        print("   skipped: Lean for the tests (make lean) or leanclient (pip install leanclient) is missing")
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(_run(report, build(folder / "library", lean), folder))
    return report.broken
