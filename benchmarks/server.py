"""A real server in a separate process, for benchmarks: `rewarden serve` on free loopback ports."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Served:
    """The addresses on which a server listens, and its process id."""

    http: str
    grpc: str
    pid: int

    def resident_mb(self) -> float:
        """Returns the resident memory of the server and its workers, in MB; shared pages count once per process."""
        total = 0
        for pid in (self.pid, *descendants(self.pid)):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", encoding="ascii") as file:
                total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return total / 1024**2

    def own_resident_mb(self) -> float:
        """Returns the resident memory of the server's own process, in MB."""
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024**2

    def cpu_seconds(self) -> float:
        """Returns the CPU time of the server's own process, all its threads together."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def descriptors(self) -> int:
        """Returns the number of open descriptors of the server's own process."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def processes(self) -> int:
        """Returns the server's processes."""
        return 1 + len(descendants(self.pid))


def children(pid: int) -> list[int]:
    """Returns the live child processes of a process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """Returns the processes below a process, of all generations."""
    below = children(pid)
    return [*below, *(deeper for child in below for deeper in descendants(child))]


@contextlib.contextmanager
def served(**environment: str) -> Iterator[Served]:
    """Starts a server with these settings in its environment; SIGTERM ends it."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [
            sys.executable,
            "-m",
            "rewarden",
            "serve",
            "--port",
            "0",
            "--grpc-port",
            "0",
            "--ready-file",
            str(ready),
        ]
        settings = {"REWARDEN_LOGS_LEVEL": "warning", "REWARDEN_RUNS_DIR": str(Path(folder) / "runs"), **environment}
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError("the server did not start; its messages are on stderr")
                time.sleep(0.05)
            found = json.loads(ready.read_text())
            yield Served(found["http"], found["grpc"], process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
