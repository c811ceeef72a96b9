"""CPU time by consumer: the server, the sandbox host, its slots, the container engine, the whole machine."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import docker
import docker.errors
import requests.exceptions

from rewarden_sandboxes.cgroups import Cgroup
from rewarden_sandboxes.launchers.launcher import LABEL

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_ENGINE = ("dockerd", "containerd", "containerd-shim")


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds so far. `slots`: by cgroup; a slot that is replaced in between does not count. `engine`: Docker's
    processes, for any client. `machine`: all processes.
    """

    server: float
    host: float
    slots: dict[str, float]
    engine: float
    machine: float

    def since(self, before: Spent) -> dict[str, float]:
        """Returns the CPU seconds in between, by name."""
        slots = sum(value - before.slots[name] for name, value in self.slots.items() if name in before.slots)
        return {
            "server": self.server - before.server,
            "host": self.host - before.host,
            "slots": slots,
            "container engine": self.engine - before.engine,
            "machine": self.machine - before.machine,
        }


class Meter:
    """Reads the CPU of a server's parts. `server`: its process; its sandbox host is among its children."""

    def __init__(self, server: int, launcher: str) -> None:
        self._server = server
        self._launcher = launcher

    @property
    def host(self) -> int:
        """Returns the sandbox host's process, or 0."""
        for pid in children(self._server):
            with contextlib.suppress(OSError):
                if b"rewarden_sandboxes" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
        return 0

    def spent(self) -> Spent:
        """Returns the CPU seconds so far."""
        host = self.host
        groups: dict[str, float] = {}
        for pid in self._inside(host):
            group = Cgroup.of(pid)
            if group is not None:
                groups |= {str(folder): used for folder, used in _used(group)}
        # If slots have no group of their own, the host's group counts them twice.
        own = Cgroup.of(host)
        for folder, _ in _used(own) if own is not None else ():
            groups.pop(str(folder), None)
        engine = sum(_cpu(pid) for pid in _named(_ENGINE)) if self._launcher == "docker" else 0.0
        return Spent(_cpu(self._server), _cpu(host), groups, engine, _machine())

    def _inside(self, host: int) -> list[int]:
        """Returns one process of each slot."""
        if self._launcher == "bwrap":
            return descendants(host)
        try:
            with contextlib.closing(docker.DockerClient.from_env(timeout=10)) as client:
                found = client.containers.list(filters={"label": f"{LABEL}={host}"})
                return [int(each.attrs["State"]["Pid"]) for each in found]
        except (docker.errors.DockerException, requests.exceptions.RequestException):
            return []


def children(pid: int) -> list[int]:
    """Returns the children of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split())
    return found


def descendants(pid: int) -> list[int]:
    """Returns the children of a process and their descendants."""
    return [each for child in children(pid) for each in (child, *descendants(child))]


def _cpu(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK
    return 0.0


def _machine() -> float:
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq, *_ = map(int, fields)
    return (user + nice + system + irq + softirq) * _TICK


def _used(group: Cgroup) -> list[tuple[Path, float]]:
    for controller, file in (("cpuacct", "cpuacct.usage"), ("", "cpu.stat")):
        folder = group.folders.get(controller)
        if folder is None:
            continue
        with contextlib.suppress(OSError, ValueError):
            words = (folder / file).read_text(encoding="ascii").split()
            if file == "cpuacct.usage":
                return [(folder, int(words[0]) / 1e9)]
            return [(folder, int(words[words.index("usage_usec") + 1]) / 1e6)]
    return []


def _named(names: tuple[str, ...]) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if (folder / "comm").read_text(encoding="utf-8").strip().startswith(names):
                    found.append(int(folder.name))
    return found
