"""One run: a program in its room, or a program and its partner in two rooms, watched until they exit or are killed."""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from rewarden_sandboxes.agent import snapshot
from rewarden_sandboxes.agent.accounting import Clock, Counters, stat
from rewarden_sandboxes.agent.frames import Body, view
from rewarden_sandboxes.agent.room import is_full
from rewarden_sandboxes.agent.zygotes import Zygotes

HARD = 1.5
"""The hard limit of CPU time, as a multiple of the soft one. A program that ends between the two is run once more."""

MOST_WALL, MOST_WALL_MORE_S = 4, 10
"""A run is abandoned after this multiple of its CPU and idle limits, plus this many seconds."""

_FIRST_LOOK_S, _LATER_LOOK_S, _FULL_LOOK_S = 0.02, 0.05, 0.01
_PIPE = 1 << 16
_MOST_KEPT = 128 << 20
"""Most bytes of files that a room can leave behind; they travel to the host and into other slots."""
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_CHANNEL, _LISTENER = "channel", "listener"
_EXITING = 4
"""The kernel's flag for a process that is exiting (PF_EXITING)."""


class Part:
    """The task of one room of a run. `program` and `case` come from the job's header; `kept`: a descriptor with the
    files of a compilation, or -1.
    """

    __slots__ = ("case", "collect", "kept", "program", "who")

    def __init__(
        self, who: str, program: dict[str, Any], case: dict[str, Any], kept: int, collect: list[str] | None
    ) -> None:
        self.who, self.program, self.case, self.kept, self.collect = who, program, case, kept, collect

    @property
    def limits(self) -> dict[str, Any]:
        """Every limit, with the defaults filled in."""
        limits: dict[str, Any] = self.case["limits"]
        return limits

    def bytes_beside(self, body: bytes) -> int:
        """Returns the most bytes that the slot itself holds for this room, in memory files and buffers."""
        held = sum(int(size) for _, size in (self.program["code"], self.case["stdin"], self.case["request"]))
        held += sum(int(size) for table in (self.program, self.case) for _, size in table["files"].values())
        if self.kept >= 0:
            held += os.fstat(self.kept).st_size
        return held + int(self.limits["output_bytes"]) * (1 if self.program["mode"] == "script" else 2)


class Room:
    """A running room and its output so far.

    `cause`: why it must be ended, or was. `listener`: a descriptor that becomes readable once the program asks for a
    network, or -1; `unheard`: there is no such descriptor on this machine. `begun`: the room's process has handed over
    to the program and reports nothing more. `status`: the program's wait status, None if we killed it. `used`: CPU
    seconds of the program and the children that it waited for. `trouble`: what went wrong on our side; `full`: because
    the program's own files filled the disk. `kept`: a descriptor with the files to keep, or -1.
    """

    def __init__(self, part: Part, init: int, pid: int, pipes: dict[str, int], channel: socket.socket) -> None:
        self.who = part.who
        self.limits = part.limits
        self.init = init
        self.pid = pid
        self.pipes = pipes
        self.watch = os.pidfd_open(pid)
        self.cause: str | None = None
        self.ended = False
        self.size = 0
        self.status: int | None = None
        self.used = 0.0
        self.trouble: str | None = None
        self.full = False
        self.kept = -1
        self.listener = -1
        self.unheard = self.begun = False
        self._folder = -1
        self._collect = part.collect
        self._killed = False
        self.channel = channel
        self._output: dict[str, list[bytes]] = {name: [] for name in pipes}
        self._reply_size = 0

    def take(self, name: str, data: bytes) -> None:
        """Keeps output up to its limit; anything beyond that ends the run."""
        most = self.limits["output_bytes"]
        held = self._reply_size if name == "reply" else self.size
        if held + len(data) > most:
            data = data[: max(0, most - held)]
            self.cause = self.cause or "output_bytes"
        self._output[name].append(data)
        if name == "reply":
            self._reply_size += len(data)
        else:
            self.size += len(data)

    def keep_tail(self, name: str, data: bytes, most: int) -> None:
        """Keeps only the last bytes of the output."""
        self._output[name] = [(self.text(name) + data)[-most:]]

    def text(self, name: str) -> bytes:
        """Returns what was kept of stdout, stderr or the reply."""
        return b"".join(self._output.get(name, ()))

    def end(self) -> None:
        """Kills every process in the room, and reaps them."""
        if not self.ended:
            self._killed = True
            _kill(self.init or self.pid)
            self.reap()

    def reap(self) -> None:
        """Waits for the program, which has exited or is about to, and ends the room with it."""
        # The program first: init cannot be reaped before every other process of its namespace.
        _, status, usage = os.wait4(self.pid, 0)
        self.used = usage.ru_utime + usage.ru_stime
        if not self._killed:
            self.status = status
            shot = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            if shot and self.init and _exiting(self.init):
                self.trouble = "the room's init was killed, and the program with it"
        _end_init(self.init)
        self.ended = True

    @property
    def exit_code(self) -> int | None:
        """Returns the program's exit code; None while it runs, or if a signal ended it."""
        if self.status is None or not os.WIFEXITED(self.status):
            return None
        return os.WEXITSTATUS(self.status)

    def drain(self) -> None:
        """Reads the rest of the pipes. Every writer is dead, so this ends."""
        for name, number in self.pipes.items():
            while data := read(number):
                self.take(name, data)

    def hear(self) -> None:
        """Reads what the room's process reported before it became the program."""
        while True:
            try:
                message, numbers, _, _ = socket.recv_fds(self.channel, 4096, 1)
            except OSError:
                return
            if not message:
                self.begun = True
                return
            if message[:1] == b"B":
                self._folder = numbers[0]
            elif message[:1] == b"N":
                self.begun, self.unheard = True, not numbers
                self.listener = numbers[0] if numbers else -1
            else:
                self.trouble = message[1:].decode("utf-8", "replace")
                self.full = message[:1] == b"D"

    def hear_last_words(self) -> None:
        """Reads the last of those reports, and collects the files to keep."""
        self.hear()
        if self._folder >= 0 and self.status is not None:
            self._keep(self._folder)

    def _keep(self, folder: int) -> None:
        most = min(self.limits["disk_mb"] << 20, _MOST_KEPT)
        if self._collect:  # these files are output, and count as such
            most = min(most, self.limits["output_bytes"])
        try:
            self.kept = snapshot.take(folder, self._collect or [], most)
        except OSError as error:
            if self._collect and is_full(error):
                self.cause = self.cause or "output_bytes"
                return
            self.trouble = f"{type(error).__name__}: {error}"
            self.full = is_full(error)

    def close(self) -> None:
        """Closes its descriptors."""
        for number in (*self.pipes.values(), self.watch, self.listener, self._folder):
            if number >= 0:
                os.close(number)
        self.channel.close()


