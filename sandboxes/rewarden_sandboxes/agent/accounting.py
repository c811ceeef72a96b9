"""The usage of a run: CPU time, memory, and idle time.

The counters are those of the slot's cgroup. The host opens their files and passes them in; where it cannot, the slot
uses those that it can see. Where there is a counter, what processes report of themselves decides nothing: orphans and
double forks escape it. Without counters, /proc is polled, and the reports say so (`polled`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence

_INSIDE = {
    "cpu_v1": "/sys/fs/cgroup/cpuacct/cpuacct.usage",
    "cpu_v2": "/sys/fs/cgroup/cpu.stat",
    "oom_v1": "/sys/fs/cgroup/memory/memory.oom_control",
    "oom_v2": "/sys/fs/cgroup/memory.events",
}
"""The slot's cgroup files, where a container engine shows them inside the container."""

_AIR = 16 << 20
"""Bytes that let the supervisor end a run whose dead processes still hold all the memory."""

_NEAR = 1 << 20
"""Bytes below the limit that count as at the limit, because the kernel charges in batches."""

_FEW = 32 << 20
"""Bytes of page cache below which a program thrashes on its own code. 8 to 14 MiB were observed, most of it read
ahead."""

SLACK_MB = 40
"""MiB that a run can hold beyond `memory_mb`, its input and its output where a control group counts: `_FEW`, for page
cache of earlier runs and the kernel's records of it, and what the kernel charges in batches."""

_AGAIN = 8 * _FEW // os.sysconf("SC_PAGE_SIZE")
"""Pages evicted and read back, so many that the run must have lost all of its page cache."""

_TICK = os.sysconf("SC_CLK_TCK")


