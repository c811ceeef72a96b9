"""Control groups, versions 1 and 2: finds a container's, makes a slot's own, and opens their counters.

The slot's supervisor receives the open files and reads them without going through the host. Because the host opened
them, an unprivileged supervisor can set the memory limit of its runs.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = "rewarden"
"""The folder of the groups that we make."""

_FILES_V1 = {
    "cpu_v1": ("cpuacct", "cpuacct.usage", os.O_RDONLY),
    "oom_v1": ("memory", "memory.oom_control", os.O_RDONLY),
    "usage": ("memory", "memory.usage_in_bytes", os.O_RDONLY),
    "peak": ("memory", "memory.max_usage_in_bytes", os.O_RDWR),
    "limit": ("memory", "memory.limit_in_bytes", os.O_RDWR),
    "stat": ("memory", "memory.stat", os.O_RDONLY),
}
_FILES_V2 = {
    "cpu_v2": ("", "cpu.stat", os.O_RDONLY),
    "oom_v2": ("", "memory.events", os.O_RDONLY),
    "usage": ("", "memory.current", os.O_RDONLY),
    "peak": ("", "memory.peak", os.O_RDWR),
    "limit": ("", "memory.max", os.O_RDWR),
    "stat": ("", "memory.stat", os.O_RDONLY),
}
_CONTROLLERS_V1 = ("cpuacct", "memory", "pids")


def version() -> int:
    """Returns 2, 1, or 0 if no control groups are visible."""
    if (ROOT / "cgroup.controllers").exists():
        return 2
    return 1 if (ROOT / "memory").is_dir() else 0


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The folders of one group, by controller; version 2 has one, under the empty name."""

    folders: dict[str, Path]
    made: bool = False

    @classmethod
    def of(cls, pid: int) -> Cgroup | None:
        """Returns the group of a process, or None if it is not visible from here."""
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
        except OSError:
            return None
        folders: dict[str, Path] = {}
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if path.startswith("/..") and version() == 2:
                path = _seen_from(path)
            for controller in controllers.split(","):
                folder = ROOT / controller / path.lstrip("/")
                # The root group counts the whole machine, not a run.
                if path != "/" and folder.is_dir():
                    folders[controller] = folder
        if version() == 2:
            folders = {"": folders[""]} if "" in folders else {}
        return cls(folders) if folders else None

    @classmethod
    def make(cls, name: str, memory_mb: int, processes: int) -> Cgroup | None:
        """Make a group of our own. Returns None if we may not."""
        if os.geteuid() != 0 or not version():
            return None
        folders: dict[str, Path] = {}
        try:
            if version() == 2:
                parent = ROOT / OWN
                parent.mkdir(exist_ok=True)
                with contextlib.suppress(OSError):
                    (parent.parent / "cgroup.subtree_control").write_text("+cpu +memory +pids")
                (parent / "cgroup.subtree_control").write_text("+cpu +memory +pids")
                group = folders[""] = parent / name
                group.mkdir()
                _try_write(group / "memory.max", memory_mb * 1024**2)
                _try_write(group / "memory.swap.max", 0)
                _try_write(group / "pids.max", processes)
            else:
                for controller in _CONTROLLERS_V1:
                    if (ROOT / controller).is_dir():
                        folder = ROOT / controller / OWN / name
                        folder.mkdir(parents=True)
                        folders[controller] = folder
                _try_write(folders["memory"] / "memory.limit_in_bytes", memory_mb * 1024**2)
                if "pids" in folders:
                    _try_write(folders["pids"] / "pids.max", processes)
        except (OSError, KeyError):
            cls(folders, made=True).remove()
            return None
        return cls(folders, made=True)

    def add(self, pid: int) -> None:
        """Put a process into the group. Raises OSError."""
        for folder in self.folders.values():
            (folder / "cgroup.procs").write_text(str(pid))

    def counters(self) -> dict[str, int]:
        """Returns open descriptors by name, of the files that can be opened. The caller closes them."""
        found: dict[str, int] = {}
        for name, (controller, file, flags) in (_FILES_V2 if "" in self.folders else _FILES_V1).items():
            folder = self.folders.get(controller)
            if folder is not None:
                with contextlib.suppress(OSError):
                    found[name] = os.open(folder / file, flags | os.O_CLOEXEC)
        return found

    def remove(self) -> None:
        """Remove the group's folders, if we made them and they are empty."""
        if self.made:
            for folder in self.folders.values():
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _seen_from(path: str) -> str:
    """Returns the path of a version 2 group below ROOT, from its path relative to our own group: in a container with a
    cgroup namespace, but with the machine's groups mounted at ROOT, siblings are called `/../<name>`. `/`: unknown.
    """
    own = _own_folder()
    if own is None:
        return "/"
    folder = os.path.normpath(f"{own}{path}")
    return folder.removeprefix(str(ROOT)) if folder.startswith(f"{ROOT}/") else "/"


@lru_cache(1)
def _own_folder() -> Path | None:
    """Returns our own group's folder below ROOT: the one that lists this process, by its pid on the machine."""
    here = str(os.getpid())
    for folder, _, files in os.walk(ROOT):
        if "cgroup.procs" in files:
            with contextlib.suppress(OSError):  # groups appear and disappear
                if here in (Path(folder) / "cgroup.procs").read_text(encoding="ascii").split():
                    return Path(folder)
    return None


def leftovers() -> list[Path]:
    """Returns the groups that killed hosts left behind."""
    places = [ROOT / OWN] if version() == 2 else [ROOT / name / OWN for name in _CONTROLLERS_V1]
    return [group for place in places if place.is_dir() for group in sorted(place.iterdir()) if group.is_dir()]


def _try_write(path: Path, value: int) -> None:
    with contextlib.suppress(OSError):  # a kernel without this file
        path.write_text(str(value))
