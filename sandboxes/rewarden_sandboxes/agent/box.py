"""A box: namespaces with a writable root that exist for as long as the host wants, and the execs in them.

Its init and its root are made once. A zygote clones each exec into the box's pid namespace, and the exec enters the
other namespaces before it becomes the program. The supervisor is its parent, so the kernel alone reports how it ended.
Our own execs work on files: they see the box's folders from another pid namespace, so the box's programs can neither
see nor signal them. When init is killed, the kernel kills everything that is left.

The box has one limit each for memory, disk and processes; each exec may have further limits of its own. Files are in
memory, but do not count against the programs' memory.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import shlex
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from rewarden_sandboxes.agent.accounting import Clock, Counters, held, members, moving
from rewarden_sandboxes.agent.exec import Exec, soonest
from rewarden_sandboxes.agent.frames import Body
from rewarden_sandboxes.agent.run import Part, open_room, plan
from rewarden_sandboxes.agent.streams import Inlet, Tell
from rewarden_sandboxes.agent.zygotes import Broken, Crowded, Overfull, Zygotes

_TIER, _PROGRAMS = "box", "bare"
"""The zygotes for work on files and for programs. A zygote that has entered the box's pid namespace cannot leave it,
and neither can its later clones.
"""
_CODE, _PLACES = "/tmp/code", 128
"""The folder of the programs' texts, and the number of places in it: twice the number of a box's concurrent
programs."""
_NONE = float("inf")
_INSIDE, _LAYERS = "mhwu", "m"
_READ_ALL = 1 << 2
"""CAP_DAC_READ_SEARCH: snapshots and archives include files that the box's user made unreadable for itself."""
_TRIES, _PAUSE_S = 500, 0.002
"""Checks that all processes have stopped: their number, and the interval in seconds. A process that waits in the
kernel, as for a child of `vfork`, does nothing either."""

Said = tuple[dict[str, Any], bytes]