Ends = Callable[[Room], bool]
"""Called when the partner's room has ended; returns whether the program must end as well."""


class Run:
    """See the module. A context manager: no process of its rooms outlives the block.

    `network`: each room has a network of its own. `wants_network`: the program asked for one that it lacks, so the run
    must be repeated with it. `unheard`: this machine cannot tell when a program asks, so every run of the slot needs
    one.
    """

    def __init__(
        self,
        zygotes: Zygotes,
        counters: Counters,
        env: dict[str, str],
        inodes: int,
        parts: Sequence[Part],
        body: bytes,
        hard: float = HARD,
        *,
        network: bool,
    ) -> None:
        self.rooms: list[Room] = []
        self.wants_network = self.unheard = False
        self._network = network
        self.unseen = 0.0
        self._zygotes = zygotes
        self._counters = counters
        self._env = env
        self._inodes = inodes
        self._hard = hard
        for part in parts:  # importing a tier's libraries is not charged to the run
            zygotes.warm(part.program["tier"])
        memory = sum(part.limits["memory_mb"] << 20 for part in parts)
        counters.begin_memory(memory, beside=sum(part.bytes_beside(body) for part in parts))
        self._kills = counters.oom_kills()
        self._thrashed = False
        self.clock: Clock

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        for room in self.rooms:
            room.end()
            room.close()

    @property
    def out_of_memory(self) -> bool:
        """Returns whether the kernel killed a process of this run for memory, or the run was seen to thrash for want of
        it.
        """
        self._thrashed = self._thrashed or self._counters.thrashes()
        return self._thrashed or self.killed_for_memory()

    def killed_for_memory(self) -> bool:
        """Returns whether the kernel killed a process of this run for memory. The supervisor checks this first whenever
        it wakes.

        Flake: a killed process can hold kernel memory (the buffers of its sockets) for a few more milliseconds. The
        next page that any process of the slot touches then gets the next largest one killed, and that is the
        supervisor.
        """
        killed = self._counters.oom_kills() > self._kills
        if killed:
            self._counters.give_air()
        return killed

    def open(self, parts: Sequence[Part], join: str, body: bytes) -> None:
        """Starts the program of every room. Raises Broken."""
        joined = _join(join)
        try:
            for part, ends in zip(parts, joined, strict=False):
                self.rooms.append(self._room(part, ends, body))
        finally:
            for ends in joined:
                for number in ends.values():
                    os.close(number)
        # Not earlier: time that the zygote spends waiting for a CPU is not the program's.
        self.clock = Clock(self._counters)

    def open_fed(self, part: Part, body: bytes) -> int:
        """Starts one room's program with a pipe as its stdin. Returns the pipe's writing end, which does not block and
        is the caller's to close. Raises Broken.
        """
        far, near = os.pipe()
        try:
            os.set_blocking(near, False)
            self.rooms.append(self._room(part, {"i": far}, body))
        except BaseException:
            os.close(near)
            raise
        finally:
            os.close(far)
        self.clock = Clock(self._counters)
        return near

    def watch(self, host: socket.socket, heed: Callable[[], None], resting: Callable[[bool], None], ends: Ends) -> None:
        """Watches until every room has ended or one of them must; then kills and drains them all. `heed`: called when
        the host sends something; `resting`: called when the program becomes idle and when it stops being so.
        """
        poll = select.poll()
        owner: dict[int, tuple[Room, str]] = {}
        poll.register(host, select.POLLIN)
        for room in self.rooms:
            for name, number in (("", room.watch), *room.pipes.items()):
                poll.register(number, select.POLLIN)
                owner[number] = (room, name)
            if not self._network:
                poll.register(room.channel, select.POLLIN)
                owner[room.channel.fileno()] = (room, _CHANNEL)
        next_look = time.monotonic() + min(_FIRST_LOOK_S, self.rooms[0].limits["cpu_s"])
        told = put_off = False
        while not all(room.ended for room in self.rooms) and not any(room.cause for room in self.rooms):
            wait = next_look - time.monotonic()
            ready = poll.poll(wait * 1000 + 0.5 if wait > 0 else 0)
            if self.killed_for_memory():
                self.rooms[0].cause = "memory_mb"
                break
            for number, events in ready:
                if number not in owner:
                    heed()
                    continue
                room, name = owner[number]
                if name == _CHANNEL:
                    room.hear()
                    if room.begun:
                        poll.unregister(number)
                    self.unheard = self.unheard or room.unheard
                    if room.listener >= 0:
                        poll.register(room.listener, select.POLLIN)
                        owner[room.listener] = (room, _LISTENER)
                elif name == _LISTENER:
                    poll.unregister(number)
                    self.wants_network = self.wants_network or bool(events & select.POLLIN)
                elif not name:
                    room.reap()
                    self.unseen = self.clock.unseen(_LATER_LOOK_S)
                    poll.unregister(number)
                    if room.who == "partner" and ends(room):
                        self._stop()
                        return
                else:
                    data = read(number)
                    if data:
                        room.take(name, data)
                    elif data is not None:
                        poll.unregister(number)
            if self.wants_network or self.unheard:
                break
            if time.monotonic() >= next_look and not all(room.ended for room in self.rooms):
                if self._counters.full and not put_off:
                    # The check itself takes memory, and the kernel may be killing a process at this very moment.
                    put_off, next_look = True, time.monotonic() + _FULL_LOOK_S
                    continue
                put_off = False
                self._look()
                if self.clock.resting != told:
                    told = self.clock.resting
                    resting(told)
                next_look = time.monotonic() + _LATER_LOOK_S
        if told:
            resting(False)  # it ended while idle, and the next run does not start idle
        self._stop()

    def shares(self, cpu: float) -> tuple[float, ...]:
        """CPU seconds of the program and of its partner. The partner's code is ours or the reference's, so it is
        charged what its processes were seen to use, and the program everything else.
        """
        if len(self.rooms) == 1:
            return (cpu,)
        partner = min(cpu, self.clock.rooms.get(self.rooms[1].pid, 0.0))
        return (cpu - partner, partner)

    def _look(self) -> None:
        """Checks every limit."""
        cpu = self.clock.tick([(room.pid, room.init) for room in self.rooms if not room.ended])
        first = self.rooms[0]
        wall_s = first.limits["wall_s"]
        budget = wall_s + sum(room.limits["cpu_s"] for room in self.rooms)
        if self.out_of_memory:
            first.cause = "memory_mb"
        for room, used in zip(self.rooms, self.shares(cpu), strict=True):
            if used > self._hard * room.limits["cpu_s"]:
                room.cause = room.cause or "cpu_s"
        if self.clock.idle > wall_s:
            first.cause = first.cause or "wall_s"
        elif self.clock.wall > MOST_WALL * budget + MOST_WALL_MORE_S:
            first.cause = first.cause or ("starved" if self.clock.starved else "wall_s")

    def _stop(self) -> None:
        for room in self.rooms:
            room.end()
        for room in self.rooms:
            room.drain()

    # --- making a room ---------------------------------------------------------------------------------------------

    def _room(self, part: Part, ends: dict[str, int], body: bytes) -> Room:
        told = plan(
            part,
            body,
            self._env,
            inodes=self._inodes,
            channel="c" in ends,
            network=self._network,
            data_limit=not self._counters.sees_oom,
        )
        init = self._zygotes.init()
        try:
            return open_room(self._zygotes, part, init, told, ends, body)
        except BaseException:
            _end_init(init)
            raise


