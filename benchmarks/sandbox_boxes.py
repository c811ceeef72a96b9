"""Boxes in the sandbox, on each launcher that this machine has: how long they take, and what an idle one holds.

Measured through the host's client over its socket, one after the other. "Opened" is from the call until the box is
there, with a slot held ready (`warm_boxes`), as for a rollout that begins now and then. Execs run in an open box: a new
`python3` and `sh`, and code in a clone of the warm interpreter. Cells run in the living interpreter of a notebook, one
for each language that the image has. Cold starts, of a bubblewrap and of a container with a
fresh `python3`, are measured between them, and the ratios are of medians in the same run. CPU is what the kernel counts
for the box, so that a busy machine does not change it; memory is the proportional set size of the slot's processes and
what the kernel charges its control group (as root), with what is cached for it, while nothing runs in it. Boxes at rest
are measured together: the memory of this process, in which the host, its server and its client are, and of all that it
started, before they were opened and when all of them rest, and the bytes of their files on the disk; a thousand are
computed from these. They are also woken, one after the other.
`REWARDEN_BENCH_LAUNCHERS=bwrap` selects one launcher, `REWARDEN_BENCH_RESTING=1000` the number of boxes at rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from benchmarks.report import Report
from benchmarks.sandbox_baselines import cold_bwrap, cold_docker
from rewarden_sandboxes.box import BoxSpec, Exec
from rewarden_sandboxes.cgroups import Cgroup
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Program
from rewarden_sandboxes.notebook import KernelFault, Notebook
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.service import make_server
from rewarden_sandboxes.settings import HostSettings

_TIMES = 10
_RESTING = int(os.environ.get("REWARDEN_BENCH_RESTING", "100"))
_CELLS = {"python": "print(1)", "bash": "echo 1", "javascript": "console.log(1)", "r": "cat(1)"}
_MOST_OUTPUT = 1 << 16
_EXECS = {
    "exec of a new python3 that prints": Exec(argv=("python3", "-c", "print(1)")),
    "exec of a shell": Exec(argv=("sh", "-c", "true")),
    "exec of code": Exec(program=Program(language="python", code=b"print(1)")),
}


def run() -> list[str]:
    """Runs the benchmark. Returns the broken promises."""
    report = Report("boxes of the sandbox")
    names = os.environ.get("REWARDEN_BENCH_LAUNCHERS", "bwrap docker").split()
    for name in names:
        asyncio.run(_of(report, name))
    return report.broken


async def _of(report: Report, launcher: str) -> None:
    cold = {"bwrap": cold_bwrap, "docker": cold_docker}[launcher]()
    async with _served(launcher, boxes=4, box_rest_s=0) as (host, client):
        held = await _figures(report, launcher, host, client, cold)
    async with _served(launcher, boxes=_RESTING, box_rest_s=1) as (host, client):
        await _at_rest(report, launcher, host, client, held)


@contextlib.asynccontextmanager
async def _served(launcher: Any, **settings: Any) -> AsyncIterator[tuple[Host, HostClient]]:
    """A host with its client, after its first box."""
    host = Host(HostSettings(launcher=launcher, slots=2, warm=1, warm_boxes=1, **settings))
    await host.start()
    with tempfile.TemporaryDirectory() as folder:
        server = make_server(host, f"unix:{folder}/socket")
        await server.start()
        client = HostClient(f"unix:{folder}/socket")
        try:
            await (await client.box(BoxSpec())).close()
            yield host, client
        finally:
            await client.close()
            await server.stop(0)
            await host.close()


async def _figures(
    report: Report, launcher: str, host: Host, client: HostClient, cold: Callable[[str], None] | None
) -> int:
    """Returns the bytes that an idle box's processes hold."""
    opened, starts = [], []
    execs: dict[str, list[float]] = {name: [] for name in _EXECS}
    for _ in range(_TIMES):
        await _ready(host)
        began = time.perf_counter()
        box = await client.box(BoxSpec())
        opened.append(time.perf_counter() - began)
        await _ready(host)  # the next slot's start is not part of what follows
        for name, what in _EXECS.items():
            began = time.perf_counter()
            await box.run(what)
            execs[name].append(time.perf_counter() - began)
        await box.close()
        if cold is not None:
            began = time.perf_counter()
            await asyncio.to_thread(cold, "print(1)")
            starts.append(time.perf_counter() - began)
    report.figure(f"{launcher}: box opened, p50", _ms(opened), "ms", most=60)
    report.figure(f"{launcher}: box opened, worst of {_TIMES}", 1000 * max(opened), "ms")
    for name, times in execs.items():
        report.figure(f"{launcher}: {name}, p50", _ms(times), "ms", most=40)
    if starts:
        report.figure(f"{launcher}: cold start, p50", _ms(starts), "ms")
        report.figure(f"{launcher}: cold starts in one box opened", _ms(starts) / _ms(opened), "x")
        report.figure(
            f"{launcher}: cold starts in one exec", _ms(starts) / _ms(execs["exec of a new python3 that prints"]), "x"
        )
    for kernel, code in _CELLS.items():
        times = await _cells(client, kernel, code)
        if times:
            most = 5 if kernel == "python" else None
            report.figure(f"{launcher}: cell that prints, {kernel}, p50", _ms(times), "ms", most=most)
            new = _ms(execs["exec of a shell" if kernel == "bash" else "exec of a new python3 that prints"])
            least = {"python": 3, "bash": 2}.get(kernel)
            report.figure(f"{launcher}: new processes in one cell, {kernel}", new / _ms(times), "x", least=least)
    async with await client.box(BoxSpec()) as box:
        report.figure(f"{launcher}: CPU of opening a box", 1000 * (await box.clock()).cpu_s, "ms")
        held, charged = _memory(await _processes(box))
        report.figure(f"{launcher}: an idle box's processes hold, before it rests", held / 2**20, "MiB", most=45)
        if charged is not None:
            report.figure(f"{launcher}: its control group is charged", charged / 2**20, "MiB")
    return held


