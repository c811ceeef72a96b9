"""A sandbox host to attack: on a loop of its own in a thread, so that tests ask it for one thing after another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import CaseResult, CompileResult, Job, JobEvent, Report
from rewarden_sandboxes.settings import HostSettings
from tests.attacks.sandbox.attack import MARK
from tests.programs import absent

LAUNCHERS = ("docker", "bwrap")

T = TypeVar("T")


class Ground:
    """A running host, asked from outside its loop."""

    def __init__(self, settings: HostSettings) -> None:
        self.settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ground")
        self._thread.start()
        self.host = self.ask(self._made())

    async def _made(self) -> Host:
        host = Host(self.settings)
        await host.start()
        return host

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start something on the host's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something on the host's loop."""
        return self.begin(work).result(timeout=300)

    def events(self, job: Job) -> list[JobEvent]:
        """Everything that a job says."""
        return self.ask(self.events_of(job))

    async def events_of(self, job: Job) -> list[JobEvent]:
        """The same, for `begin`."""
        async with aclosing(self.host.run(job)) as events:
            return [event async for event in events]

    def together(self, jobs: Sequence[Job]) -> list[list[JobEvent]]:
        """The same for many jobs at once."""
        return [future.result(timeout=300) for future in [self.begin(self.events_of(job)) for job in jobs]]

    def report(self, job: Job) -> Report:
        """Returns how the first case of a job ended, or its compilation if there is nothing to run."""
        return report_of(self.events(job))

    @property
    def losses(self) -> int:
        """Returns how many slots were lost so far."""
        return sum(int(pool["lost"]) for pool in self.ask(self.host.status())["slots"].values())

    def close(self) -> None:
        """End the host, its loop and its thread."""
        try:
            self.ask(self.host.close())
            self.ask(_leave())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _leave() -> None:
    """End what still waits on this loop."""
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def report_of(events: Sequence[JobEvent]) -> Report:
    """The report that decides: the first case's, or the compilation's that left nothing to run."""
    last = events[-1]
    if isinstance(last, CompileResult):
        assert last.report.status != "ok", events
        return last.report
    first = next(event for event in events if isinstance(event, CaseResult))
    return first.program


@contextmanager
def ground(launcher: str, **settings: Any) -> Iterator[Ground]:
    """A host with few slots; the test is skipped where the launcher cannot work."""
    made = Ground(HostSettings(launcher=launcher, **({"slots": 2, "warm": 1} | settings)))  # type: ignore[arg-type]
    try:
        probe = made.ask(made.host.status(probe=True))["probe"]
        if not probe["ok"]:
            pytest.skip(absent(launcher, f"{launcher} runs no room here: {probe['reason']}"))
        yield made
    finally:
        made.close()


def alive() -> list[str]:
    """Hostile processes on this machine, by number and name."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name = (folder / "comm").read_text().strip()
            except OSError:
                continue
            if name == MARK:
                found.append(f"{folder.name} {name}")
    return found
