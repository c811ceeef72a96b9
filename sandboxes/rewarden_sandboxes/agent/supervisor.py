"""The supervisor: the first process of a slot, and the only one that sees requests. It reads jobs, runs and reports
them.

It handles one job, compilation, session or box at a time. A job's cases run one after the other, each in fresh rooms. A
room ends with its program, at a limit, or when the host cancels or disappears. Its init is then killed and reaped,
which kills all of its processes; only after that are its pipes drained and the report made.
"""

from __future__ import annotations

import mmap
import os
import socket
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rewarden_sandboxes.agent.accounting import Counters
from rewarden_sandboxes.agent.box import Box
from rewarden_sandboxes.agent.frames import Body, FrameError, receive, send, view, window
from rewarden_sandboxes.agent.reports import Report, Story, reports
from rewarden_sandboxes.agent.run import HARD, Part, Room, Run, memory_file
from rewarden_sandboxes.agent.session import Session
from rewarden_sandboxes.agent.zygotes import Broken, Overfull, Zygotes

_MOST_RUNS = 3
"""Most runs of a case until two agree."""

_NETWORKERS = (
    *(b"socket", b"asyncio", b"signal", b"subprocess", b"http", b"multiprocessing"),
    *(b"sigaction", b"fork(", b"popen(", b"system("),
)
"""Words of programs that probably need a network. A wrong guess costs a second start."""

_COMPILED_AT = 946_684_800
"""The modification time of all sources, in seconds since 1970. Attack: code whose compilation depends on the clock."""


class Gone(Exception):
    """The host has disconnected."""


class Stopped(Exception):
    """The host has cancelled the job."""


