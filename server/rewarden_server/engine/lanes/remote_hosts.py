"""Sandbox hosts that are already running: a job goes to the healthy one with the least load."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection
from typing import Any

from rewarden_sandboxes.errors import HostLost
from rewarden_server.engine.lanes.host_skew import host_skew
from rewarden_server.engine.lanes.hosts import Hosts, Lent, Wants
from rewarden_server.engine.lanes.remote_host import HUNG_LOOKS, LOOK_PATIENCE_S, RemoteHost
from rewarden_server.processes.settings import SandboxSettings

_STATUS_PATIENCE_S = 2.0


class RemoteHosts(Hosts):
    """See the module. The load of a host is measured per slot."""

    def __init__(self, settings: SandboxSettings) -> None:
        self.changed = lambda: None
        self.hosts = [RemoteHost(address, settings, self._note) for address in settings.addresses]
        self._any_change = asyncio.Event()
        self._ever = False
        self._closed = False

    def start(self) -> None:
        """See `Hosts.start`."""
        if not self._closed:
            for host in self.hosts:
                host.start()

    async def close(self) -> None:
        """See `Hosts.close`."""
        self._closed = True
        self._any_change.set()
        await asyncio.gather(*(host.close() for host in self.hosts))

    def _note(self, host: RemoteHost) -> None:
        """Notes that one of the hosts was checked."""
        self._ever = self._ever or host.state == "ready"
        hangs = host.failures >= HUNG_LOOKS and (host.in_flight or host.sessions)
        if hangs and any(other.state == "ready" for other in self.hosts):
            # It hangs, or the network does: the connection may seem intact for another minute.
            host.client.hang_up(f"the sandbox host at {host.name} no longer answers")
        self._any_change.set()
        self.changed()

    async def lend(self, wants: Wants, patience_s: float, *, avoid: Collection[str] = (), patient: bool = True) -> Lent:
        """See `Hosts.lend`."""
        self.start()
        until = time.monotonic() + patience_s
        while True:
            if self._closed:
                raise HostLost("the server is stopping")
            host = self._best(wants, avoid)
            if host is not None:
                return host
            left = until - time.monotonic()
            if any(each.state == "unknown" for each in self.hosts):
                left = LOOK_PATIENCE_S  # its first check has ended by then
            elif left <= 0 or not (patient or self._ever):
                raise HostLost(self._why(wants))
            self._any_change.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._any_change.wait()

    def others(self, wants: Wants, avoid: Collection[str]) -> bool:
        """See `Hosts.others`."""
        now = time.monotonic()
        return any(
            host.name not in avoid and host.state == "ready" and now >= host.busy_until and host.has(wants.languages)
            for host in self.hosts
        )

    async def until_back(self, lent: Lent) -> None:
        """See `Hosts.until_back`: `lend` waits."""

    def _best(self, wants: Wants, avoid: Collection[str]) -> RemoteHost | None:
        able = [host for host in self.hosts if host.has(wants.languages)]
        # No host has it, and the error comes from the host that is asked. Hosts that know the language come first: an
        # unknown language is the program's fault, a missing image is not.
        able = able or [host for host in self.hosts if host.knows(wants.languages)] or self.hosts
        able = [host for host in able if host.name not in avoid] or able
        ready = [host for host in able if host.state == "ready"]
        now = time.monotonic()
        free = [host for host in ready if now >= host.busy_until]
        # Hosts that answer but cannot run anything now report why, or recover soon, which is better than to wait for
        # none.
        found = free or ready or [host for host in able if host.state == "limping"]
        return min(found, key=lambda host: host.load_with(wants), default=None)

    def _why(self, wants: Wants) -> str:
        words = "; ".join(f"{host.name}: {host.reason}" for host in self.hosts if host.state != "ready")
        if any(host.state == "ready" for host in self.hosts):
            return f"no sandbox host with {', '.join(wants.languages)} answers ({words})"
        return f"no sandbox host answers ({words})" if len(self.hosts) > 1 else words

    @property
    def slots(self) -> int | None:
        """See `Hosts.slots`."""
        return sum(host.slots for host in self.hosts if host.state == "ready") or None

    async def status(self) -> dict[str, Any]:
        """See `Hosts.status`."""
        self.start()
        if all(host.state in ("unknown", "lost") for host in self.hosts):
            # No longer than for the first: probes must not wait for a host that hangs while another is healthy.
            await asyncio.gather(*(host.first_look(_STATUS_PATIENCE_S) for host in self.hosts))
        found: dict[str, Any] = {"state": "ready", "reason": None}
        shown = next((host for host in self.hosts if host.state == "ready"), None)
        if shown is None:
            shown = next((host for host in self.hosts if host.state in ("limping", "leaving")), None)
            alone = len(self.hosts) == 1
            words = "; ".join(f"{'' if alone else host.name + ': '}{host.reason}" for host in self.hosts)
            found = {"state": "missing", "reason": words}
        if shown is not None:
            found["host"] = shown.told
        found["hosts"] = [host.as_dict() for host in self.hosts]
        answered = {host.name: host.told for host in self.hosts if host.told and host.state != "lost"}
        found["differences"] = host_skew(answered)
        return found
