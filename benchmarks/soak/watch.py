"""Resources of the services: memory, descriptors, processes, containers, cgroups, temporary files; read from /proc."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.server import descendants
from benchmarks.soak.services import Services
from rewarden_sandboxes.launchers.launcher import LABEL

_PAGE = os.sysconf("SC_PAGE_SIZE")
_GROUPS = Path("/sys/fs/cgroup")

PARTS = ("server", "workers", "hosts", "slots")


@dataclass(frozen=True, slots=True)
class Holding:
    """The resources held at one moment. `memory`: resident MB of the server itself, its workers, the hosts themselves
    and the processes in their slots; shared pages count once per process. Services that were ended or killed count too:
    `processes: strays` are processes of theirs that outlived them. `under_way`: the server's own metrics of work in
    progress, which are zero at rest.
    """

    memory: dict[str, float]
    processes: dict[str, int]
    descriptors: dict[str, int]
    containers: int
    cgroups: int
    files: int
    under_way: dict[str, int]

    def counts(self) -> dict[str, int]:
        """Returns all counts, by name."""
        named = {f"processes: {part}": count for part, count in self.processes.items()}
        named |= {f"descriptors: {part}": count for part, count in self.descriptors.items()}
        return named | {"containers": self.containers, "cgroups": self.cgroups, "temporary files": self.files}


def holding(services: Services) -> Holding:
    """Returns what the services hold now."""
    server = services.server.pid
    hosts = [host.pid for host in services.hosts]
    containers, groups = left(services)
    inside = {pid for host in hosts for pid in descendants(host)} | set(_inside(containers))
    parts = {"server": [server], "workers": descendants(server), "hosts": hosts, "slots": sorted(inside)}
    known = {pid for pids in parts.values() for pid in pids}
    return Holding(
        memory={part: sum(map(_resident, pids)) / 1024**2 for part, pids in parts.items()},
        processes={
            **{part: len(parts[part]) for part in ("workers", "slots")},
            "strays": len(set(processes(services)) - known),
        },
        descriptors={part: sum(map(_descriptors, parts[part])) for part in ("server", "hosts")},
        containers=len(containers),
        cgroups=groups,
        files=files(services),
        under_way=_under_way(services),
    )


def left(services: Services) -> tuple[list[str], int]:
    """Returns the containers, and the number of cgroups, of all hosts that ever ran, including killed ones."""
    pids = [pid for host in services.hosts for pid in host.pids]
    containers = [each for pid in pids for each in _containers(pid)]
    return containers, _cgroups([*containers, *(f"rewarden-{pid}-" for pid in pids)])


def processes(services: Services) -> list[int]:
    """Returns the processes that use the services' own folder for temporary files: the services and their children."""
    mark = f"TMPDIR={services.temporary}\0".encode()
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and mark in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(int(entry))
    return found


def files(services: Services) -> int:
    """Returns the number of temporary files and folders."""
    return sum(1 for _ in services.temporary.rglob("*"))


_BUSY = "busy slots"
_UNDER_WAY = ("rewarden_samples_under_way", "rewarden_lane_depth", "rewarden_sandbox_waiting")


def _under_way(services: Services) -> dict[str, int]:
    """Returns the samples and runs in progress and the busy slots, from the server's own metrics."""
    found = dict.fromkeys((*_UNDER_WAY, "rewarden_sandbox_host_in_flight", _BUSY), 0)
    for family in text_string_to_metric_families(httpx.get(f"{services.http}/metrics", timeout=30.0).text):
        for sample in family.samples:
            name = sample.name
            if name == "rewarden_sandbox_slots":
                name = _BUSY if sample.labels["state"] == "busy" else ""
            if name in found:
                found[name] += int(sample.value)
    return found


def memory(services: Services) -> dict[str, float]:
    """Returns what is cheap to read every few seconds: memory without the slots."""
    server = services.server.pid
    parts = {"server": [server], "workers": descendants(server), "hosts": [host.pid for host in services.hosts]}
    return {part: sum(map(_resident, pids)) / 1024**2 for part, pids in parts.items()}


def slope(points: list[tuple[float, float]]) -> float:
    """Returns the least-squares slope of the second over the first."""
    if len(points) < 2:
        return 0.0
    x = sum(point[0] for point in points) / len(points)
    y = sum(point[1] for point in points) / len(points)
    spread = sum((point[0] - x) ** 2 for point in points)
    return sum((point[0] - x) * (point[1] - y) for point in points) / spread if spread else 0.0


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except OSError:
        return 0


def _descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _containers(host: int) -> list[str]:
    """Returns the ids of a host's containers; none if there is no engine."""
    try:
        command = ["docker", "ps", "-aq", "--no-trunc", "--filter", f"label={LABEL}={host}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return []


def _inside(containers: Iterable[str]) -> list[int]:
    """Returns the processes of containers."""
    marks = list(containers)
    found = []
    for entry in os.listdir("/proc") if marks else ():
        with contextlib.suppress(OSError):
            if entry.isdigit():
                group = Path(f"/proc/{entry}/cgroup").read_text(encoding="utf-8", errors="replace")
                if any(mark in group for mark in marks):
                    found.append(int(entry))
    return found


def _cgroups(marks: list[str]) -> int:
    """Returns the folders of cgroups whose path has one of these texts."""
    return sum(any(mark in folder for mark in marks) for folder, _, _ in os.walk(_GROUPS))