async def _at_rest(report: Report, launcher: str, host: Host, client: HostClient, held: int) -> None:
    """held: the bytes of the processes of an idle box that does not rest."""
    began = await _whole(host)
    boxes = []
    for _ in range(_RESTING):
        boxes.append(await client.box(BoxSpec()))
        await boxes[-1].run(Exec(argv=("sh", "-c", "echo some of its own > file")))
    while (await host.status())["boxes"]["resting"] < _RESTING:
        await asyncio.sleep(0.1)
    cost = (await _whole(host) - began) / _RESTING
    report.figure(f"{launcher}: memory of a box at rest, one of {_RESTING}", cost / 2**20, "MiB", most=1)
    report.figure(f"{launcher}: a thousand boxes at rest would hold", 1000 * cost / 2**30, "GiB", most=1)
    report.figure(f"{launcher}: boxes at rest in one that does not rest", held / cost, "x", least=20)
    kept = sum(path.stat().st_size for path in host.folder.glob("rest-*"))
    report.figure(f"{launcher}: disk of a box at rest", kept / _RESTING / 2**20, "MiB", most=1)
    woken = []
    for box in boxes[:_TIMES]:
        await _ready(host)
        start = time.perf_counter()
        await box.run(Exec(argv=("sh", "-c", "true")))
        woken.append(time.perf_counter() - start)
    report.figure(f"{launcher}: exec of a shell in a box at rest, p50", _ms(woken), "ms")
    for box in boxes:
        await box.close()


async def _whole(host: Host) -> int:
    """Bytes that this process and all that it started hold, when one slot is ready for a box."""
    await _ready(host)
    gc.collect()
    pids = [os.getpid()]
    for pid in pids:
        pids += [child for child in _pids() if _parent(child) == pid]
    return _memory(pids)[0]


async def _cells(client: HostClient, kernel: str, code: str) -> list[float]:
    """Returns the seconds of each cell after the first; none if the image has no such kernel."""
    async with await client.box(BoxSpec(image="toolchains")) as box:
        try:
            notebook = await Notebook.open(box, kernel)
        except KernelFault:
            return []
        times = []
        for _ in range(1 + 3 * _TIMES):
            began = time.perf_counter()
            await notebook.run(code, timeout_s=60, output_bytes=_MOST_OUTPUT)
            times.append(time.perf_counter() - began)
        await notebook.close()
        return times[1:]


async def _processes(box: RemoteBox) -> list[int]:
    """The processes of a box's slot that remain when nothing runs in it: the family of its supervisor."""
    sleeper = await box.exec(Exec(argv=("sleep", "271828")))
    try:
        while not (found := [pid for pid in _pids() if _read(pid, "cmdline") == b"sleep\x00271828\x00"]):
            await asyncio.sleep(0.01)
        supervisor = _parent(found[0])
    finally:
        await sleeper.close()
    return [supervisor, *(pid for pid in _pids() if _parent(pid) == supervisor and pid != found[0])]


def _memory(processes: list[int]) -> tuple[int, int | None]:
    """Bytes that processes hold, and that their control group is charged."""
    group = Cgroup.of(processes[0])
    counters = group.counters() if group is not None else {}
    charged = int(os.pread(counters["usage"], 32, 0)) if "usage" in counters else None
    for number in counters.values():
        os.close(number)
    rows = [_read(pid, "smaps_rollup").split() for pid in processes]
    return sum(int(row[row.index(b"Pss:") + 1]) << 10 for row in rows if b"Pss:" in row), charged


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


async def _ready(host: Host) -> None:
    """Wait for a slot that is held ready."""
    while not any("boxes" in name and pool["idle"] for name, pool in (await host.status())["slots"].items()):
        await asyncio.sleep(0.005)


def _ms(times: list[float]) -> float:
    return 1000 * statistics.median(times)