class Supervisor:
    """See the module. `given`: the counters' descriptors, by name."""

    def __init__(self, host: socket.socket, hello: dict[str, Any], given: dict[str, int], zygotes: Zygotes) -> None:
        self._host = host
        # Before the counters' descriptors are taken: it is one among them only on the way here.
        self._out = socket.socket(fileno=given.pop("network")) if "network" in given else None
        self._alone = not hello["rooms"]
        self._inodes = int(hello["inodes"])
        self._env = {str(key): str(value) for key, value in hello["env"].items()}
        self._zygotes = zygotes
        self._unheard = self._alone
        self._counters = Counters(given)
        self._tell(
            {
                "ev": "ready",
                "tiers": self._zygotes.tiers,
                "missing": self._zygotes.missing,
                "enforced": self._enforced(),
            }
        )

    def serve(self) -> None:
        """Handles jobs until the host disconnects. Raises Gone."""
        while True:
            try:
                header, body = receive(self._host, self._counters.make_room)
            except FrameError:
                raise Gone from None
            try:
                if header["op"] == "job":
                    self._job(header, body)
                elif header["op"] == "compile":
                    self._compile(header, body)
                elif header["op"] == "session":
                    self._session(header, body)
                elif header["op"] == "box":
                    self._box(header)
                elif header["op"] == "warm":
                    self._zygotes.warm(header["tier"])
                    self._tell({"ev": "warm", "tiers": self._zygotes.tiers})
                else:  # a cancellation, or input of a session, that came too late
                    continue
            except Stopped:
                pass
            except Broken as error:
                self._tell({"ev": "broken", "message": str(error), "full": isinstance(error, Overfull)})
            self._tell({"ev": "end"})

    # --- jobs ------------------------------------------------------------------------------------------------------

    def _job(self, job: dict[str, Any], body: bytes) -> None:
        kept: dict[str, int] = {}
        job["network"] = _begins_with_network(job, body)
        try:
            for who in ("program", "partner"):
                program = job.get(who)
                if program is not None and program["made"] is not None:
                    kept[who] = memory_file(window(body, program["made"]))
            for index, case in enumerate(job["cases"]):
                self._case(index, job, case, body, kept)
        finally:
            for number in kept.values():
                os.close(number)

    def _compile(self, job: dict[str, Any], body: bytes) -> None:
        """Compiles, and sends the host the resulting content of the working folder. Nothing else outlives the room."""
        command = {**job["program"], "python": False, "mode": "script", "tier": "bare", "args": []}
        command |= {"env": {"SOURCE_DATE_EPOCH": str(_COMPILED_AT)}, "modified": _COMPILED_AT}
        case = {"limits": job["limits"], "files": {}, "stdin": [0, 0], "request": [0, 0], "args": []}
        job |= {"network": True, "join": ""}
        [report] = self._certain([Part("program", command, case, -1, [])], job, body)[-1]
        try:
            out = Body()
            told: dict[str, Any] = {"ev": "compile", "report": report.wire(out), "made": None}
            if report.said["status"] == "ok" and report.kept >= 0:
                told["made"] = out.add(memoryview(mmap.mmap(report.kept, 0, prot=mmap.PROT_READ)))
            self._tell(told, out)
        finally:
            report.close()

    def _case(self, index: int, job: dict[str, Any], case: dict[str, Any], body: bytes, kept: dict[str, int]) -> None:
        collect = job["collect"]
        parts = [Part("program", job["program"], case, kept.get("program", -1), collect)]
        if job.get("partner") is not None:
            parts.append(Part("partner", job["partner"], case["partner"], kept.get("partner", -1), collect))
        runs = self._certain(parts, job, body)
        for report in runs[-1]:
            report.gather()
        out = Body()
        told: dict[str, Any] = {"ev": "case", "index": index, **_told(parts, runs[-1], out)}
        told["earlier"] = [_told(parts, run, out) for run in _different(runs)]
        self._tell(told, out)

    def _session(self, session: dict[str, Any], body: bytes) -> None:
        part = Part("program", session["program"], session["case"], -1, None)
        with Run(self._zygotes, self._counters, self._env, self._inodes, [part], body, network=True) as run:
            fed = Session(run, run.open_fed(part, body), self._tell, self._heard)
            try:
                self._tell({"ev": "begun"})
                fed.serve(self._host)
            except FrameError:
                raise Gone from None
            finally:
                fed.close()
            [report] = reports(run, self._counters, unharmed=True)
            if report.story == "waited":
                report.over("wall_s")
        out = Body()
        self._tell({"ev": "ended", "report": report.wire(out)}, out)

    def _box(self, told: dict[str, Any]) -> None:
        with Box(
            self._zygotes, self._counters, self._env, self._inodes, told, self._tell, self._heard, self._out
        ) as box:
            box.open()
            self._tell({"ev": "opened"})
            try:
                box.serve(self._host)
            except FrameError:
                raise Gone from None

    def _certain(self, parts: Sequence[Part], job: dict[str, Any], body: bytes) -> list[list[Report]]:
        """Runs a case until its outcome is certain. Returns the reports of every run; the last ones are the outcome.

        A program that ended by itself between the soft and the hard limit of CPU time may have been slowed by the host,
        so it is run again: two of at most three runs must agree that it is over its limit, or within. Three runs that
        all differ are a time-out. A run that the host starved says nothing; two of them are the host's fault. A run
        that waited too long for the host's disk finds the pages in memory the next time; two of them are a time-out.

        Attack: take a random time around the limit in order to go unscored. Time alone never leaves a run unscored.
        Attack: sleep in a child of `vfork`, which looks like a slow disk.
        """
        runs: list[list[Report]] = []
        stories: Counter[Story] = Counter()
        while True:
            runs.append(self._run(parts, job, body))
            program = runs[-1][0]
            stories[program.story] += 1
            settled = program.story == "decided" or (program.story == "within" and not stories["over"])
            if settled or job["once"] or stories[program.story] == 2 or len(runs) == _MOST_RUNS:
                break
            if program.story == "waited" and program.said["status"] == "time_limit":
                program.starve("it waited for a disk of the host")
        if not settled:
            if program.story == "waited":
                program.over("wall_s")
            elif program.story == "starved" and (job["once"] or stories["starved"] == 2):
                program.starve("the host had no CPU for this run")
            elif stories["within"] < 2:
                program.over("cpu_s")
        if len(runs) > 1:
            for report in runs[-1]:
                report.flags.append("rerun")
        for report in (report for earlier in runs[:-1] for report in earlier):
            report.gather()
        return runs

    def _run(self, parts: Sequence[Part], job: dict[str, Any], body: bytes) -> list[Report]:
        def ends(partner: Room) -> bool:
            if job["join"] == "socket":
                return True  # the tests are over; the candidate's room would only wait for more calls
            return partner.exit_code in job["rejecting"]

        hard = 1.0 if job["once"] else HARD
        while True:
            network = job["network"] or self._unheard
            with Run(self._zygotes, self._counters, self._env, self._inodes, parts, body, hard, network=network) as run:
                run.open(parts, job["join"], body)
                run.watch(self._host, self._heed, self._rest, ends)
                if network or not (run.wants_network or run.unheard):
                    return reports(run, self._counters, unharmed=not self._alone or self._zygotes.alive)
            # Nothing has left that run, so it can be repeated. All further runs of the job start with a network.
            job["network"] = job["network"] or run.wants_network
            self._unheard = self._unheard or run.unheard

    # --- the host --------------------------------------------------------------------------------------------------

    def _heed(self) -> None:
        """Handles a message in the middle of a job: a cancellation, or a disconnection of the host."""
        self._heard()
        raise Gone

    def _heard(self) -> tuple[dict[str, Any], bytes]:
        """Returns the host's next message. Raises Stopped for a cancellation, and Gone."""
        try:
            header, body = receive(self._host)
        except FrameError:
            raise Gone from None
        if header["op"] == "stop":
            raise Stopped
        return header, body

    def _rest(self, resting: bool) -> None:
        self._tell({"ev": "idle" if resting else "busy"})

    def _enforced(self) -> dict[str, str]:
        counters = self._counters
        return {
            "cpu_s": "cgroup" if counters.counts_cpu else "polled",
            "wall_s": "supervisor",
            "memory_mb": "cgroup" if counters.sees_oom else "per_process",
            "processes": "cgroup" if os.getuid() == 0 else "rlimit",  # the kernel exempts user 0 from its own limit
            "output_bytes": "supervisor",
            "disk_mb": "per_file" if self._alone else "tmpfs",
            "open_files": "rlimit",
        }

    def _tell(self, header: dict[str, Any], body: Body | None = None) -> None:
        try:
            send(self._host, header, body)
        except OSError:
            raise Gone from None


def _begins_with_network(job: dict[str, Any], body: bytes) -> bool:
    """Returns whether a job's runs have a network from the start, and so are never repeated to get one.

    Attack: learn what tests or a partner chose at random, and force a repeat if it does not suit. Attack: use up the
    time before the repeat, where the caller's clock is the limit. Programs in most other languages handle signals from
    their first moment.
    """
    program = job["program"]
    if job["once"] or job.get("partner") is not None or program["mode"] == "shared" or not program["late_network"]:
        return True
    code = view(body, program["code"])
    return any(word in code for word in _NETWORKERS)


def _told(parts: Sequence[Part], run: Sequence[Report], out: Body) -> dict[str, Any]:
    """Returns a run's reports for a frame's header, by room."""
    return {part.who: report.wire(out) for part, report in zip(parts, run, strict=True)}


def _different(runs: Sequence[Sequence[Report]]) -> list[Sequence[Report]]:
    """Returns the earlier runs whose end or output differs from that of every later run.

    Attack: print something else each time and take a random time, so that only a run that happens to be right counts.
    """
    ends = [[report.end for report in run] for run in runs]
    return [run for place, run in enumerate(runs[:-1]) if ends[place] not in ends[place + 1 :]]