def open_room(
    zygotes: Zygotes,
    part: Part,
    init: int,
    told: bytes,
    ends: dict[str, int],
    body: bytes,
    inside: int | None = None,
) -> Room:
    """Starts a program. `told`: its plan; `ends`: descriptors passed to it, by letter; `inside`: the init whose
    namespace it joins, if that one outlives it. Raises Broken.
    """
    sent: dict[str, int] = dict(ends)
    pipes: dict[str, int] = {}
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:

        def send(letter: str, number: int) -> None:
            theirs.callback(os.close, number)
            sent[letter] = number

        send("p", memory_file(told))
        if "i" not in ends:
            send("i", memory_file(view(body, part.case["stdin"])))
        for letter, name in (("o", "stdout"), ("e", "stderr"), ("r", "reply")):
            if letter in ends or (letter == "r" and part.program["mode"] == "script"):
                continue
            near, far = os.pipe()
            ours.callback(os.close, near)
            send(letter, far)
            os.set_blocking(near, False)
            pipes[name] = near
        channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.callback(channel.close)
        send("s", other.detach())
        channel.setblocking(False)
        if part.kept >= 0:
            sent["k"] = part.kept
        within = init if inside is None else inside
        pid = zygotes.program(part.program["tier"], within, "".join(sent), list(sent.values()))
        ours.pop_all()  # the room owns them from here on
    return Room(part, init, pid, pipes, channel)


