"""A sandbox host of the server's own: a child process, started again when it dies, and gone when the server is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any

from rewarden.types import Limits
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import HostError, HostLost
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.tls import Tls
from rewarden_server.engine.settings import LeanSettings, SandboxSettings
from rewarden_server.lean.projects import local_places
from rewarden_server.logs import get_logger

_PREFIX = "rewarden-host-"
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 10.0
_SETTLED_S = 30.0
_GRACE_S = 10.0
_LEFT_S = 2.0
_LAST_WORDS_S = 1.0
_STARTING_S = 120.0
_LONGEST_PATH = 100  # the kernel takes 107 bytes for the path of a socket

_log = get_logger("sandbox")


class HostProcess:
    """Made and used on one loop. `start` begins; from then on the host is kept alive until `close`.

    The socket lies in a folder that this user alone may enter. The host's standard input is a pipe that nobody writes
    to: it ends when the server does, however it does, and the host with it.
    """

    def __init__(self, settings: SandboxSettings, lean: LeanSettings | None = None) -> None:
        self._settings = settings
        self._lean = lean or LeanSettings()
        self._process: subprocess.Popen[bytes] | None = None
        self._client: HostClient | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._said: deque[str] = deque(maxlen=5)
        self._problem: str | None = None
        self.starts = 0

    @property
    def started(self) -> bool:
        """Whether `start` was called, and `close` was not."""
        return self._keeping is not None

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Begin to keep a host; returns at once."""
        if self._keeping is None:
            self._keeping = asyncio.get_running_loop().create_task(self._keep())

    @property
    def answers(self) -> bool:
        """Whether there is a host that answered when it started, and has not ended."""
        return self._client is not None

    @property
    def problem(self) -> str | None:
        """Why the last host could not start, in its own words; None where none failed."""
        return self._problem

    async def client(self, patience_s: float) -> HostClient:
        """A client of the host, when it answers. Raises HostLost when it does not within so many seconds, or at once
        where it could not even start.
        """
        self.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self._client is None and self._problem is None:
                    self._changed.clear()
                    await self._changed.wait()
        if self._client is not None:
            return self._client
        raise HostLost(self._problem or f"the sandbox host did not start within {patience_s:g} s")

    async def until_left(self, client: HostClient) -> None:
        """Wait until a host that was lost is known to have ended. One that lives after all is not waited for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEFT_S):
                while self._client is client:
                    self._changed.clear()
                    await self._changed.wait()

    async def close(self) -> None:
        """End the host: its standard input closes; if that is not enough it is killed."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _keep(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            began = time.monotonic()
            answered = False
            # Private by its mode: whoever can connect can run programs.
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_short_folder()))
            try:
                answered = await self._live(folder)
            except OSError as error:
                self._said.append(str(error))
            finally:
                with contextlib.suppress(OSError):
                    (folder / "host.sock").unlink(missing_ok=True)
                    folder.rmdir()
            words = "; ".join(self._said) or "it said nothing"
            # A host that served comes back at once, and who asks meanwhile waits; one that cannot start says why.
            self._problem = None if answered else f"the sandbox host cannot start: {words}"
            self._changed.set()
            _log.warning("sandbox host ended", answered=answered, said=words)
            if time.monotonic() - began > _SETTLED_S:
                wait_s = _FIRST_WAIT_S
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _live(self, folder: Path) -> bool:
        """One host's life, until it ends. Whether it ever answered."""
        self._said.clear()
        address = f"unix:{folder / 'host.sock'}"
        # Not asyncio's own: cancelled while it starts a process, it would wait for ever.
        process = subprocess.Popen(
            [*command(self._settings, self._lean, address), "--tied"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "0"},  # it starts programs and never forks; gRPC would warn
            start_new_session=True,  # Ctrl-C is the server's to handle: it drains first
        )
        self._process = process
        self.starts += 1
        ended = _end_of(process)
        client: HostClient | None = None
        streams: list[asyncio.ReadTransport] = []
        listening: asyncio.Task[None] | None = None
        try:
            said, out = await _reader(process.stdout)
            streams.append(out)
            errors, err = await _reader(process.stderr)
            streams.append(err)
            listening = asyncio.get_running_loop().create_task(self._listen(errors))
            if await said.readline():
                client = self._client = HostClient(address)
                self._problem = None
                self._changed.set()
            await asyncio.shield(ended)
            await asyncio.wait({listening}, timeout=_LAST_WORDS_S)
            return client is not None
        finally:
            self._client = None
            self._changed.set()
            if client is not None:
                await client.close()
            await _end(process, ended)
            self._process = None
            if listening is not None:
                listening.cancel()
            for stream in streams:
                stream.close()

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        """The host's own log, into ours."""
        while True:
            try:
                line = await stream.readline()
            except ValueError:  # a line beyond all measure was dropped
                continue
            if not line:
                return
            text = line.decode(errors="replace").rstrip()
            self._said.append(text[:500])
            _log.info("sandbox host", said=text)