class Counters:
    """The slot's counters. `given`: descriptors by name, as the host passed them."""

    def __init__(self, given: dict[str, int]) -> None:
        self._files = dict(given)
        for name, path in _INSIDE.items():
            if not any(known.startswith(name[:3]) for known in given):
                with contextlib.suppress(OSError):
                    self._files[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._memory_limit = 0
        self._memory_base = 0
        self._aired = False
        self._squeezed_at: int | None = None

    @property
    def counts_cpu(self) -> bool:
        """Returns whether a counter sees the CPU time of all processes."""
        return "cpu_v1" in self._files or "cpu_v2" in self._files

    @property
    def sees_oom(self) -> bool:
        """Returns whether kills for memory are counted."""
        return "oom_v1" in self._files or "oom_v2" in self._files

    def cpu(self) -> float:
        """Returns the CPU seconds of the whole slot so far."""
        if "cpu_v1" in self._files:
            return int(os.pread(self._files["cpu_v1"], 32, 0)) / 1e9
        text = os.pread(self._files["cpu_v2"], 4096, 0)
        return int(text.split(b"usage_usec ", 1)[1].split(b"\n", 1)[0]) / 1e6

    def oom_kills(self) -> int:
        """Returns the number of processes that the kernel has killed for memory."""
        for name in ("oom_v1", "oom_v2"):
            if name in self._files:
                text = os.pread(self._files[name], 4096, 0)
                found = text.split(b"oom_kill ", 1)
                return int(found[1].split(b"\n", 1)[0]) if len(found) == 2 else 0
        return 0

    def begin_memory(self, memory: int, *, beside: int) -> None:
        """Allows the next run this many bytes beyond what the slot holds now, and resets the peak.

        beside: bytes that the slot itself will hold for the run, for its input and output.
        """
        self._aired = False
        self._squeezed_at = None
        if "usage" not in self._files:
            return
        self._memory_base = self._number("usage")
        # Attack: page cache of earlier runs is still charged to the slot, and a run that makes the kernel evict it
        # could use that much more memory. A little must remain, or the program's own code would not fit.
        limit = min(self._memory_base, _unmovable(self._stat(), self._memory_base) + _FEW) + memory + beside
        # A limit that is close enough stays: each write walks the whole cgroup.
        if not 0 <= self._memory_limit - limit < 1 << 20:
            self._limit(limit)
        if "peak" in self._files:
            try:
                os.pwrite(self._files["peak"], b"0", 0)
            except OSError:
                os.close(self._files.pop("peak"))  # this kernel cannot reset it, and no peak is better than a wrong one

    def make_room(self, size: int) -> None:
        """Raises the limit for a frame of this many bytes, which is briefly held in several copies. The limit in force
        is still that of the previous run, which may have been small.
        """
        if self._memory_limit and size > _NEAR:
            self._limit(self._memory_limit + 3 * size)

    def give_air(self) -> None:
        """Allows the slot a little more memory so that the run can be ended now. At most once a run."""
        if self._memory_limit and not self._aired:
            self._aired = True
            self._limit(self._memory_limit + _AIR)

    def take_air(self) -> None:
        """Lowers the limit again once that memory is free, for a box that goes on after a process was killed."""
        if self._aired and self._number("usage") < self._memory_limit - _AIR - _NEAR:
            self._aired = False
            self._limit(self._memory_limit - _AIR)

    @property
    def full(self) -> bool:
        """Returns whether the slot is at its memory limit, or nearly."""
        return self._memory_limit > 0 and self._number("usage") >= self._memory_limit - _NEAR

    def thrashes(self) -> bool:
        """Returns whether the run is at its memory limit and does nothing but read its own code back in. A kernel that
        still finds page cache to evict kills nobody, so this would go on until the time limit and slow the whole slot.
        At least two calls are needed to tell.
        """
        if self.full and "stat" in self._files:
            stat = self._stat()
            if _files_in_memory(stat) < _FEW:
                again = stat.get(b"workingset_refault_file", 0)
                if self._squeezed_at is None:
                    self._squeezed_at = again
                return again - self._squeezed_at > _AGAIN
        self._squeezed_at = None
        return False

    def peak(self) -> int | None:
        """Returns the run's peak in bytes; None if there is no counter."""
        if "peak" not in self._files:
            return None
        return max(0, self._number("peak") - self._memory_base)

    def _limit(self, size: int) -> None:
        if "limit" in self._files:
            with contextlib.suppress(OSError):
                os.pwrite(self._files["limit"], b"%d" % size, 0)
                self._memory_limit = size

    def _stat(self) -> dict[bytes, int]:
        """Returns memory.stat by name, in bytes or as counts; empty if there is none."""
        if "stat" not in self._files:
            return {}
        lines = [line.split() for line in os.pread(self._files["stat"], 16384, 0).splitlines()]
        return {line[0]: int(line[1]) for line in lines}

    def _number(self, name: str) -> int:
        return int(os.pread(self._files[name], 32, 0))


def _files_in_memory(stat: dict[bytes, int]) -> int:
    """Returns the bytes of page cache, which the kernel can evict."""
    return stat.get(b"inactive_file", 0) + stat.get(b"active_file", 0)


def _unmovable(stat: dict[bytes, int], usage: int) -> int:
    """Returns the bytes that the kernel cannot evict; the whole usage where it does not say."""
    found = [stat[name] for name in (b"anon", b"rss") if name in stat]  # control groups of version 2, and 1
    return found[0] + stat.get(b"shmem", 0) if found else usage


class HostIdle:
    """The idle time of the CPUs that we may use."""

    def __init__(self) -> None:
        self._ours = {b"cpu%d" % number for number in os.sched_getaffinity(0)}
        self._base = self._now()
        self._held_back = _throttled()

    def seconds(self) -> float:
        """Returns idle CPU seconds since it was made; 0 if the kernel does not say, or a quota kept us from them."""
        return max(0.0, self._now() - self._base) if _throttled() == self._held_back else 0.0

    def _now(self) -> float:
        try:
            with open("/proc/stat", "rb") as file:
                rows = [line.split() for line in file if line.startswith(b"cpu")]
            return sum(int(row[4]) + int(row[5]) for row in rows if row[0] in self._ours) / _TICK
        except (OSError, IndexError, ValueError):
            return 0.0


def _throttled() -> list[bytes]:
    """Returns how often and how long a CPU quota throttled the slot; empty if that is not shown."""
    for path in ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return [line for line in file if b"throttled" in line]
    return []


class Look:
    """The state of one room, read from /proc.

    `tasks`: for each task, seconds that it has run, and waited for a CPU. `runnable`: some task can run. `waits`: some
    task waits in the kernel, as for a disk. `reaped`: for each task, page faults of the children that it has waited
    for, a number that grows with each of them. `children`: for each process, CPU seconds of those children.
    """

    __slots__ = ("children", "reaped", "runnable", "tasks", "waits")

    def __init__(self) -> None:
        self.runnable = self.waits = False
        self.tasks: dict[int, tuple[float, float]] = {}
        self.reaped: dict[int, int] = {}
        self.children: dict[int, float] = {}


def stat(path: str) -> list[bytes]:
    """Returns the fields of a process's or task's `stat`, from the state on. Raises OSError, IndexError."""
    with open(path, "rb") as file:
        return file.read().rsplit(b")", 1)[1].split()


def look(rooms: Sequence[tuple[int, int]]) -> dict[int, Look]:
    """Reads the state of rooms, each given as its program and its init (or 0). Returns it by program."""
    found = {program: Look() for program, _ in rooms}
    for pid, program in members(rooms):
        _look_at(pid, found[program])
    return found


def held(room: tuple[int, int]) -> int:
    """Returns the bytes of a room's processes that the kernel cannot evict; shared pages count for each process."""
    total = 0
    for pid, _ in members([room]):
        with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith((b"RssAnon:", b"RssShmem:")):
                    total += int(line.split()[1]) << 10
    return total


def moving(rooms: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the processes of these rooms that are not stopped."""
    found = []
    for pid, _ in members(rooms):
        with contextlib.suppress(OSError, IndexError):
            if any(stat(f"/proc/{pid}/task/{task}/stat")[0] not in b"TtZX" for task in os.listdir(f"/proc/{pid}/task")):
                found.append(pid)
    return found


def members(rooms: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields every process of these rooms, with its room's program."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(name)] = int(stat("/proc/" + name + "/stat")[1])
    # Orphans of a room become children of its init.
    roots = {root: program for program, init in rooms for root in (program, init) if root}
    for pid in parents:
        root, steps = pid, 0
        while root not in roots and root in parents and steps < 4096:
            root, steps = parents[root], steps + 1
        if root in roots:
            yield pid, roots[root]


def _look_at(pid: int, into: Look) -> None:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for task in tasks:
        base = f"/proc/{pid}/task/{task}/"
        try:
            fields = stat(base + "stat")
            try:
                with open(base + "schedstat", "rb") as file:
                    run, wait, _ = file.read().split()
                times = (int(run) / 1e9, int(wait) / 1e9)
            except (OSError, ValueError):  # this kernel has no schedstat: ticks, and no waiting time
                times = ((int(fields[11]) + int(fields[12])) / _TICK, 0.0)
        except (OSError, IndexError):
            continue
        if fields[0] == b"R":
            into.runnable = True
        elif fields[0] == b"D":
            into.waits = True
        into.tasks[int(task)] = times
        into.reaped[int(task)] = int(fields[8])
        into.children[pid] = (int(fields[13]) + int(fields[14])) / _TICK


class Clock:
    """The times of a run: CPU time of all its rooms, and idle time.

    A run is idle while none of its tasks is running or runnable. The idle time between two looks at /proc is the wall
    time less the CPU time and the time spent waiting for a CPU, so a busy host never makes a program look idle. How
    long a task has waited is known only once it runs again. If one is runnable at a look, the remainder is therefore
    held over: the next look counts it as idle, or drops it if tasks have come or gone in between, because nobody saw
    how long those waited. A sleeper thus cannot hide by being awake at every look, nor do many short processes look
    idle.

    `waited`: the part of the idle time in which a task waited in the kernel, for a page of its program from the host's
    disk, or for a child of `vfork`, which looks the same.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._counted = counters.counts_cpu
        self._own = time.process_time()
        self._base = counters.cpu() if self._counted else 0.0
        self._start = self._last = time.monotonic()
        self._last_cpu = 0.0
        self._seen: dict[int, tuple[float, float]] = {}
        self._gone = 0.0
        self._queued = 0.0
        self._owed = 0.0
        self._reaped: dict[int, int] = {}
        self._children: dict[int, float] = {}
        self._host: HostIdle | None = None
        self.idle = 0.0
        self.waited = 0.0
        self.resting = False
        self.rooms: dict[int, float] = {}

    @property
    def wall(self) -> float:
        """Returns the seconds since the run began."""
        return time.monotonic() - self._start

    def cpu(self) -> float:
        """Returns the CPU seconds so far, without those of the supervisor."""
        if self._counted:
            return max(0.0, self._counters.cpu() - self._base - (time.process_time() - self._own))
        return self._gone + sum(run for run, _ in self._seen.values())

    @property
    def spare(self) -> float:
        """Returns the CPU seconds since the first look that the host had and nobody used."""
        return self._host.seconds() if self._host is not None else 0.0

    @property
    def starved(self) -> bool:
        """Returns whether most of the time was neither CPU time nor idle, and the host had no CPU to spare.

        Attack: short processes that come and go, so that one is awake at every look and no wait is seen. That alone
        would seem starved on a host that is idle.
        """
        unexplained = self.wall - self.idle - self.cpu()
        return unexplained > 0.5 * self.wall and self.spare < unexplained

    def tick(self, rooms: Sequence[tuple[int, int]]) -> float:
        """Looks at the rooms, given as for `look`. Returns the CPU time so far."""
        if self._host is None:
            self._host = HostIdle()  # not earlier: most programs end before the first look
        now = time.monotonic()
        passed = now - self._last
        cpu = self.cpu()
        used = cpu - self._last_cpu
        if self._counted and used > 0.8 * passed and len(rooms) == 1:  # with two rooms, whose was it?
            self.resting = False
            self._owed = 0.0
        else:
            looks = look(rooms)
            same = self._remember(looks)
            if not self._counted:
                cpu = self.cpu()
                used = cpu - self._last_cpu
            queued, self._queued = self._queued, 0.0
            remains = passed - used - queued
            if any(room.runnable for room in looks.values()):
                self._owed = self._owed + remains if same else 0.0
                self.resting = False
            else:
                idle = max(0.0, remains + self._owed if same else remains)
                self.idle += idle
                if any(room.waits for room in looks.values()):
                    self.waited += idle
                self._owed = 0.0
                self.resting = remains > 0.8 * passed
        self._last, self._last_cpu = now, cpu
        return cpu

    def share(self, rooms: Sequence[tuple[int, int]]) -> None:
        """From now on, counts only what the run's own tasks are seen to use, because the control group also counts
        something else that runs in the slot. rooms: as for `look`; empty once the run has ended. What a living run has
        used so far stays counted: a caller who compares two readings must not see the time run backwards.
        """
        if not self._counted:
            return
        so_far = self.tick(rooms) if rooms else 0.0
        self._counted = False
        if rooms:
            self._remember(look(rooms))
            self._gone = so_far - sum(run for run, _ in self._seen.values())
            self._queued = 0.0
        self._last_cpu = self.cpu()

    def skip(self) -> None:
        """Leaves out the time since the last look, in which the run was stopped."""
        self._last, self._last_cpu = time.monotonic(), self.cpu()

    def unseen(self, usual: float) -> float:
        """Returns the seconds since the last look that may have been idle, beyond the `usual` gap between two looks."""
        used = self.cpu() - self._last_cpu if self._counted else 0.0
        return max(0.0, time.monotonic() - self._last - used - usual)

    def finish(self, rooms_cpu: float) -> float:
        """Returns the final CPU time. `rooms_cpu`: what the kernel reported when the rooms were reaped; a cgroup's
        counter lags by a few milliseconds, which may be all that a short program took.
        """
        return max(self.cpu(), rooms_cpu)

    def _remember(self, looks: dict[int, Look]) -> bool:
        """Remembers what was seen. Returns whether the tasks are the same as before, with no child ended."""
        seen: dict[int, tuple[float, float]] = {}
        reaped: dict[int, int] = {}
        children: dict[int, float] = {}
        for number, room in looks.items():
            seen.update(room.tasks)
            reaped.update(room.reaped)
            children.update(room.children)
            self.rooms[number] = max(self.rooms.get(number, 0.0), sum(run for run, _ in room.tasks.values()))
        for task, (_, wait) in seen.items():
            self._queued += max(0.0, wait - self._seen.get(task, (0.0, 0.0))[1])
        ended = sum(run for task, (run, _) in self._seen.items() if task not in seen)
        # Attack: processes so short that no look sees them. Their parent has their time once it has waited for them,
        # together with what was counted already: of those that were seen, and of the children that those had.
        waited_for = sum(children.values()) - sum(self._children.values())
        self._gone += max(ended, waited_for)
        self._seen, self._children = seen, children
        same, self._reaped = reaped == self._reaped, reaped
        return same
