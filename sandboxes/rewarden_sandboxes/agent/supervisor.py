"""The supervisor: reads jobs, has them run, reports. The first process of a slot, and the only one that sees requests.

It has one job or session at a time; a job's cases run one after the other, each in fresh rooms. A room ends when its
program does, when a limit is reached, or when the host says stop or is gone; then its init is killed and reaped, so
that nothing of it lives, and only then its pipes are drained and the report is made.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

from rewarden_sandboxes.agent import snapshot
from rewarden_sandboxes.agent.accounting import Counters
from rewarden_sandboxes.agent.frames import Body, FrameError, receive, send
from rewarden_sandboxes.agent.reports import Report, reports
from rewarden_sandboxes.agent.run import HARD, Part, Run
from rewarden_sandboxes.agent.session import Session
from rewarden_sandboxes.agent.zygotes import Broken, Zygotes


class Gone(Exception):
    """The host is gone."""


class Stopped(Exception):
    """The host wants no more of this job."""


class Supervisor:
    """See the module. `given`: the counters' descriptors, by name."""

    def __init__(self, host: socket.socket, hello: dict[str, Any], given: dict[str, int], zygotes: Zygotes) -> None:
        self._host = host
        self._alone = not hello["rooms"]
        self._inodes = int(hello["inodes"])
        self._env = {str(key): str(value) for key, value in hello["env"].items()}
        self._zygotes = zygotes
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
        """Jobs, until the host is gone. Raises Gone."""
        while True:
            try:
                header, body = receive(self._host)
            except FrameError:
                raise Gone from None
            try:
                if header["op"] == "job":
                    self._job(header, body)
                elif header["op"] == "session":
                    self._session(header, body)
                elif header["op"] == "warm":
                    self._zygotes.warm(header["tier"])
                    self._tell({"ev": "warm", "tiers": self._zygotes.tiers})
                else:  # a stop, or what was meant for a session, that came too late
                    continue
            except Stopped:
                pass
            except Broken as error:
                self._tell({"ev": "broken", "message": str(error)})
            self._tell({"ev": "end"})

    # --- jobs ------------------------------------------------------------------------------------------------------

    def _job(self, job: dict[str, Any], body: bytes) -> None:
        kept: dict[str, int] = {}
        try:
            for who in ("program", "partner"):
                program = job.get(who)
                if program is not None and program["compile"]:
                    report = self._compile(who, program, body)
                    if report.said["status"] != "ok":
                        report.close()
                        return
                    kept[who] = report.kept
            for index, case in enumerate(job["cases"]):
                self._case(index, job, case, body, kept)
        finally:
            for number in kept.values():
                os.close(number)

    def _compile(self, who: str, program: dict[str, Any], body: bytes) -> Report:
        command = {**program, "run": program["compile"], "python": False, "mode": "script", "tier": "bare", "args": []}
        case = {"limits": program["compile_limits"], "files": {}, "stdin": [0, 0], "request": [0, 0], "args": []}
        report = self._certain([Part(who, command, case, -1, [])], "", body)[0]
        out = Body()
        self._tell({"ev": "compile", "who": who, "report": report.wire(out)}, out)
        return report

    def _case(self, index: int, job: dict[str, Any], case: dict[str, Any], body: bytes, kept: dict[str, int]) -> None:
        collect = job["collect"]
        parts = [Part("program", job["program"], case, kept.get("program", -1), collect)]
        if job.get("partner") is not None:
            parts.append(Part("partner", job["partner"], case["partner"], kept.get("partner", -1), None))
        found = self._certain(parts, job["join"], body)
        out = Body()
        told: dict[str, Any] = {"ev": "case", "index": index}
        for part, report in zip(parts, found, strict=True):
            if report.kept >= 0:
                index_of = snapshot.index(report.kept)
                report.files = {path: os.pread(report.kept, size, start) for path, _, start, size in index_of}
                report.close()
            told[part.who] = report.wire(out)
        self._tell(told, out)

    def _session(self, session: dict[str, Any], body: bytes) -> None:
        part = Part("program", session["program"], session["case"], -1, None)
        with Run(self._zygotes, self._counters, self._env, self._inodes, [part], body) as run:
            feed = run.open_fed(part, body)
            try:
                self._tell({"ev": "begun"})
                Session(run, feed, self._tell, self._heard).serve(self._host)
            except FrameError:
                raise Gone from None
            finally:
                os.close(feed)
            [report] = reports(run, self._counters, unharmed=True)
        out = Body()
        self._tell({"ev": "ended", "report": report.wire(out)}, out)

    def _certain(self, parts: Sequence[Part], join: str, body: bytes) -> list[Report]:
        """Run, and once more where the first run says nothing certain.

        Ended between soft and hard limit: the second run must say the same, or nobody knows; unless it used so much
        less that the program itself is unsteady, and over its limit for certain once. Starved by the host: the second
        run counts, if it is not starved as well.
        """
        first = self._run(parts, join, body)
        if not any(report.doubt for report in first):
            return first
        for report in first:
            report.close()
        second = self._run(parts, join, body)
        for before, report in zip(first, second, strict=True):
            report.flags.append("rerun")
            if report.doubt == "starved":
                report.say("internal_error", message="the host had no CPU for this run, twice")
            elif report.doubt is not None:
                report.over(report.doubt)
            elif before.doubt in ("cpu_s", "wall_s") and report.said["status"] in ("ok", "runtime_error"):
                spent = "cpu_time" if before.doubt == "cpu_s" else "idle_time"
                if report.said[spent] * HARD < before.said[spent]:
                    # No host is that unsteady: the program does now this and now that, which must not pay.
                    report.over(before.doubt)
                    report.flags.append("erratic")
                    continue
                message = f"one run was over {before.doubt} and one was not: {before.times}, then {report.times}"
                report.say("internal_error", limit=before.doubt, message=message)
                report.flags.append("time_limit_disagreement")
        return second

    def _run(self, parts: Sequence[Part], join: str, body: bytes) -> list[Report]:
        with Run(self._zygotes, self._counters, self._env, self._inodes, parts, body) as run:
            run.open(parts, join, body)
            run.watch(self._host, self._heed, self._rest, join)
            return reports(run, self._counters, unharmed=not self._alone or self._zygotes.alive)

    # --- the host --------------------------------------------------------------------------------------------------

    def _heed(self) -> None:
        """The host spoke in the middle of a job: it wants it to end, or is gone."""
        self._heard()
        raise Gone

    def _heard(self) -> tuple[dict[str, Any], bytes]:
        """Returns what the host says, unless it wants what is under way to end, or is gone."""
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
            "processes": "rlimit",
            "output_bytes": "supervisor",
            "disk_mb": "per_file" if self._alone else "tmpfs",
            "open_files": "rlimit",
        }

    def _tell(self, header: dict[str, Any], body: Body | None = None) -> None:
        try:
            send(self._host, header, body)
        except OSError:
            raise Gone from None