class Box:
    """See the module. `told`: from the host's order. `out`: where the host gets the box's listening socket. Use it in a
    `with` block, after which none of its processes is left."""

    def __init__(
        self,
        zygotes: Zygotes,
        counters: Counters,
        env: dict[str, str],
        inodes: int,
        told: dict[str, Any],
        tell: Tell,
        heard: Callable[[], Said],
        out: socket.socket | None = None,
    ) -> None:
        self._zygotes = zygotes
        self._counters = counters
        self._env = {**env, **told["env"]}
        self._limits: dict[str, Any] = told["limits"]
        self._folder: str = told["folder"]
        self._inodes = inodes
        self._tell = tell
        self._heard = heard
        self._port = int(told.get("port", 0))
        self._out = out
        self._execs: dict[int, Exec] = {}
        self._places: dict[int, int] = {}
        self._disk = self._layers = -1
        self._namespaces: list[int] = []
        self._held: list[Said] | None = None
        self._stopped: set[int] = set()
        self._next_look = _NONE
        self._kills = counters.oom_kills()
        zygotes.warm(_TIER)
        # Attack: fill the memory with files, which no kill frees, so that the supervisor is the next to run out.
        counters.begin_memory(self._limits["memory_mb"] << 20, beside=self._limits["disk_mb"] << 20)
        self._clock = Clock(counters)
        self._init = zygotes.init()
        self._watch = os.pidfd_open(self._init)

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._init, signal.SIGKILL)
        for each in self._execs.values():  # before init, which stays until they are reaped
            each.close()
        os.waitpid(self._init, 0)
        for number in (self._watch, self._disk, self._layers, *self._namespaces):
            if number >= 0:
                os.close(number)

    def open(self) -> None:
        """Builds its root. Raises Broken."""
        limits = {**self._limits, "cpu_s": _NONE, "wall_s": _NONE, "output_bytes": 0}
        part = _part({"request": [0, 0]}, limits, _TIER)
        told = self._plan(part, b"", {}, place="builder", init=self._init, folder=self._folder, port=self._port)
        room = open_room(self._zygotes, part, 0, told, {}, b"", inside=0)
        try:
            room.reap()
            with contextlib.suppress(OSError):
                message, numbers, _, _ = socket.recv_fds(room.channel, 4096, 7)
                if message == b"S":
                    self._hand_over(numbers[6:])
                    self._disk, self._layers, *self._namespaces = numbers[:6]
                    return
                kind = Overfull if message[:1] == b"D" else Broken
                raise kind(f"the box's root could not be built: {message[1:].decode('utf-8', 'replace')}")
            raise Broken("the box's root could not be built")
        finally:
            room.close()

    def _hand_over(self, doors: list[int]) -> None:
        """Gives the host the socket on which the box's programs reach it; none of them ever holds it."""
        for number in doors:
            try:
                if self._out is not None:
                    socket.send_fds(self._out, [b"L"], [number])
            finally:
                os.close(number)

    def serve(self, host: socket.socket) -> None:
        """Serves until the host ends it, which `heard` raises. Raises Broken if it ends by itself."""
        while True:
            ready = self._poll(host)
            self._mind_memory()
            if self._watch in ready:
                raise Broken("the box's init was killed")
            if host.fileno() in ready:
                self._heed(*self._heard())
            for each in list(self._execs.values()):
                each.turn(ready, self._kills)
                if each.over:
                    del self._execs[each.number], self._places[each.number]
                    if self._has_orphans():
                        each.share()
                    each.tell_end(self._kills)
                    each.close()
            if time.monotonic() >= self._next_look:
                self._look()

    def _poll(self, host: socket.socket) -> set[int]:
        poll = select.poll()
        for number in (host.fileno(), self._watch):
            poll.register(number, select.POLLIN)
        for each in self._execs.values():
            for number in each.awaited():
                poll.register(number, select.POLLIN)
            if each.inlet is not None and each.inlet.waits:
                poll.register(each.inlet.number, select.POLLOUT)
        wait = None if self._next_look == _NONE else max(0.0, (self._next_look - time.monotonic()) * 1000 + 0.5)
        return {number for number, _ in poll.poll(wait)}

    # --- what the host says ------------------------------------------------------------------------------------------

    def _heed(self, header: dict[str, Any], body: bytes) -> None:
        op = header["op"]
        if op == "exec":
            if self._held is not None and not header["helper"]:
                self._held.append((header, body))  # it starts when the others are resumed
            else:
                self._begin(header, body)
        elif op == "still":
            (self._stop if header["still"] else self._resume)()
            self._tell({"ev": "still", "still": header["still"]})
        elif op == "usage":
            self._tell({"ev": "usage", **self._told_clock()})
        elif op == "clock" and header["n"] is None:
            self._tell({"ev": "clock", "n": None, **self._told_clock()})
        else:
            self._heed_exec(op, header, body)

    def _told_clock(self) -> dict[str, Any]:
        memory = held((self._init, self._init)) + sum(held((each.pid, 0)) for each in self._programs())
        about = os.fstatvfs(self._disk)
        disk = (about.f_blocks - about.f_bfree) * about.f_frsize
        processes = sum(pid != self._init for pid, _ in members(self._rooms()))
        return {"cpu_s": self._clock.cpu(), "idle_s": 0.0, "memory": memory, "disk": disk, "processes": processes}

    def _heed_exec(self, op: str, header: dict[str, Any], body: bytes) -> None:
        each = self._execs.get(header["n"])
        if each is None:
            if op == "clock":
                self._tell({"ev": "clock", "n": header["n"], "cpu_s": 0.0, "idle_s": 0.0, "memory": 0})
            if op == "kill" and self._held:
                self._held = [said for said in self._held if said[0]["n"] != header["n"]]
        elif op == "data" and each.inlet is not None:
            each.inlet.feed(body)
        elif op == "eof" and each.inlet is not None:
            each.inlet.finish()
        elif op == "credit":
            each.grant(int(header["bytes"]))
        elif op == "signal":
            each.signal(int(header["signal"]), group=bool(header["group"]))
        elif op == "kill":
            each.end("closed")
        elif op == "clock":
            if self._held is not None and not each.helper:
                each.clock.skip()  # we stopped it, so it is not idle
            self._tell({"ev": "clock", "n": each.number, **each.told_clock()})
        self._next_look = min(self._next_look, soonest(list(self._execs.values())))

    def _begin(self, header: dict[str, Any], body: bytes) -> None:
        number, helper = int(header["n"]), bool(header["helper"])
        if (
            self._counters.full
        ):  # for example of System V segments: no process owns them, so the kernel would kill the new exec instead
            self._counters.give_air()
        limits = {**self._limits, **dict.fromkeys(("cpu_s", "wall_s", "output_bytes"), _NONE), **header["limits"]}
        place = self._free_place(number)
        part = _part(_placed(header["program"], place), limits, _TIER if helper else _PROGRAMS)
        layers = bool(header["layers"])
        keeps = _READ_ALL if header["reads_all"] else 0
        told = self._plan(part, body, header["env"], place="box", cwd=header["cwd"], keeps=keeps)
        entered = [self._layers] if layers else self._namespaces
        ends = dict(zip(_LAYERS if layers else _INSIDE, entered, strict=True))
        inlet: Inlet | None = None
        far = -1
        try:
            if header["stdin"]:
                far, near = os.pipe()
                os.set_blocking(near, False)
                inlet = Inlet(near, lambda size: self._tell({"ev": "taken", "n": number, "bytes": size}))
                ends["i"] = far
            room = open_room(self._zygotes, part, 0, told, ends, body, inside=0 if helper else self._init)
        except Crowded:
            if inlet is not None:
                inlet.close()
            self._refuse(number, helper=helper)
            return
        except BaseException:
            if inlet is not None:
                inlet.close()
            raise
        finally:
            if far >= 0:
                os.close(far)
        each = Exec(number, room, Clock(self._counters), inlet, self._tell, helper=helper, memory_kills=self._kills)
        self._execs[number] = each
        self._places[number] = place
        if len(self._execs) > 1 or self._has_orphans():
            for other in self._execs.values():
                other.share()
        self._tell({"ev": "begun", "n": number})
        self._next_look = min(self._next_look, soonest([each]))

    def _refuse(self, number: int, *, helper: bool) -> None:
        """Ends an exec that cannot start. Attack: fork until nobody can look at the files."""
        message = "the box has as many processes as it may have"
        self._tell({"ev": "begun", "n": number})
        if helper:
            said = Body()
            said.add(json.dumps({"errno": errno.EAGAIN, "message": message, "path": ""}).encode())
            self._tell({"ev": "data", "n": number, "stream": "stderr"}, said)
        out = Body()
        nothing = {name: out.add(b"") for name in ("stdout", "stderr", "reply")}
        report: dict[str, Any] = {
            **dict.fromkeys(("exit_code", "signal", "peak_memory")),
            **dict.fromkeys(("cpu_time", "wall_time", "idle_time"), 0.0),
            **nothing,
            "status": "runtime_error",
            "limit": "processes",
            "message": message,
            "truncated": False,
            "flags": [],
            "files": {},
        }
        self._tell({"ev": "ended", "n": number, "report": report}, out)

    def _free_place(self, number: int) -> int:
        """Returns a place for a program's text. A shell reads its script line by line, so a place in use is never
        written to."""
        taken = set(self._places.values())
        return next((place for each in range(_PLACES) if (place := (number + each) % _PLACES) not in taken), number)

    def _plan(self, part: Part, body: bytes, env: dict[str, str], **place: Any) -> bytes:
        return plan(
            part,
            body,
            {**self._env, **env},
            inodes=self._inodes,
            channel=False,
            network=True,
            data_limit=not self._counters.sees_oom,
            **place,
        )

    # --- its processes -----------------------------------------------------------------------------------------------

    def _programs(self) -> list[Exec]:
        return [each for each in self._execs.values() if not each.helper and not each.room.ended]

    def _rooms(self) -> list[tuple[int, int]]:
        return [(self._init, self._init), *((each.pid, 0) for each in self._programs())]

    def _has_orphans(self) -> bool:
        """Returns whether a process that an exec left behind is alive."""
        with open(f"/proc/{self._init}/task/{self._init}/children", "rb") as file:
            return bool(file.read(1))

    def _stop(self) -> None:
        """Stops all of the box's processes, and starts no new ones."""
        self._held = self._held if self._held is not None else []
        for tried in range(_TRIES):
            newest = _newest()
            found = [pid for pid in moving(self._rooms()) if pid != self._init]
            # Attack: a process that forks and exits again and again, so that it is gone whenever we look.
            if not found and _newest() == newest:
                return
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                    self._stopped.add(pid)
            if tried:
                time.sleep(_PAUSE_S)

    def _resume(self) -> None:
        """Resumes them, except for those that the box's own programs had stopped."""
        for pid, _ in members(self._rooms()):
            if pid in self._stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        self._stopped.clear()
        for each in self._execs.values():
            each.clock.skip()
        held_back, self._held = self._held or [], None
        for said in held_back:
            self._begin(*said)

    # --- looking -----------------------------------------------------------------------------------------------------

    def _mind_memory(self) -> None:
        """Checks for kills by the kernel before anything else: a killed process may hold its memory a little longer."""
        kills = self._counters.oom_kills()
        if kills > self._kills:
            self._kills = kills
            self._counters.give_air()
            self._next_look = min(self._next_look, time.monotonic() + 0.1)

    def _look(self) -> None:
        live = [each for each in self._execs.values() if not each.room.ended]
        if self._counters.thrashes():
            self._end_largest()
        self._counters.take_air()
        for each in live:
            if not (self._held is not None and not each.helper):
                each.look()
        self._next_look = soonest(live)

    def _end_largest(self) -> None:
        """Ends the process that holds the most memory, because the box makes no progress without more of it."""
        programs = self._programs()
        largest = max(programs, key=lambda each: held((each.pid, 0)), default=None)
        orphans = [pid for pid, _ in members([(self._init, self._init)]) if pid != self._init]
        if largest is not None and held((largest.pid, 0)) >= held((self._init, self._init)):
            largest.end("memory_mb")
            return
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _newest() -> bytes:
    """Returns the number of the newest process in the slot."""
    with open("/proc/loadavg", "rb") as file:
        return file.read().split()[-1]


