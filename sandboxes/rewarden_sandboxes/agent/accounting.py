"""The usage of a run: CPU, memory, and the time in which it was idle.

The counters are those of the slot's cgroup, whose files the host opens and passes in, or, where it cannot, those that
the slot itself can see. Usage as processes report it never decides where there is a counter: orphans and double forks
escape it. Without any counter the processes are looked at, and the reports say so (`polled`).
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
"""The files of the slot's own cgroup that a container engine shows inside."""

_AIR = 16 << 20
"""Bytes with which the supervisor can end a run whose dead still hold all the memory."""

_NEAR = 1 << 20
"""Bytes below the limit that are as good as at it: the kernel charges in batches."""

_FEW = 32 << 20
"""Bytes of files in memory, most of them read ahead, with which a program whose code is in files gets nowhere: 8 to 14
MiB were seen."""

SLACK_MB = 40
"""MiB that a run may hold at most beyond `memory_mb`, its input and its output, where a control group counts: `_FEW`,
in which the kernel keeps files that earlier runs read and what it knows of them, and what it charges in batches."""

_AGAIN = 8 * _FEW // os.sysconf("SC_PAGE_SIZE")
"""Pages of files that were taken from a run and read again, so many that none was left to it."""

_TICK = os.sysconf("SC_CLK_TCK")


class Counters:
    """The slot's counters. `given`: name to descriptor, as the host passed them."""

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
        """Returns whether it is known when the kernel killed for memory."""
        return "oom_v1" in self._files or "oom_v2" in self._files

    def cpu(self) -> float:
        """Seconds of CPU of the whole slot so far."""
        if "cpu_v1" in self._files:
            return int(os.pread(self._files["cpu_v1"], 32, 0)) / 1e9
        text = os.pread(self._files["cpu_v2"], 4096, 0)
        return int(text.split(b"usage_usec ", 1)[1].split(b"\n", 1)[0]) / 1e6

    def oom_kills(self) -> int:
        """Processes that the kernel killed for memory so far."""
        for name in ("oom_v1", "oom_v2"):
            if name in self._files:
                text = os.pread(self._files[name], 4096, 0)
                found = text.split(b"oom_kill ", 1)
                return int(found[1].split(b"\n", 1)[0]) if len(found) == 2 else 0
        return 0

    def begin_memory(self, memory: int, *, beside: int) -> None:
        """Give the coming run so many bytes beyond what the slot holds now, and forget the last peak.

        beside: bytes that the slot itself will hold for the run, its input and output.
        """
        self._aired = False
        self._squeezed_at = None
        if "usage" not in self._files:
            return
        self._memory_base = self._number("usage")
        # Attack: what earlier runs read from files is still there, and a run that presses the kernel could hold as much
        # more. A little stays, or nobody's code would.
        limit = min(self._memory_base, _unmovable(self._stat(), self._memory_base) + _FEW) + memory + beside
        # A limit that is near enough stays: each write walks the whole cgroup.
        if not 0 <= self._memory_limit - limit < 1 << 20:
            self._limit(limit)
        if "peak" in self._files:
            try:
                os.pwrite(self._files["peak"], b"0", 0)
            except OSError:
                os.close(self._files.pop("peak"))  # this kernel cannot reset it: better none than a wrong one

    def make_room(self, size: int) -> None:
        """Let the slot take a frame of so many bytes, of which there are copies for a moment. The limit is still that
        of the run before, which may have been a small one.
        """
        if self._memory_limit and size > _NEAR:
            self._limit(self._memory_limit + 3 * size)

    def give_air(self) -> None:
        """Let the slot have a little more until the run is over, which must be now: once a run."""
        if self._memory_limit and not self._aired:
            self._aired = True
            self._limit(self._memory_limit + _AIR)

    def take_air(self) -> None:
        """Take that back, once it is free again: for what goes on after a process of it was killed."""
        if self._aired and self._number("usage") < self._memory_limit - _AIR - _NEAR:
            self._aired = False
            self._limit(self._memory_limit - _AIR)

    @property
    def full(self) -> bool:
        """Returns whether the slot holds all the memory that it may, or nearly."""
        return self._memory_limit > 0 and self._number("usage") >= self._memory_limit - _NEAR

    def thrashes(self) -> bool:
        """Returns whether the run holds all the memory that it may, and only reads again and again what the kernel
        takes from it: its own code. A kernel that finds pages of files to take kills nobody, so this would go on until
        the time limit, and slow everything in the slot. Two looks at least are needed to say so.
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
        """Bytes that the run held at most; None where nothing says so."""
        if "peak" not in self._files:
            return None
        return max(0, self._number("peak") - self._memory_base)

    def _limit(self, size: int) -> None:
        if "limit" in self._files:
            with contextlib.suppress(OSError):
                os.pwrite(self._files["limit"], b"%d" % size, 0)
                self._memory_limit = size

    def _stat(self) -> dict[bytes, int]:
        """The slot's own numbers by name, in bytes or as counts; none where nothing says them."""
        if "stat" not in self._files:
            return {}
        lines = [line.split() for line in os.pread(self._files["stat"], 16384, 0).splitlines()]
        return {line[0]: int(line[1]) for line in lines}

    def _number(self, name: str) -> int:
        return int(os.pread(self._files[name], 32, 0))


