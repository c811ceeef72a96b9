"""Reports of how a run ended: one for each room."""

from __future__ import annotations

import os
import signal
from typing import Any, Literal

from rewarden_sandboxes.agent import snapshot
from rewarden_sandboxes.agent.accounting import Clock, Counters
from rewarden_sandboxes.agent.frames import Body
from rewarden_sandboxes.agent.run import Room, Run

Doubt = Literal["over", "starved", "waited"]
Story = Literal[Doubt, "within", "decided"]
"""The certainty of a run's time. `within`: the program ended by itself within its limits. `over`: by itself, between
the soft and the hard limit of CPU time. `starved`: the host had no CPU for it. `waited`: it was idle for too long, but
only because it waited in the kernel. `decided`: it was ended at a limit, or failed."""


class Report:
    """A room's report. `doubt`: why the program's time is uncertain; None if it is not. `kept`: a descriptor with the
    collected files, or -1.
    """

    def __init__(self, room: Room, cpu: float, clock: Clock, peak: int | None) -> None:
        self.doubt: Doubt | None = None
        self.kept = room.kept
        self.flags: list[str] = []
        self.files: dict[str, bytes] = {}
        self.said: dict[str, Any] = {
            "status": "ok",
            "limit": None,
            "exit_code": None,
            "signal": None,
            "cpu_time": cpu,
            "wall_time": clock.wall,
            "idle_time": clock.idle,
            "peak_memory": peak,
            "truncated": room.cause == "output_bytes",
            "message": None,
        }
        self._output = {name: room.text(name) for name in ("stdout", "stderr", "reply")}

    def say(self, status: str, **details: Any) -> None:
        """Sets the status and its details."""
        self.said.update(details, status=status)

    @property
    def story(self) -> Story:
        """The certainty of the run's time."""
        return self.doubt or ("within" if self.said["status"] in ("ok", "runtime_error") else "decided")

    @property
    def end(self) -> tuple[Any, ...]:
        """Returns all that a verdict depends on, except for times."""
        return (self.said["exit_code"], self.said["signal"], *self._output.values(), *sorted(self.files.items()))

    def starve(self, message: str) -> None:
        """Notes that the host had no CPU for the run: its time means nothing, its output stands."""
        self.say("internal_error", message=message)
        if "starved" not in self.flags:
            self.flags.append("starved")

    def over(self, limit: str) -> None:
        """Notes that the time limit was certainly exceeded."""
        self.said.update(status="time_limit", limit=limit, exit_code=None, signal=None)

    def gather(self) -> None:
        """Reads the collected files into memory, and closes their descriptor."""
        if self.kept >= 0:
            index = snapshot.index(self.kept)
            self.files = {path: os.pread(self.kept, size, start) for path, _, start, size in index}
            self.close()

    def close(self) -> None:
        """Closes the descriptor of the collected files."""
        if self.kept >= 0:
            os.close(self.kept)
            self.kept = -1

    def wire(self, body: Body) -> dict[str, Any]:
        """Returns the report for a frame's header; byte strings go to the body."""
        told = dict(self.said, flags=self.flags)
        for name, data in self._output.items():
            told[name] = body.add(data)
        told["files"] = {path: body.add(data) for path, data in self.files.items()}
        return told


def reports(run: Run, counters: Counters, *, unharmed: bool) -> list[Report]:
    """Returns the reports of a run whose rooms are dead and drained. `unharmed`: the slot's own processes are alive."""
    for room in run.rooms:
        room.hear_last_words()
        run.clock.rooms[room.pid] = max(run.clock.rooms.get(room.pid, 0.0), room.used)
    shares = run.shares(run.clock.finish(sum(room.used for room in run.rooms)))
    peak = counters.peak()
    out_of_memory = run.out_of_memory
    memory = sum(room.limits["memory_mb"] << 20 for room in run.rooms)
    # A kernel that is slow to kill evicts the program's own code and reads it back, over and over.
    starved_of_memory = peak is not None and peak >= memory
    found = []
    for room, cpu in zip(run.rooms, shares, strict=True):
        report = Report(room, cpu, run.clock, None if peak is None else max(0, peak - room.size))
        timed_out = room.cause in ("cpu_s", "wall_s")
        _judge(report, room, run, out_of_memory=out_of_memory or (timed_out and starved_of_memory))
        found.append(report)
    if not unharmed:  # possible only without namespaces; it must not pay off
        found[0].say("runtime_error")
        found[0].flags.append("killed_sandbox")
    return found


def _judge(report: Report, room: Room, run: Run, *, out_of_memory: bool) -> None:
    first = room is run.rooms[0]
    if room.cause == "starved":
        report.doubt = "starved"
        report.starve("the host had no CPU for this run")
    elif out_of_memory and first:
        report.say("memory_limit", limit="memory_mb")
    elif room.cause in ("cpu_s", "wall_s"):
        report.over(room.cause)
        if room.cause == "wall_s" and run.clock.idle > room.limits["wall_s"]:
            report.doubt = _waited(room, run)
    else:
        tell_end(report, room)
        if room.status is None and report.said["status"] == "runtime_error" and not room.full:
            report.flags.append("killed_with_partner")  # the partner's report says why
    if first and report.said["status"] in ("ok", "runtime_error"):
        if run.clock.idle > room.limits["wall_s"]:
            report.doubt = _waited(room, run)
            if report.doubt is None:
                report.over("wall_s")  # sleep is not noise of the host
        elif report.said["cpu_time"] > room.limits["cpu_s"]:
            report.doubt = "over"
        elif run.clock.idle + run.unseen > room.limits["wall_s"]:
            # The checks came late. If the host's CPUs were idle too, the program slept; if not, it was starved.
            if run.clock.spare >= run.unseen:
                report.over("wall_s")
            else:
                report.doubt = "starved"


def tell_end(report: Report, room: Room) -> None:
    """Reports the end of a room that was within its time and memory."""
    if room.cause == "output_bytes":
        report.say("output_limit", limit="output_bytes")
    elif room.full:
        report.say("runtime_error", limit="disk_mb", message=room.trouble)
    elif room.trouble is not None:
        report.say("internal_error", message=room.trouble)
    elif room.status is None:
        report.say("runtime_error", signal=int(signal.SIGKILL))
    elif os.WIFSIGNALED(room.status):
        number = os.WTERMSIG(room.status)
        report.say("runtime_error", signal=number)
        if number == signal.SIGXCPU:  # RLIMIT_CPU, which catches what happens between two checks
            report.over("cpu_s")
    else:
        code = os.WEXITSTATUS(room.status)
        report.say("ok" if code == 0 else "runtime_error", exit_code=code)


def _waited(room: Room, run: Run) -> Literal["waited"] | None:
    """Returns the doubt about a room that was idle for too long: waiting for the host's disk is not sleep."""
    return "waited" if run.clock.idle - run.clock.waited <= room.limits["wall_s"] else None
