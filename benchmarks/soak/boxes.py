"""Many boxes for a long time while the server, hosts and single boxes are killed: `python -m benchmarks.soak.boxes`.

So many callers work at once, each with a box of its own: it writes a secret, reads it back by a program and a cell of
a notebook, has the box judged, and closes it. All that a caller may see is the right answer, or an error that says that
the box or its server was lost; anything else is invented. At the end no box, process, container, control group or
temporary file may be left.

    python -m benchmarks.soak.boxes --minutes 1 --boxes 10 --launcher bwrap
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.report import Report
from benchmarks.soak.services import Services, services
from benchmarks.soak.watch import files, left, processes
from rewarden import AsyncClient
from rewarden.boxes.box import AsyncBox
from rewarden.errors import BoxEnded, NoRoom, NotebookEnded, NotFound, RequestError, Unavailable
from rewarden_sandboxes.probing import clean

TURNS = 5
LIMITS = {"memory_mb": 128, "disk_mb": 32}
SETTLE_S = 10.0
"""Seconds between two disturbances."""

INFRA = ("host_lost", "slot_lost", "draining", "expired", "idle")
TTL_S = 300.0


class Callers:
    """The callers, and what they saw. servers: the number of servers that were started."""

    def __init__(self, target: str, count: int) -> None:
        self._client = AsyncClient(target)
        self._ended = False
        self.servers = 1
        self.seen: Counter[str] = Counter()
        self.invented: list[str] = []
        self._tasks = [asyncio.create_task(self._work()) for _ in range(count)]

    async def close(self) -> None:
        """Lets each caller finish its box."""
        self._ended = True
        await asyncio.gather(*self._tasks)
        boxes = []
        for _ in range(60):
            boxes = await self._client.boxes()
            if not boxes:
                break
            await asyncio.sleep(1)
        self.seen["boxes left"] = len(boxes)
        await self._client.close()

    async def _work(self) -> None:
        while not self._ended:
            servers = self.servers
            try:
                async with self._client.box(limits=LIMITS, ttl_s=TTL_S, idle_s=60) as box:
                    await self._episode(box)
                self.seen["episodes"] += 1
            except RequestError as error:
                self._lost(error, servers)
                await asyncio.sleep(0.5)
            except Exception as error:  # noqa: BLE001 - a caller goes on, and what it saw is reported
                self.invented.append(f"{type(error).__name__}: {error}"[:500])

    def _lost(self, error: RequestError, servers: int) -> None:
        reason = error.details.get("reason")
        fault = error.details.get("fault")
        forgotten = isinstance(error, NotFound) and self.servers > servers  # by a server that was killed
        lost = isinstance(error, BoxEnded) and reason in INFRA
        if (
            lost
            or forgotten
            or isinstance(error, (Unavailable, NoRoom))
            or (isinstance(error, NotebookEnded) and fault == "infra")
        ):
            self.seen[f"{error.code}: {reason or fault or ''}"] += 1
        else:
            self.invented.append(f"{error.code}: {error.message} {dict(error.details)}"[:500])

    async def _episode(self, box: AsyncBox) -> None:
        secret = secrets.token_hex(8)
        await box.write("secret", secret)
        notebook = await box.notebook("bash")
        await notebook.run("count=0")
        for turn in range(1, TURNS + 1):
            result = await box.exec(["cat", "secret"])
            self._check((result.status, result.stdout), ("ok", secret))
            cell = await notebook.run('count=$((count + 1)); echo "$count $(cat secret)"')
            self._check((cell.status, cell.text), ("ok", f"{turn} {secret}\n"))
        number = str(int(secret, 16))
        await box.write("answer.txt", f"\\boxed{{{number}}}")
        for reference, score in ((number, 1.0), (number + "1", 0.0)):
            verdict = await box.score("math", response_file="answer.txt", reference=reference)
            if verdict.score is None:
                self.seen["verdicts: not scored"] += 1
            else:
                self._check(verdict.score, score)

    def _check(self, found: object, right: object) -> None:
        self.seen["answers"] += 1
        if found != right:
            if isinstance(found, tuple) and found[0] == "internal_error":
                self.seen["internal_error"] += 1
            else:
                self.invented.append(f"{found!r} instead of {right!r}"[:500])


def disturbances(running: Services, callers: Callers, rng: random.Random) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yields what is killed, in turn, and how."""

    def server() -> None:
        callers.servers += 1
        running.server.end(signal.SIGKILL)
        running.server.begin()

    def host() -> None:
        one = rng.choice(running.hosts)
        one.end(signal.SIGKILL)
        one.begin()

    def boxes() -> None:
        containers, _ = left(running)
        for container in rng.sample(containers, min(3, len(containers))):
            subprocess.run(["docker", "kill", container], capture_output=True, check=False)
        children = [pid for each in running.hosts for pid in _children(each.pid)] if not containers else []
        for pid in rng.sample(children, min(3, len(children))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    yield from itertools.cycle((("boxes", boxes), ("a host", host), ("boxes", boxes), ("the server", server)))


def _children(parent: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, IndexError):
            if name.isdigit():
                fields = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
                if int(fields.split()[1]) == parent:
                    found.append(int(name))
    return found


async def soak(running: Services, count: int, minutes: float, report: Report) -> None:
    """Runs it, and reports what the callers saw."""
    callers = Callers(running.http, count)
    rng = random.Random(1)
    end = time.monotonic() + 60 * minutes
    for name, disturb in disturbances(running, callers, rng):
        await asyncio.sleep(min(SETTLE_S, max(0.0, end - time.monotonic())))
        if time.monotonic() >= end:
            break
        await asyncio.to_thread(disturb)
        took = await asyncio.to_thread(running.wait_ready)
        callers.seen[f"killed: {name}"] += 1
        print(f"   … killed {name}; ready after {took:.1f} s; {dict(callers.seen)}", flush=True)
    await callers.close()
    for what, times in sorted(callers.seen.items()):
        report.figure(what, times, most=0 if what == "boxes left" else None)
    report.figure("invented", len(callers.invented), most=0)
    report.figure("episodes", callers.seen["episodes"], least=1)
    for text in callers.invented[:20]:
        print(f"      {text}")


def main() -> int:
    """Runs the soak and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak.boxes", description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="total minutes (default: 10)")
    parser.add_argument("--boxes", type=int, default=200, help="boxes at once (default: 200, which take 7 GB)")
    parser.add_argument("--launcher", default="auto", choices=("auto", "docker", "bwrap"), help="launcher of the hosts")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the services end with us
    report = Report(f"soak of boxes: {args.minutes:g} minutes, {args.boxes} callers with a box each")
    told = {
        "REWARDEN_SANDBOX_BOXES": str(args.boxes),
        "REWARDEN_BOXES_PER_KEY": str(4 * args.boxes),
        "REWARDEN_BOXES_EXECS_PER_KEY": str(4 * args.boxes),
        "REWARDEN_BOXES_MEMORY_MB_PER_KEY": str(4 * args.boxes * LIMITS["memory_mb"]),
        "REWARDEN_BOXES_DISK_MB_PER_KEY": str(4 * args.boxes * LIMITS["disk_mb"]),
    }
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        folder = Path(place)
        folder.chmod(0o711)  # slots run as other users, who need to traverse it
        with services(folder, args.launcher, 2, told) as running:
            asyncio.run(soak(running, args.boxes, args.minutes, report))
        clean()  # as `rewarden doctor --clean` does with what killed hosts could not remove
        containers, groups = left(running)
        for what, count in (
            ("containers", len(containers)),
            ("cgroups", groups),
            ("processes", len(processes(running))),
            ("temporary files", files(running)),
        ):
            report.figure(f"after the end: {what}", count, most=0)
        if report.broken:
            for log in sorted(folder.glob("*.log")):
                print(f"   {log.name}: {log.read_text(errors='replace')[-3000:]}")
    print("\nall promises kept" if not report.broken else f"\nNOT KEPT: {', '.join(report.broken)}")
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main())
