"""An exec: one program in a box, with input from and output to the host while it runs. It ends when its process ends.
Processes that it leaves behind are orphans of the box: their later output is discarded, and they end with the box.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import termios
import time
from typing import Any

from rewarden_sandboxes.agent.accounting import Clock, held, members
from rewarden_sandboxes.agent.frames import Body
from rewarden_sandboxes.agent.reports import Report, tell_end
from rewarden_sandboxes.agent.run import HARD, Room, read
from rewarden_sandboxes.agent.streams import Inlet, Outlet, Tell


class Exec:
    """See the module. `room`: its process, without an init of its own. `inlet`: its stdin; None if empty. `helper`: it
    is ours, and runs outside the box. `memory_kills`: the number of earlier kills for memory in the box.
    """

    def __init__(
        self, number: int, room: Room, clock: Clock, inlet: Inlet | None, tell: Tell, *, helper: bool, memory_kills: int
    ) -> None:
        self.number = number
        self.room = room
        self.clock = clock
        self.inlet = inlet
        self.helper = helper
        self.shared = False
        self._tell = tell
        self._outlet = Outlet(tell, {"n": number})
        self._open = dict(room.pipes)
        self._left: dict[str, int] = {}
        self._written = 0
        self._memory_kills = memory_kills
        self._killed_for_memory = False

    @property
    def over(self) -> bool:
        """True if it has ended and the host has all of its output."""
        return self.room.ended and not self._open

    @property
    def pid(self) -> int:
        """Its process."""
        return self.room.pid

    def share(self) -> None:
        """Notes that something else runs in the box."""
        if not self.shared:
            self.shared = True
            self.clock.share([] if self.room.ended else [(self.pid, 0)])

    def grant(self, size: int) -> None:
        """Notes that the host has read this many bytes."""
        self._outlet.credit += size

    def awaited(self) -> list[int]:
        """The descriptors to poll for input."""
        found = list(self._open.values()) if self._outlet.credit else []
        return found if self.room.ended else [*found, self.room.watch]

    def turn(self, ready: set[int], memory_kills: int) -> None:
        """Handles whatever is ready."""
        if not self.room.ended and self.room.watch in ready:
            self._reap(memory_kills)
        if self.inlet is not None and self.inlet.number in ready:
            self.inlet.write()
        for name, number in list(self._open.items()):
            if number in ready or self.room.ended:
                self._pass_on(name, number)

    def _reap(self, memory_kills: int) -> None:
        self.room.reap()
        self._killed_for_memory = memory_kills > self._memory_kills and self._shot
        if self.inlet is not None:
            self.inlet.drop()
        for name, number in self._open.items():  # its orphans may write to it forever
            self._left[name] = struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, bytes(4)))[0]

    @property
    def _shot(self) -> bool:
        status = self.room.status
        return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def _pass_on(self, name: str, number: int) -> None:
        room = self.room
        most = room.limits["output_bytes"] - self._written
        if room.ended:
            most = min(most, self._left[name])
        if most > 0:
            data = self._outlet.pass_on(number, most, stream=name)
            self._written += len(data or b"")
            if room.ended:
                self._left[name] -= len(data or b"")
        elif room.ended:
            data = b""
            if self._left[name]:  # it ended before we noticed that it had written too much
                room.cause = room.cause or "output_bytes"
        else:
            data = read(number, 1)
            if data:
                self.end("output_bytes")
        if data == b"" or (room.ended and (not self._left[name] or room.cause == "output_bytes")):
            del self._open[name]

    # --- signals and limits ----------------------------------------------------------------------------------------

    def signal(self, number: int, *, group: bool) -> None:
        """Sends a signal to its process, or to its whole process group."""
        if self.room.ended:
            return
        if group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
                return
        # It has just started and has no group yet, or only the process was meant.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, number)

    def end(self, cause: str) -> None:
        """Kills its process, its group, and its known children. `cause`: the limit that it reached."""
        if self.room.ended or self.room.cause is not None:
            return
        self.room.cause = cause
        begun = [pid for pid, _ in members([(self.pid, 0)]) if pid != self.pid]
        self.signal(signal.SIGKILL, group=True)
        for pid in begun:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.signal(signal.SIGKILL, group=False)

    def look(self) -> None:
        """Measures its usage, and ends it if a limit is exceeded."""
        if self.room.ended:
            return
        limits = self.room.limits
        cpu = self.clock.tick([(self.pid, 0)])
        if cpu > HARD * limits["cpu_s"]:
            self.end("cpu_s")
        elif self.clock.idle > limits["wall_s"]:
            self.end("wall_s")

    def told_clock(self) -> dict[str, Any]:
        """Returns its usage so far."""
        self.look()
        memory = 0 if self.room.ended else held((self.pid, 0))
        return {"cpu_s": self.clock.cpu(), "idle_s": self.clock.idle, "memory": memory}

    # --- the end ---------------------------------------------------------------------------------------------------

    def tell_end(self, memory_kills: int) -> None:
        """Reports to the host how it ended."""
        room = self.room
        room.hear()
        report = Report(room, self.clock.finish(room.used), self.clock, None)
        limits = room.limits
        if room.cause == "memory_mb" or self._killed_for_memory:
            report.say("memory_limit", limit="memory_mb")
        elif room.cause in ("cpu_s", "wall_s"):
            report.over(room.cause)
        else:
            tell_end(report, room)
            within = report.said["status"] in ("ok", "runtime_error")
            if within and report.said["cpu_time"] > limits["cpu_s"]:
                report.over("cpu_s")
            elif within and self.clock.idle > limits["wall_s"]:
                report.over("wall_s")
            elif memory_kills > self._memory_kills:
                report.flags.append("memory_kill")
        if self.shared:
            report.flags.append("shared_clock")
        out = Body()
        self._tell({"ev": "ended", "n": self.number, "report": report.wire(out)}, out)

    def close(self) -> None:
        """Kills it if it is alive, and closes its descriptors."""
        if not self.room.ended:
            self.room.end()
        if self.inlet is not None:
            self.inlet.close()
        self.room.close()


def soonest(execs: list[Exec]) -> float:
    """Returns when to look at these again: sooner if one of them is running."""
    live = [each for each in execs if not each.room.ended]
    if not live:
        return float("inf")
    return time.monotonic() + (1.0 if all(each.clock.resting for each in live) else 0.1)