def _placed(program: dict[str, Any], place: int) -> dict[str, Any]:
    """Returns the program with its text outside the working folder, so that the box's own files are left alone."""
    name = program.get("file")
    if not name:
        return program
    folder = f"{_CODE}/{place}"
    path = f"{folder}/{name}"
    if program.get("compile"):
        run = _compiling(folder, program["compile"], program["run"])
    else:
        run = [path if word == name else word for word in program["run"]]
    return {**program, "file": path, "run": run}


def _compiling(folder: str, compiler: list[str], run: list[str]) -> list[str]:
    """Returns a command that compiles in a folder and then becomes the program; words of its command that start with
    `./` are in that folder. The program starts in the same folder as without a compiler, with its input.
    """
    program = [f"{folder}/{word[2:]}" if word.startswith("./") else word for word in run]
    compiles = f"(cd {folder} && exec {shlex.join(compiler)}) < /dev/null >&2"
    return ["/bin/sh", "-c", f'{compiles} || exit; exec {shlex.join(program)} "$@"', program[0]]


def _part(program: dict[str, Any], limits: dict[str, Any], tier: str) -> Part:
    """Returns a program in the form that rooms take."""
    nothing: dict[str, Any] = {"python": True, "mode": "script", "file": "", "code": [0, 0], "files": {}, "args": []}
    case = {"limits": limits, "stdin": [0, 0], "request": program.get("request", [0, 0]), "files": {}, "args": []}
    return Part("program", {**nothing, "run": [], **program, "tier": tier}, case, -1, None)