def _files_in_memory(stat: dict[bytes, int]) -> int:
    """Bytes of files that the kernel keeps for the slot and takes back when it must."""
    return stat.get(b"inactive_file", 0) + stat.get(b"active_file", 0)


def _unmovable(stat: dict[bytes, int], usage: int) -> int:
    """Bytes of the slot's own that are in no file; all that it holds where the kernel does not say."""
    found = [stat[name] for name in (b"anon", b"rss") if name in stat]  # control groups of version 2, and 1
    return found[0] + stat.get(b"shmem", 0) if found else usage


class HostIdle:
    """The time in which the CPUs that we may use had nothing to do."""

    def __init__(self) -> None:
        self._ours = {b"cpu%d" % number for number in os.sched_getaffinity(0)}
        self._base = self._now()
        self._held_back = _throttled()

    def seconds(self) -> float:
        """CPU seconds since it was made; 0 where the kernel does not say, and where a quota kept us from using them."""
        return max(0.0, self._now() - self._base) if _throttled() == self._held_back else 0.0

    def _now(self) -> float:
        try:
            with open("/proc/stat", "rb") as file:
                rows = [line.split() for line in file if line.startswith(b"cpu")]
            return sum(int(row[4]) + int(row[5]) for row in rows if row[0] in self._ours) / _TICK
        except (OSError, IndexError, ValueError):
            return 0.0


def _throttled() -> list[bytes]:
    """The counts of how often and how long a quota of CPU time kept the slot waiting; empty where none are seen."""
    for path in ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return [line for line in file if b"throttled" in line]
    return []


class Look:
    """The findings of a look at /proc for one room: seconds run and waited for a CPU, whether anything can run, and
    whether anything waits in the kernel, as for a disk.

    `reaped`: page faults of children that ended and were waited for, by task: it grows with each.
    """

    __slots__ = ("reaped", "runnable", "tasks", "waits")

    def __init__(self) -> None:
        self.runnable = self.waits = False
        self.tasks: dict[int, tuple[float, float]] = {}
        self.reaped: dict[int, int] = {}


def stat(path: str) -> list[bytes]:
    """The fields of a `stat` of a process or task, from its state on. Raises OSError, IndexError."""
    with open(path, "rb") as file:
        return file.read().rsplit(b")", 1)[1].split()


def look(rooms: Sequence[tuple[int, int]]) -> dict[int, Look]:
    """Look at the tasks of rooms, each given by its program and its init, or 0; the answers go by program."""
    found = {program: Look() for program, _ in rooms}
    for pid, program in members(rooms):
        _look_at(pid, found[program])
    return found


def held(room: tuple[int, int]) -> int:
    """Bytes that a room's processes hold and the kernel cannot take back: what they share counts for each."""
    total = 0
    for pid, _ in members([room]):
        with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith((b"RssAnon:", b"RssShmem:")):
                    total += int(line.split()[1]) << 10
    return total


def moving(rooms: Sequence[tuple[int, int]]) -> list[int]:
    """The processes of these rooms that are not stopped."""
    found = []
    for pid, _ in members(rooms):
        with contextlib.suppress(OSError, IndexError):
            if any(stat(f"/proc/{pid}/task/{task}/stat")[0] not in b"TtZX" for task in os.listdir(f"/proc/{pid}/task")):
                found.append(pid)
    return found


