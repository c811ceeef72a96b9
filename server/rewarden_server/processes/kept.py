"""A child process of the server that listens on a socket: restarted when it dies, and gone when the server is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path
from typing import IO, ClassVar, Generic, Protocol, TypeVar

from rewarden_server.observe.logs import get_logger

_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 10.0
_SETTLED_S = 30.0
_GRACE_S = 10.0
_LEFT_S = 2.0
_LAST_WORDS_S = 1.0
_STARTING_S = 120.0
_LONGEST_PATH = 100  # the kernel allows 107 bytes for a socket's path

_PREFIXES = ("rewarden-host-", "rewarden-model-")
"""The prefixes of all kept processes' folders."""

_SOCKET = "host.sock"

_log = get_logger("processes")


class Client(Protocol):
    """A client of a kept process."""

    async def close(self) -> None:
        """Close it."""


C = TypeVar("C", bound=Client)


class KeptProcess(ABC, Generic[C]):
    """Created and used on one event loop. From `start` to `close` the process is kept alive.

    Its socket lies in a folder that only this user may enter. Its standard input is a pipe that nobody writes to: when
    the server ends, however it does, the pipe closes and the process ends too. Its first line on standard output says
    that it answers; whatever it writes to standard error goes into our log.
    """

    what: ClassVar[str]
    """The process's name in messages: `the {what} cannot start`."""

    prefix: ClassVar[str]
    """The prefix of its folder's name; one of those that `clean` knows."""

    lost: ClassVar[type[Exception]]
    """The exception to raise, with a message, if there is no process."""

    look_s: ClassVar[float] = 10.0
    """Seconds between health checks, which cost next to nothing."""

    silent_s: ClassVar[float] = 60.0
    """Seconds in which it must answer a health check. Its loop has little to do, but the machine may be overloaded."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._client: C | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._said: deque[str] = deque(maxlen=5)
        self._problem: str | None = None
        self.starts = 0

    @abstractmethod
    def command(self, address: str) -> list[str]:
        """The command line of a process that listens at `address` and ends when its standard input closes."""

    @abstractmethod
    def connect(self, address: str) -> C:
        """A client of the process that listens at `address`."""

    def environment(self) -> dict[str, str]:
        """The process's environment: by default the server's."""
        return dict(os.environ)

    async def look(self, client: C) -> None:
        """The health check: returns when the process has answered. Raises TimeoutError if it did not within `silent_s`.
        By default there is no check."""
        await asyncio.Event().wait()

    @property
    def started(self) -> bool:
        """Returns whether it was started and not closed."""
        return self._keeping is not None

    @property
    def pid(self) -> int | None:
        """The process id, while there is a process."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Begin to keep a process alive; returns at once."""
        if self._keeping is None:
            self._keeping = asyncio.get_running_loop().create_task(self._keep())

    @property
    def answers(self) -> bool:
        """Returns whether there is a process that answered when it started and has not ended."""
        return self._client is not None

    @property
    def current(self) -> C | None:
        """A client of the running process, if it answers."""
        return self._client

    @property
    def problem(self) -> str | None:
        """The reason why the last process could not start, in its own words; None if it did."""
        return self._problem

    async def client(self, patience_s: float) -> C:
        """A client of the process, once it answers. Raises `lost` if it does not within `patience_s` seconds, or at
        once if it could not even start.
        """
        self.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self._client is None and self._problem is None and self.started:
                    self._changed.clear()
                    await self._changed.wait()
        if self._client is not None:
            return self._client
        if not self.started:
            raise self.lost(f"the {self.what} was stopped")
        raise self.lost(self._problem or f"the {self.what} did not start within {patience_s:g} s")

    async def until_left(self, client: C) -> None:
        """Wait until a lost process is known to have ended. Not for long: it may still be alive."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEFT_S):
                while self._client is client:
                    self._changed.clear()
                    await self._changed.wait()

    async def close(self) -> None:
        """End the process: close its standard input, and kill it if that is not enough."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            self._changed.set()  # wake those who wait for it
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _keep(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            began = time.monotonic()
            answered = False
            folder: Path | None = None
            self._said.clear()
            try:
                # The folder's mode keeps it private: anyone who can connect can make the process do whatever we can.
                folder = Path(tempfile.mkdtemp(prefix=self.prefix, dir=_short_folder()))
                answered = await self._live(folder)
            except Exception as error:  # noqa: BLE001 - hang: nothing would restart it, and all callers would wait
                self._said.append(str(error) or type(error).__name__)
            finally:
                if folder is not None:
                    with contextlib.suppress(OSError):
                        (folder / _SOCKET).unlink(missing_ok=True)
                        folder.rmdir()
            if self._keeping is not asyncio.current_task():
                return  # hang: an error while the process was ending replaced the cancellation
            words = "; ".join(self._said) or "no output"
            # A process that served is restarted at once, and callers wait meanwhile; one that cannot start says why.
            self._problem = None if answered else f"the {self.what} cannot start: {words}"
            self._changed.set()
            _log.warning(f"{self.what} exited", answered=answered, said=words)
            if time.monotonic() - began > _SETTLED_S:
                wait_s = _FIRST_WAIT_S
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _live(self, folder: Path) -> bool:
        """Run one process until it ends. Returns whether it ever answered."""
        address = f"unix:{folder / _SOCKET}"
        # Not asyncio's own: if cancelled while it starts a process, it would wait forever.
        process = subprocess.Popen(
            self.command(address),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            start_new_session=True,  # Ctrl-C is the server's to handle: it drains first
        )
        self._process = process
        self.starts += 1
        ended = _end_of(process)
        client: C | None = None
        streams: list[asyncio.ReadTransport] = []
        listening: list[asyncio.Task[None]] = []
        watching: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        try:
            said, out = await _reader(process.stdout)
            streams.append(out)
            errors, err = await _reader(process.stderr)
            streams.append(err)
            listening.append(loop.create_task(self._listen(errors)))
            try:
                first = await said.readline()
            except ValueError:  # longer than the reader's buffer
                raise OSError("the first line on its standard output is too long") from None
            if first:
                client = self._client = self.connect(address)
                self._problem = None
                self._changed.set()
                # Nobody else reads it: a library that still writes to standard output must not find the pipe full.
                listening.append(loop.create_task(self._listen(said)))
                watching = loop.create_task(self._hangs(client))
                await asyncio.wait({ended, watching}, return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    _log.error(f"{self.what} stopped answering and is killed", pid=process.pid)
                    _kill(process)
            await asyncio.shield(ended)
            await asyncio.wait(listening, timeout=_LAST_WORDS_S)
            return client is not None
        finally:
            self._client = None
            self._changed.set()
            if watching is not None:
                watching.cancel()
            try:
                if client is not None:
                    await client.close()
            finally:
                await _end(process, ended)
                self._process = None
                for task in listening:
                    task.cancel()
                for stream in streams:
                    stream.close()

    async def _hangs(self, client: C) -> None:
        """Return when a process that answered no longer does, although it runs."""
        silent = 0
        while silent < 2:  # twice: the first timeout may only mean that the machine slept
            if not silent:
                await asyncio.sleep(self.look_s)
            try:
                await self.look(client)
                silent = 0
            except TimeoutError:
                silent += 1

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        """Write the process's output to our log."""
        while True:
            try:
                line = await stream.readline()
            except ValueError:  # an overlong line was dropped
                continue
            if not line:
                return
            text = line.decode(errors="replace").rstrip()
            self._said.append(text[:500])
            _log.info(self.what, said=text)


async def _reader(pipe: IO[bytes] | None) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    opening = loop.create_task(loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe))
    try:
        transport, _ = await asyncio.shield(opening)
    except asyncio.CancelledError:
        # The opening itself is not cancelled: uvloop would close the descriptor, and the pipe object would close it
        # again when it is collected. By then the number may belong to something else.
        transport, _ = await opening
        transport.close()
        raise
    return reader, transport


def _end_of(process: subprocess.Popen[bytes]) -> asyncio.Future[None]:
    """A future that is done when the process has ended. Its output says nothing: others may hold it open."""
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
    """Let a process end, so that it cleans up after itself; kill it if it does not."""
    assert process.stdin is not None
    process.stdin.close()
    done, _ = await asyncio.wait({ended}, timeout=_GRACE_S)
    if not done:
        _kill(process)
        await ended
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill its process group. It has not been waited for, so the number is still its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def clean() -> list[str]:
    """Remove the folders of abandoned sockets, which remain when a server and its process are both killed. Returns
    messages about the folders that were removed.
    """
    said = []
    place = Path(_short_folder() or tempfile.gettempdir())
    for folder in sorted(each for prefix in _PREFIXES for each in place.glob(f"{prefix}*")):
        # The temporary directory is shared by all users: remove only this user's own folders.
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            continue
        path = folder / _SOCKET
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
                continue  # a process serves there
            except OSError:
                pass
        if not path.exists() and time.time() - about.st_mtime < _STARTING_S:
            continue  # a process is about to serve there
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            folder.rmdir()
            said.append(f"removed the folder {folder}")
    return said


def _short_folder() -> str | None:
    """The parent for temporary folders: None for the default, /tmp if the default is too long for a socket's path."""
    return None if len(tempfile.gettempdir()) + 40 < _LONGEST_PATH else "/tmp"