def plan(
    part: Part,
    body: bytes,
    env: dict[str, str],
    *,
    inodes: int,
    channel: bool,
    network: bool,
    data_limit: bool,
    **place: Any,
) -> bytes:
    """Returns the plan that a room reads, see `room`. `place`: further entries, for a program that joins an existing
    room.
    """
    program, case, limits = part.program, part.case, part.limits
    blobs = Body()
    code = blobs.add(view(body, program["code"]))
    files = [(program["file"], code)] if program["file"] else []
    for table in (program["files"], case["files"]):
        files += [(path, blobs.add(view(body, at))) for path, at in table.items()]
    arguments = [*program["args"], *case["args"]]
    header = {
        "place": "room",
        "python": program["python"],
        "mode": program["mode"],
        "code": code,
        "files": files,
        "request": blobs.add(view(body, case["request"])),
        "argv": [program["file"], *arguments],
        "run": [*program["run"], *arguments],
        "env": {**env, **program.get("env", {})},
        "modified": program.get("modified"),
        "limits": limits,
        "disk_bytes": limits["disk_mb"] << 20,
        "inodes": inodes,
        "data_limit": data_limit,
        "channel": channel,
        "reply": program["mode"] != "script",
        "collect": part.collect is not None,
        "unbuffered": program.get("unbuffered", False),
        "network": network,
        **place,
    }
    return marshal.dumps((header, b"".join(blobs.parts)))


def _join(how: str) -> list[dict[str, int]]:
    """Returns the descriptors that connect two rooms, for each of them by letter."""
    if how == "socket":
        near, far = socket.socketpair()
        return [{"c": near.detach()}, {"c": far.detach()}]
    if how in ("stdio", "stdio_unbuffered"):
        to_partner, to_program = os.pipe(), os.pipe()
        return [{"i": to_program[0], "o": to_partner[1]}, {"i": to_partner[0], "o": to_program[1]}]
    return [{}, {}]


def memory_file(data: bytes | memoryview) -> int:
    """Returns a sealed memory file with these bytes."""
    number = os.memfd_create("run", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        done = 0
        while done < len(data):  # pwrite leaves the offset at 0, where readers start
            done += os.pwrite(number, data[done:] if done else data, done)
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(number)
        raise
    return number


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it may have exited already
        os.kill(pid, signal.SIGKILL)


def _end_init(init: int) -> None:
    if init:
        _kill(init)
        os.waitpid(init, 0)


def _exiting(pid: int) -> bool:
    try:
        return bool(int(stat(f"/proc/{pid}/stat")[6]) & _EXITING)
    except OSError:
        return True


def read(number: int, most: int = _PIPE) -> bytes | None:
    """Reads from a pipe: empty at its end, None if there is nothing yet."""
    try:
        return os.read(number, most)
    except BlockingIOError:
        return None