def members(rooms: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Every process of these rooms, with its room's program."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(name)] = int(stat("/proc/" + name + "/stat")[1])
    # A room's orphans are its init's children.
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
            except (OSError, ValueError):  # a kernel without them: ticks, and no waiting
                times = ((int(fields[11]) + int(fields[12])) / _TICK, 0.0)
        except (OSError, IndexError):
            continue
        if fields[0] == b"R":
            into.runnable = True
        elif fields[0] == b"D":
            into.waits = True
        into.tasks[int(task)] = times
        into.reaped[int(task)] = int(fields[8])


class Clock:
    """The times of a run: CPU of all its rooms, and idle time.

    Idle is what is neither running nor runnable. Between two looks it is what remains of the time when CPU time and
    waiting for a CPU are taken off: so a busy host never makes a program look idle. The wait of a task that is runnable
    at a look is known only once it has run, so until then what remains is owed, and it lapses when tasks have come or
    gone, whose waits nobody saw: so a sleeper cannot hide by being awake when it is looked at, nor a busy family of
    short processes look idle. `waited`: the part of it in which a task waited in the kernel: for a page of its program
    from the host's disk, or for a child of `vfork`, which looks the same.
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
        self._host: HostIdle | None = None
        self.idle = 0.0
        self.waited = 0.0
        self.resting = False
        self.rooms: dict[int, float] = {}

    @property
    def wall(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._start

    def cpu(self) -> float:
        """Seconds of CPU so far, the supervisor's own looking taken off."""
        if self._counted:
            return max(0.0, self._counters.cpu() - self._base - (time.process_time() - self._own))
        return self._gone + sum(run for run, _ in self._seen.values())

    @property
    def spare(self) -> float:
        """CPU seconds that the host had to give since the first look, and gave to nobody."""
        return self._host.seconds() if self._host is not None else 0.0

    @property
    def starved(self) -> bool:
        """Returns whether most of the time was neither used nor idle, and the host had no CPU for it.

        Attack: be awake at every look, as short processes that come and go and whose waits nobody sees, so as to seem
        starved on a host that idles.
        """
        unexplained = self.wall - self.idle - self.cpu()
        return unexplained > 0.5 * self.wall and self.spare < unexplained

    def tick(self, rooms: Sequence[tuple[int, int]]) -> float:
        """Look at rooms as `look` takes them; returns the CPU time so far."""
        if self._host is None:
            self._host = HostIdle()  # not before: most programs end before the first look
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

    def share(self) -> None:
        """Something else runs in the slot from now on, whose time the control group counts as well: what this run uses
        is what its own tasks are seen to use.
        """
        if self._counted:
            self._counted = False
            self._last_cpu = self.cpu()

    def skip(self) -> None:
        """The time since the last look is not the run's: it was stopped."""
        self._last, self._last_cpu = time.monotonic(), self.cpu()

    def unseen(self, usual: float) -> float:
        """Seconds since the last look that may have been idle, beyond the `usual` gap between two looks."""
        used = self.cpu() - self._last_cpu if self._counted else 0.0
        return max(0.0, time.monotonic() - self._last - used - usual)

    def finish(self, rooms_cpu: float) -> float:
        """The CPU time at the end. `rooms_cpu`: what the kernel said of the rooms when they had ended. A cgroup's
        counter lags by a few milliseconds, which may be all that a short program took."""
        return max(self.cpu(), rooms_cpu)

    def _remember(self, looks: dict[int, Look]) -> bool:
        """Keep what was seen; returns whether the same tasks were there before and none of their children ended."""
        seen: dict[int, tuple[float, float]] = {}
        reaped: dict[int, int] = {}
        for number, room in looks.items():
            seen.update(room.tasks)
            reaped.update(room.reaped)
            self.rooms[number] = max(self.rooms.get(number, 0.0), sum(run for run, _ in room.tasks.values()))
        for task, (_, wait) in seen.items():
            self._queued += max(0.0, wait - self._seen.get(task, (0.0, 0.0))[1])
        self._gone += sum(run for task, (run, _) in self._seen.items() if task not in seen)
        self._seen = seen
        same, self._reaped = reaped == self._reaped, reaped
        return same
