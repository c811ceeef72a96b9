"""One sandbox host that is already running: its state at the last check, and our jobs there."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.settings import default_slots
from rewarden_server.engine.lanes.hosts import Lent, Wants, row_of
from rewarden_server.observe.logs import get_logger
from rewarden_server.processes.host import client_of
from rewarden_server.processes.settings import SandboxSettings

if TYPE_CHECKING:
    from rewarden_sandboxes.client import HostClient

LOOK_PATIENCE_S = 5.0
"""Seconds for a host to report its status. Its loop answers directly, so even a busy host is much faster."""

HUNG_LOOKS = 2
"""Consecutive checks without an answer after which a host is considered to hang."""

_LOOK_S = 1.0
"""Seconds between two checks of a healthy host."""

_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0
_SETTLED_S = 30.0
"""Seconds of health after which a host no longer counts as unstable."""

State = Literal["unknown", "ready", "limping", "leaving", "lost"]

_log = get_logger("sandbox")


class RemoteHost(Lent):
    """A host that is already running, and its state at the last check.

    `unknown`: not checked yet; `ready`; `limping`: it answers, but cannot run anything now; `leaving`: it is about to
    exit; `lost`: it does not answer.
    """

    def __init__(self, address: str, settings: SandboxSettings, changed: Callable[[RemoteHost], None]) -> None:
        self.name = address
        self.state: State = "unknown"
        self.reason: str | None = "it was not checked yet"
        self.told: dict[str, Any] = {}
        self.failures = 0
        self.in_flight = 0
        self.sessions = 0
        self.busy_until = 0.0
        self._settings = settings
        self._changed = changed
        self._made: HostClient | None = None
        self._losses = 0
        self._rest_until = 0.0
        self._ready_since = 0.0
        self._others = 0
        self._other_sessions = 0
        self._wake = asyncio.Event()
        self._looked = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    @property
    def client(self) -> HostClient:  # type: ignore[override]
        """Returns the client of a host that has answered."""
        assert self._made is not None
        return self._made

    def start(self) -> None:
        """Starts checking it."""
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look_on())

    async def close(self) -> None:
        """Stops checking it; work in progress there ends as lost."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        if self._made is not None:
            await self._made.close()

    # --- what comes back from those who were sent there

    @contextlib.contextmanager
    def load(self, *, session: bool) -> Iterator[None]:
        """See `Lent.load`."""
        if session:
            self.sessions += 1
        else:
            self.in_flight += 1
        try:
            yield
        finally:
            if session:
                self.sessions -= 1
            else:
                self.in_flight -= 1

    def lost(self) -> None:
        """See `Lent.lost`."""
        if self.state in ("ready", "limping"):
            self._becomes("lost", "it was lost during a job")
            self._wake.set()

    def busy(self) -> None:
        """See `Lent.busy`."""
        self.busy_until = time.monotonic() + _FIRST_WAIT_S * random.uniform(1, 3)

    def leaves(self) -> None:
        """See `Lent.leaves`."""
        if self.state in ("ready", "limping"):
            self._becomes("leaving", "it is shutting down")
            self._wake.set()

    # --- whether it fits

    def has(self, languages: Collection[str]) -> bool:
        """Returns whether it has these languages, according to its status so far. Every host has none."""
        rows: Mapping[str, Any] | None = self.told.get("languages")
        if rows is None or not languages:
            return True
        found = [row_of(rows, name) for name in languages]
        if any(row is None for row in found):
            return False
        # A job has one image: the first that contains all its languages.
        common = [
            image
            for image in (found[0] or {}).get("images", ())
            if all(image in (row or {}).get("images", ()) for row in found)
        ]
        images: Mapping[str, str] = self.told.get("images") or {}
        return not common or common[0] not in images or bool(images[common[0]])

    def knows(self, languages: Collection[str]) -> bool:
        """Returns whether it has reported these languages, with or without their images."""
        rows: Mapping[str, Any] = self.told.get("languages") or {}
        return all(row_of(rows, name) is not None for name in languages)

    def load_with(self, wants: Wants) -> tuple[float, int]:
        """Returns the load of the host with this job, for comparison with other hosts: our jobs and the jobs of others
        that it reports, per slot."""
        if wants.session:
            return (self.sessions + self._other_sessions + 1) / self._most("sessions", 1), self.sessions
        return (self.in_flight + self._others + 1) / self.slots, self.in_flight

    @property
    def slots(self) -> int:
        """Returns the largest number of slots of one image."""
        return self._most("slots", default_slots())

    def _most(self, what: str, otherwise: int) -> int:
        return max(1, int((self.told.get("capacity") or {}).get(what) or otherwise))

    # --- looks

    async def first_look(self, patience_s: float) -> None:
        """Waits for the first check, up to a limit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._looked.wait()

    async def _look_on(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            self._wake.clear()
            answered = await self._look()
            self._looked.set()
            if answered and time.monotonic() >= self._rest_until:
                wait_s, pause_s = _FIRST_WAIT_S, _LOOK_S
            elif answered:
                pause_s = max(0.01, self._rest_until - time.monotonic())
            else:
                pause_s, wait_s = wait_s, min(2 * wait_s, _LONGEST_WAIT_S)
            # Jitter, so that several servers that lost the same host do not check it at the same moment.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s * random.uniform(0.7, 1.3)):
                    await self._wake.wait()

    async def _look(self) -> bool:
        """Requests its status. Returns whether it answered."""
        try:
            if self._made is None:
                self._made = client_of(self.name, self._settings)
            ours, our_sessions = self.in_flight, self.sessions
            told = await self._made.status(timeout_s=LOOK_PATIENCE_S)
            jobs, sessions = _occupied(told)
        except Exception as error:  # noqa: BLE001 - checks must continue, whatever answers at that address
            self.failures += 1
            unread = f"its status cannot be read: {type(error).__name__}"
            self._becomes("lost", error.message if isinstance(error, HostError) else unread)
            if self._made is not None and not self.in_flight and not self.sessions and self.failures >= HUNG_LOOKS:
                # Certificates and tokens may have changed meanwhile: they are read again.
                made, self._made = self._made, None
                await made.close()
            return False
        self.failures = 0
        self.told = told
        self._others, self._other_sessions = max(0, jobs - ours), max(0, sessions - our_sessions)
        if told.get("leaving"):
            self._becomes("leaving", told.get("reason") or "it is shutting down")
        elif not told.get("ready"):
            self._becomes("limping", told.get("reason") or "it is not ready")
        elif time.monotonic() >= self._rest_until:
            self._becomes("ready", None)
        return True

    def _becomes(self, state: State, reason: str | None) -> None:
        now = time.monotonic()
        before, self.state, self.reason = self.state, state, reason
        if before == "ready" and state == "lost":
            # An unstable host would cost each job an attempt: its pause grows every time.
            self._losses = 1 if now - self._ready_since > _SETTLED_S else self._losses + 1
            self._rest_until = now + min(_FIRST_WAIT_S * 2**self._losses, _LONGEST_WAIT_S) * (self._losses > 1)
        if state == "ready" and before != "ready":
            self._ready_since = now
        if before != state and (before, state) != ("unknown", "ready"):  # a healthy start is not logged
            say = _log.info if state == "ready" else _log.warning
            say("sandbox_host", host=self.name, state=state, reason=reason)
        self._changed(self)

    def as_dict(self) -> dict[str, Any]:
        """Returns its state, our jobs there, and its own status; ready for JSON."""
        return {
            "address": self.name,
            "state": self.state,
            "reason": self.reason,
            "in_flight": self.in_flight,
            "sessions": self.sessions,
            "host": self.told,
        }


def _occupied(told: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the jobs of a host, running or waiting, and its sessions, from all servers."""
    sessions = int((told.get("sessions") or {}).get("open") or 0)
    busy = sum(pool["slots"] - pool["idle"] for pool in (told.get("slots") or {}).values())
    return max(0, busy - sessions) + int(told.get("waiting") or 0), sessions
