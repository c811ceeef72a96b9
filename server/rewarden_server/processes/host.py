"""A sandbox host that the server starts."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rewarden_sandboxes.errors import HostLost
from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.settings import HostSettings
from rewarden_server.lean.projects import local_places
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.processes.kept import KeptProcess
from rewarden_server.processes.settings import SandboxSettings

if TYPE_CHECKING:  # gRPC is slow to import, and an engine that runs no programs does not need it
    from rewarden_sandboxes.client import HostClient


class HostProcess(KeptProcess["HostClient"]):
    """A sandbox host kept alive from `start` to `close`; it kills its rooms when it ends."""

    what = "sandbox host"
    prefix = "rewarden-host-"
    lost = HostLost

    again_s: ClassVar[float] = 1.0
    """Pause before retrying when its connection breaks: gRPC gives up sooner than we do."""

    def __init__(self, settings: SandboxSettings, lean: LeanSettings | None = None) -> None:
        super().__init__()
        self._settings = settings
        self._lean = lean or LeanSettings()

    def command(self, address: str) -> list[str]:
        """See `KeptProcess.command`."""
        return [*command(self._settings, self._lean, address), "--tied"]

    def connect(self, address: str) -> HostClient:
        """See `KeptProcess.connect`."""
        from rewarden_sandboxes.client import HostClient

        return HostClient(address)

    async def look(self, client: HostClient) -> None:
        """See `KeptProcess.look`."""
        async with asyncio.timeout(self.silent_s):
            while True:
                try:
                    return await client.answer()
                except HostLost:
                    await asyncio.sleep(self.again_s)


def command(settings: SandboxSettings, lean: LeanSettings, address: str) -> list[str]:
    """The command line of a host with these settings."""
    # -P: do not import a folder of the host's name from the server's working directory.
    host = [sys.executable, "-P", "-m", "rewarden_sandboxes"]
    return [*host, "--address", address, "--settings", json.dumps(host_settings(settings, lean))]


def client_of(address: str, settings: SandboxSettings) -> HostClient:
    """A client of a host that is already running: with the token, and over TLS if a certificate or CA is set. Opens no
    connection yet. Raises HostError for files that are missing or unreadable.
    """
    from rewarden_sandboxes.client import HostClient
    from rewarden_sandboxes.secret import read_tokens
    from rewarden_sandboxes.tls import Tls

    token = read_tokens(settings.token_file)[0] if settings.token_file is not None else None
    cert, key, ca = settings.tls_cert, settings.tls_key, settings.tls_ca
    if cert is None and key is None and ca is None:
        return HostClient(address, None, token)
    return HostClient(address, Tls(cert=cert, key=key, ca=ca), token)


def listening(settings: SandboxSettings) -> list[str]:
    """The arguments of a host's command line that say whom it lets in: paths of files, never their contents."""
    files = {"tls-cert": settings.tls_cert, "tls-key": settings.tls_key, "tls-ca": settings.tls_ca}
    files["token-file"] = settings.token_file
    return [word for name, path in files.items() if path is not None for word in (f"--{name}", str(path))]


def host_settings(settings: SandboxSettings, lean: LeanSettings) -> dict[str, Any]:
    """The host's settings, JSON-ready. Settings that are not set are left to the host."""
    told: dict[str, Any] = {}
    for field in fields(HostSettings):
        value = getattr(settings, field.name, None)
        if isinstance(value, Limits):
            value = {name: limit for name, limit in asdict(value).items() if limit is not None} or None
        elif isinstance(value, Path):
            value = str(value.absolute())
        if value is not None:
            told[field.name] = value
    projects = local_places(lean)
    if projects:
        told |= {"lean": projects, "lean_memory_mb": lean.memory_mb}
        # Each Lean process is a session, and one that is ending still holds its session when the next begins.
        told.setdefault("sessions", 2 * lean.processes)
    return told
