"""The server's own sandbox host, or none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rewarden_sandboxes.errors import HostError, NoRoom
from rewarden_sandboxes.settings import default_slots
from rewarden_server.engine.lanes.hosts import Hosts, Lent, Wants
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.processes.host import HostProcess
from rewarden_server.processes.settings import SandboxSettings

if TYPE_CHECKING:
    from rewarden_sandboxes.client import HostClient

_FRESH_S = 1.0
"""Seconds for which the host's status is reused: probes come often."""

_STATUS_PATIENCE_S = 2.0


class _Own(Lent):
    """The host, when it answers. All jobs go there, and its process is supervised."""

    name = "own"

    def __init__(self, client: HostClient) -> None:
        self.client = client


class OwnHost(Hosts):
    """A host in a process of the server's own, or none."""

    def __init__(self, settings: SandboxSettings, lean: LeanSettings | None) -> None:
        self.changed = lambda: None
        self._process = HostProcess(settings, lean) if settings.launcher != "none" else None
        self._slots = settings.slots or default_slots()
        self._asked = 0.0
        self._status: dict[str, Any] = {}
        self._asking = asyncio.Lock()

    def start(self) -> None:
        """See `Hosts.start`."""
        if self._process is not None:
            self._process.start()
            self._status = {}

    async def close(self) -> None:
        """See `Hosts.close`."""
        if self._process is not None:
            await self._process.close()

    async def lend(self, wants: Wants, patience_s: float, *, avoid: Collection[str] = (), patient: bool = True) -> Lent:
        """See `Hosts.lend`. It does not check whether the host is ready: early jobs wait there."""
        if self._process is None:
            raise NoRoom("there is no sandbox: sandbox.launcher is none")
        return _Own(await self._process.client(patience_s))

    def others(self, wants: Wants, avoid: Collection[str]) -> bool:
        """See `Hosts.others`."""
        return False

    async def until_back(self, lent: Lent) -> None:
        """See `Hosts.until_back`."""
        if self._process is not None:
            await self._process.until_left(lent.client)

    @property
    def slots(self) -> int:
        """See `Hosts.slots`."""
        return self._slots

    async def status(self) -> dict[str, Any]:
        """See `Hosts.status`."""
        async with self._asking:
            if not self._status or time.monotonic() - self._asked > _FRESH_S:
                self._status = await self._ask()
                self._asked = time.monotonic()
        return dict(self._status)

    async def _ask(self) -> dict[str, Any]:
        if self._process is None:
            return {"state": "off", "reason": "sandbox.launcher is none"}
        if not self._process.started:
            return {"state": "idle", "reason": None}
        client = self._process.current
        if client is None:
            problem = self._process.problem
            return {"state": "missing" if problem else "starting", "reason": problem or "the sandbox host is starting"}
        try:
            told = await client.status(timeout_s=_STATUS_PATIENCE_S)
        except HostError as error:
            return {"state": "missing", "reason": error.message}
        return {"state": "ready" if told.get("ready") else "missing", "reason": told.get("reason"), "host": told}