async def _reader(pipe: IO[bytes] | None) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader, transport


def _end_of(process: subprocess.Popen[bytes]) -> asyncio.Future[None]:
    """Done when the process has ended. Its output may be held open by others, so that says nothing."""
    loop = asyncio.get_running_loop()
    descriptor = os.pidfd_open(process.pid)
    ended: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not ended.done():
            ended.set_result(None)

    def forget(future: asyncio.Future[None]) -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)

    loop.add_reader(descriptor, note)
    ended.add_done_callback(forget)
    return ended


async def _end(process: subprocess.Popen[bytes], ended: asyncio.Future[None]) -> None:
    """Let a host end, which kills its rooms and removes what is its own; kill it when it does not."""
    assert process.stdin is not None
    process.stdin.close()
    done, _ = await asyncio.wait({ended}, timeout=_GRACE_S)
    if not done:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await ended
    process.wait()


def command(settings: SandboxSettings, lean: LeanSettings, address: str) -> list[str]:
    """The command line of a host with these settings."""
    # -P: a folder of the host's name, where the server happens to stand, is not ours.
    host = [sys.executable, "-P", "-m", "rewarden_sandboxes"]
    return [*host, "--address", address, "--settings", json.dumps(host_settings(settings, lean))]


def tls_of(settings: SandboxSettings) -> Tls | None:
    """The files for a host on another machine. Raises HostError where only some are set."""
    cert, key, ca = settings.tls_cert, settings.tls_key, settings.tls_ca
    if cert is None and key is None and ca is None:
        return None
    if cert is None or key is None or ca is None:
        raise HostError("TLS needs all of sandbox.tls_cert, sandbox.tls_key and sandbox.tls_ca")
    return Tls(cert=cert, key=key, ca=ca)


def host_settings(settings: SandboxSettings, lean: LeanSettings) -> dict[str, Any]:
    """What the host is told, JSON-ready; what is not set is the host's to choose."""
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
        # Each process is a session, and one that ends still holds its own when the next begins.
        told.setdefault("sessions", 2 * lean.processes)
    return told


def clean() -> list[str]:
    """Remove the folders of sockets that nobody serves: a server and its host that were both killed leave one. Says
    what was removed.
    """
    said = []
    for folder in sorted(Path(_short_folder() or tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        # The folder of temporary files is everybody's: only what is this user's own is removed.
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            continue
        path = folder / "host.sock"
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
                continue  # somebody serves there
            except OSError:
                pass
        if not path.exists() and time.time() - about.st_mtime < _STARTING_S:
            continue  # a host is about to serve there
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            folder.rmdir()
            said.append(f"removed the folder {folder}")
    return said


def _short_folder() -> str | None:
    """Where temporary folders lie; /tmp where that path is too long for a socket in it."""
    return None if len(tempfile.gettempdir()) + 40 < _LONGEST_PATH else "/tmp"
