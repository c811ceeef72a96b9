"""Twenty minutes of mixed load on one machine: nothing is lost, no verdict is wrong, nothing grows. `make soak`.

Load: closed loops over HTTP and gRPC (see `driver`), half of it code with 15 tests, one sample in twenty rough and one
in ten hostile (see `load`), cache off; a server and sandbox hosts, each in a separate process. The first quarter of the
time is the warm-up. The load is then steady until the last 15 %, in which each service is restarted and killed under
load. The soak reads the services' memory every few seconds during the steady load, and counts all that they hold at
rest: before the steady load, after it, and after the restarts.

    python -m benchmarks.soak --minutes 2 --launcher bwrap

Exits with 1 if a promise was broken, and names it. The limit on memory growth applies from ten steady minutes on; in
a shorter run, data that is loaded only once looks like growth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import Report
from benchmarks.soak import load
from benchmarks.soak.driver import BATCH, SINGLES, STREAM, Driver, Tally
from benchmarks.soak.restarts import disturbances
from benchmarks.soak.services import Services, services
from benchmarks.soak.watch import Holding, files, holding, left, memory, processes, slope

LOOK_S = 3.0
SETTLE_S = 8.0
"""Seconds of load after each disturbance, at least, before the next."""

LEAST_STEADY_S = 600.0
MOST_MB_AN_HOUR = {"server": 30.0, "workers": 60.0, "hosts": 30.0}
MOST_UNSCORED = 0.001
MORE = {"descriptors: server": 8, "descriptors: hosts": 8, "processes: slots": 8}
"""Counts that may be higher than at the previous rest: connections and slots come and go."""


@dataclass(slots=True)
class Watch:
    """The observations during the steady load."""

    began: float = field(default_factory=time.monotonic)
    memory: list[tuple[float, dict[str, float]]] = field(default_factory=list)

    def of(self, part: str) -> list[tuple[float, float]]:
        """Returns the hours and MB of one part."""
        return [((at - self.began) / 3600, parts[part]) for at, parts in self.memory]


class Soak:
    """One soak of so many seconds."""

    def __init__(self, running: Services, seconds: float, restarts: bool, seed: int) -> None:
        self._services = running
        self._driver = Driver(running.http, running.grpc, load.samples(seed))
        # Some of eight workers get few samples and load libraries at their first sample of a kind, which takes minutes.
        self._warm_s = min(300.0, 0.25 * seconds)
        self._restart_s = 0.15 * seconds if restarts else 0.0
        self._steady_s = seconds - self._warm_s - self._restart_s
        self._report = Report(
            f"soak: {seconds / 60:g} minutes, {self._driver.in_flight} samples in flight at most: over HTTP and "
            f"over gRPC {SINGLES} single ones, a batch of {BATCH}, a stream of {STREAM}; {len(running.hosts)} hosts, "
            f"{running.slots} slots; {len(os.sched_getaffinity(0))} cores"
        )
        self.figures: dict[str, Any] = {}

    async def run(self) -> list[str]:
        """Runs and reports; returns the broken promises."""
        self._driver.start()
        await self._for(self._warm_s, "warming up")
        await self._driver.rest()
        first = await self._at_rest()
        warm, self._driver.tally = self._driver.tally, Tally()
        self._driver.go_on()
        watch = Watch()
        await self._for(self._steady_s, "steady", lambda: self._look(watch))
        took = time.monotonic() - watch.began
        await self._driver.rest()
        second = await self._at_rest()
        steady, self._driver.tally = self._driver.tally, Tally()
        self._verdicts("warming up and steady", warm, steady)
        self._speed(steady, took)
        self._slopes(watch, took)
        self._held("after the steady load", first, second)
        if self._restart_s:
            await self._driver.patient()
            self._driver.go_on()
            await self._disturb()
            await self._driver.close()
            third = await self._at_rest()
            self._verdicts("restarts", self._driver.tally)
            self._held("after the restarts", first, third)
        else:
            await self._driver.close()
        return self._report.broken

    def ended(self, services: Services) -> None:
        """Reports what the services left behind, after all have ended."""
        containers, groups = left(services)
        for what, count in (
            ("containers", len(containers)),
            ("cgroups", groups),
            ("processes", len(processes(services))),
            ("temporary files", files(services)),
        ):
            self._figure(f"after the end: {what}", count, most=0)

    # --- phases -------------------------------------------------------------------------------------------------

    async def _for(self, seconds: float, name: str, look: Callable[[], Awaitable[None]] | None = None) -> None:
        end = time.monotonic() + seconds
        said, before = time.monotonic(), self._driver.tally.total
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, LOOK_S))
            self._driver.check()
            for service in self._services.all:
                service.check()
            if look is not None:
                await look()
            if (since := time.monotonic() - said) >= 60:
                tally = self._driver.tally
                rate = (tally.total - before) / since
                print(
                    f"   … {name}, {left / 60:.0f} min left: {tally.total} samples, {rate:.0f}/s, "
                    f"{len(tally.wrong)} wrong, {len(tally.lost)} lost, retried {tally.again.total()}",
                    flush=True,
                )
                said, before = time.monotonic(), tally.total

    async def _look(self, watch: Watch) -> None:
        watch.memory.append((time.monotonic(), await asyncio.to_thread(memory, self._services)))

    async def _at_rest(self) -> Holding:
        """Returns the resources held once nothing changes any more: slots are cleaned and refilled after the last
        verdict.
        """
        before = await asyncio.to_thread(holding, self._services)
        for _ in range(20):
            await asyncio.sleep(1.5)
            now = await asyncio.to_thread(holding, self._services)
            if now.counts() == before.counts() and not any(now.under_way.values()):
                break
            before = now
        return now

    async def _disturb(self) -> None:
        """Causes each disturbance in turn until the time is over, and each at least once."""
        end = time.monotonic() + self._restart_s
        rounds = 0
        while not rounds or time.monotonic() < end:
            for name, disturb in disturbances(self._services):
                if rounds and time.monotonic() >= end:
                    break
                tally = self._driver.tally
                counts = (tally.total, len(tally.wrong), len(tally.lost), tally.again.total())
                began = time.monotonic()
                await asyncio.to_thread(disturb, self._services)
                await asyncio.to_thread(self._services.wait_ready)
                ready = time.monotonic() - began
                await self._for(SETTLE_S, name)
                done, wrong, lost, again = (
                    now - then
                    for now, then in zip(
                        (tally.total, len(tally.wrong), len(tally.lost), tally.again.total()), counts, strict=True
                    )
                )
                print(
                    f"   … {name}: ready after {ready:.1f} s; {done} samples meanwhile, {wrong} wrong, {lost} lost, "
                    f"{again} verdicts retried",
                    flush=True,
                )
            rounds += 1
        self._report.figure("rounds of restarts", rounds, least=1)

    # --- figures ------------------------------------------------------------------------------------------------

    def _figure(self, what: str, value: float, unit: str = "", **promise: float) -> None:
        self.figures[what] = value
        self._report.figure(what, value, unit, **promise)

    def _verdicts(self, phase: str, *tallies: Tally) -> None:
        lost = [text for tally in tallies for text in tally.lost]
        wrong = [text for tally in tallies for text in tally.wrong]
        total = sum(tally.total for tally in tallies)
        self._figure(f"{phase}: samples", total, least=1)
        self._figure(f"{phase}: lost", len(lost), most=0)
        self._figure(f"{phase}: wrong verdicts", len(wrong), most=0)
        again = sum(tally.again.total() for tally in tallies)
        # Rewarden's fault, and reported so: a run that twice got no CPU. More than a few hide a defect.
        self._figure(f"{phase}: unscored and retried", again / max(1, total), most=MOST_UNSCORED)
        for text in [*lost[:10], *wrong[:20]]:
            print(f"      {text}")
        for tally in tallies:
            for reason, count in tally.again.items():
                print(f"      retried: {count} × {reason}")

    def _speed(self, tally: Tally, took: float) -> None:
        self._figure("verdicts per second", tally.total / took, "/s")
        for kind in (*load.KINDS, "rough", "hostile"):
            self._percentiles(f"{kind}, alone", tally.latencies.get(kind, []))
        self._percentiles(f"a batch of {BATCH}", tally.batches)
        self._percentiles(f"a stream of {STREAM}", tally.streams)
        self._percentiles("stragglers: the last twentieth of a stream", tally.stragglers)
        for seconds, what in tally.slowest:
            print(f"      slowest: {seconds:.1f} s: {what}")

    def _percentiles(self, what: str, seconds: list[float]) -> None:
        if not seconds:
            return
        ordered = sorted(seconds)
        for share in (0.5, 0.99, 0.999):
            if len(ordered) * (1 - share) >= 1 or share == 0.5:
                self._figure(f"{what}: p{100 * share:g}", 1e3 * ordered[int(len(ordered) * share)], "ms")
        self._figure(f"{what}: longest", 1e3 * ordered[-1], "ms")

    def _slopes(self, watch: Watch, took: float) -> None:
        long = took >= LEAST_STEADY_S
        for part, most in MOST_MB_AN_HOUR.items():
            points = watch.of(part)
            if points:
                self._figure(f"memory of {part}: last", points[-1][1], "MB")
            self._figure(f"memory of {part}: slope", slope(points), "MB/h", **({"most": most} if long else {}))
        self.figures["memory"] = [(round(at - watch.began, 1), parts) for at, parts in watch.memory]

    def _held(self, when: str, before: Holding, after: Holding) -> None:
        now = after.counts()
        for what, count in after.under_way.items():
            self._figure(f"{when}: {what}", count, most=0)
        for what, count in before.counts().items():
            allowed = MORE.get(what, 0)
            if before.containers and what in ("containers", "cgroups", "processes: slots"):
                # Slots are made as they are needed, up to their number; a container has as many cgroups as controllers.
                allowed += max(0, self._services.slots - before.containers) * max(1, count // before.containers)
            self._figure(f"{when}: more {what}, of {count}", now[what] - count, most=allowed)


def main() -> int:
    """Runs the soak and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="total minutes (default: 20)")
    parser.add_argument("--launcher", default="auto", choices=("auto", "docker", "bwrap"), help="launcher of the hosts")
    parser.add_argument("--hosts", type=int, default=2, help="number of sandbox hosts (default: 2)")
    parser.add_argument("--no-restarts", dest="restarts", action="store_false", help="skip the restarts")
    parser.add_argument("--seed", type=int, default=1, help="seed of the samples")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here, including memory over time")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the services end with us
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        folder = Path(place)
        folder.chmod(0o711)  # slots run as other users, who need to traverse it
        try:
            with services(folder, args.launcher, args.hosts) as running:
                soak = Soak(running, 60 * args.minutes, args.restarts, args.seed)
                broken = asyncio.run(soak.run())
            soak.ended(running)
        except RuntimeError as error:
            print(f"soak: {error}", file=sys.stderr)
            broken, soak = [f"it did not finish: {str(error).splitlines()[0][:200]}"], None
        if broken:
            for log in sorted(folder.glob("*.log")):
                print(f"   {log.name}: {log.read_text(errors='replace')[-3000:]}")
    if args.json is not None and soak is not None:
        args.json.write_text(json.dumps(soak.figures, indent=1), encoding="utf-8")
    print("\nall promises kept" if not broken else "\nNOT KEPT\n" + "\n".join(f"   {what}" for what in broken))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
