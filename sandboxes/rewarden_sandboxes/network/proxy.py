"""The proxy between boxes and the network. It runs in the sandbox host, which accepts the connections of a box's
programs. It serves `CONNECT` and plain HTTP. The name is compared with the rules before it is resolved, and the
connection goes to the checked address, so that a second, different DNS answer has no effect.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import itertools
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rewarden_sandboxes.network.record import Record, Unrecorded
from rewarden_sandboxes.network.request import MOST_BYTES, Malformed, Request, read_request
from rewarden_sandboxes.network.rules import Address, Allowed, is_reachable, read_networks, read_rule
from rewarden_sandboxes.settings import HostSettings

PORT = 3128
"""The proxy's port on a box's loopback interface."""

URL = f"http://127.0.0.1:{PORT}"

ENVIRONMENT = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), URL),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
}
"""The environment variables that tell programs about the proxy."""

_MOST_CONNECTIONS = 16
"""Connections of one box at once. Attack: use up the host's descriptors."""
_RESOLVERS = 8
_HEAD_S = 30.0
_CONNECT_S = 20.0
_IDLE_S = 120.0
"""The time after which a connection ends if neither side sends anything, in seconds."""
_STALLED_S = 5.0
"""The time without an answer after which a program that gives up is not to blame, in seconds. Attack: ask, and give up
at once."""
_MOST_NAMED = 20
"""The number of failed requests' names to keep for a box. Attack: fill the host's memory with names."""
_PART = 1 << 16
_REASONS = {200: "Connection established", 400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Unavailable"}

Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]


class _Refused(Exception):
    """A request that is not served. decision: the entry for the record. text: the answer to the box's program."""

    def __init__(self, status: int, decision: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.decision = decision
        self.text = text


_UNSERVED = frozenset({"unresolved", "unrecorded"})
"""Decisions for which the request is not to blame."""
_NOT_ALLOWED = frozenset({"not_listed", "private_address"})


@dataclass(eq=False, slots=True)
class _Traffic:
    """One connection. name: `HOST:PORT`. sent: bytes from the box. connected: the connection to the host stands.
    asked_at: when the box first sent something since the host's last bytes; None: it has not."""

    name: str
    sent: int = 0
    received: int = 0
    connected: bool = False
    asked_at: float | None = None

    def ask(self, size: int) -> None:
        """Counts bytes of the box's."""
        self.sent += size
        if self.asked_at is None:
            self.asked_at = time.monotonic()

    def answer(self, size: int) -> None:
        """Counts bytes of the host's."""
        self.received += size
        self.asked_at = None

    @property
    def owed(self) -> bool:
        """Returns whether the box is waiting, or waited until its end, for an answer that did not arrive."""
        return not self.connected or (self.asked_at is not None and time.monotonic() - self.asked_at > _STALLED_S)


class NetworkProxy:
    """See the module. One for a host. resolve: name and port to addresses; wall: seconds since the epoch."""

    def __init__(
        self, settings: HostSettings, *, resolve: Resolve | None = None, wall: Callable[[], float] = time.time
    ) -> None:
        self.rules = tuple(map(read_rule, settings.network))
        self._private = read_networks(settings.network_private)
        self._record = Record(Path(settings.network_log or "/dev/null"), wall)
        self._most_bytes = settings.network_mb << 20
        self._bytes_s = settings.network_mb_s * (1 << 20)
        # Attack: many names at once whose servers answer late, so that nothing else on the host gets a thread.
        self._resolvers = ThreadPoolExecutor(_RESOLVERS, thread_name_prefix="rewarden-names")
        self._resolve = resolve or self._resolve_here
        self._numbers = itertools.count(1)

    def allowed(self, wanted: Sequence[str]) -> Allowed:
        """Returns the rules of a box. Raises ValueError for a rule that the host's rules do not cover."""
        rules = tuple(map(read_rule, wanted))
        for rule, text in zip(rules, wanted, strict=True):
            if not any(own.covers(rule) for own in self.rules):
                raise ValueError(f"{text[:200]!r} is not allowed on this host; add it to sandbox.network")
        return Allowed(self.rules, rules)

    def close(self) -> None:
        """Ends its threads."""
        self._resolvers.shutdown(wait=False, cancel_futures=True)

    @contextlib.asynccontextmanager
    async def serving(self, listener: socket.socket, door: Door) -> AsyncIterator[None]:
        """Serves a box's socket during the block, then closes the socket and all connections."""
        listener.setblocking(False)
        serving = asyncio.get_running_loop().create_task(self._serve(listener, door))
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            listener.close()

    async def _serve(self, listener: socket.socket, door: Door) -> None:
        loop = asyncio.get_running_loop()
        places = asyncio.Semaphore(_MOST_CONNECTIONS)
        async with asyncio.TaskGroup() as group:
            while True:
                await places.acquire()
                try:
                    connection, _ = await loop.sock_accept(listener)
                except OSError:  # the program has left already, or there are no descriptors left
                    places.release()
                    await asyncio.sleep(0.1)
                    continue
                task = group.create_task(self._answer(connection, door))
                task.add_done_callback(lambda _: places.release())

    async def _answer(self, connection: socket.socket, door: Door) -> None:
        """Serves one connection, and never raises but when it is cancelled."""
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=MOST_BYTES)
            await self._one(reader, writer, door)
        except (OSError, EOFError, TimeoutError, ValueError):
            pass  # no matter which side broke it off, the record has what was transferred
        finally:
            if writer is None:
                connection.close()
            else:
                writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, door: Door) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            await _say(writer, 400, "the head of the request is too long")
            return
        number = next(self._numbers)
        try:
            request, address, line = await self._decide(head, door, number)
        except _Refused as refused:
            await _say(writer, refused.status, refused.text)
            return
        began, ended, far_reader = time.monotonic(), "unreachable", None
        traffic = _Traffic(_name(request))
        door.open.add(traffic)
        try:
            async with asyncio.timeout(_CONNECT_S):
                far_reader, far_writer = await asyncio.open_connection(str(address), request.port)
            traffic.connected = True
            try:
                ended = "broken"
                ended = await self._relay(request, (reader, writer), (far_reader, far_writer), traffic, door)
            finally:
                far_writer.close()
        except (OSError, TimeoutError) as error:
            if ended != "unreachable":
                raise
            await _say(writer, 502, f"{request.host} cannot be reached: {error or 'no answer'}")
        finally:
            door.open.discard(traffic)
            cut = far_reader is not None and far_reader.exception() is not None
            if cut or traffic.owed or ended in ("idle", "unanswered"):
                door.fail(traffic.name)
            with contextlib.suppress(Unrecorded):  # the record already says that it was allowed
                seconds = round(time.monotonic() - began, 3)
                sizes = {"sent": traffic.sent, "received": traffic.received}
                self._record.write(event="end", **line, ended=ended, **sizes, seconds=seconds)

    async def _decide(self, head: bytes, door: Door, number: int) -> tuple[Request, Address, dict[str, object]]:
        """Returns an allowed request, the address to connect to, and its name in the record. Raises _Refused. Refusals
        are recorded, and no connection is made before it is recorded.
        """
        line: dict[str, object] = {"box": door.label, "request": number}
        try:
            request = read_request(head)
        except Malformed as error:
            self._note(line, decision="malformed")
            raise _Refused(400, "malformed", str(error)) from None
        line |= {"method": request.method, "host": request.host, "port": request.port}
        resolving = _Traffic(_name(request))
        door.open.add(resolving)
        try:
            if not door.allowed.allows(request.host, request.port):
                raise _Refused(403, "not_listed", f"{request.host}:{request.port} is not allowed for this box")
            if door.bytes >= self._most_bytes:
                raise _Refused(403, "limit", f"the box has used up its {self._most_bytes >> 20} MiB of network")
            address = await self._address(request, door)
            self._note(line, decision="allowed", address=str(address))
        except _Refused as refused:
            if refused.decision in _UNSERVED:
                door.fail(resolving.name)
            elif refused.decision in _NOT_ALLOWED:
                door.refuse(resolving.name)
            if refused.decision != "unrecorded":
                self._note(line, decision=refused.decision)
            raise
        finally:
            door.open.discard(resolving)
        return request, address, line

    def _note(self, line: dict[str, object], **more: object) -> None:
        try:
            self._record.write(event="request", **line, **more)
        except Unrecorded:
            raise _Refused(503, "unrecorded", "the sandbox host cannot record requests, and rejects all") from None

    async def _address(self, request: Request, door: Door) -> Address:
        """Returns an address of a request's host to which a connection is allowed. Raises _Refused."""
        try:
            found = [ipaddress.ip_address(request.host)]
        except ValueError:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    found = list(await self._resolve(request.host, request.port))
            except (OSError, TimeoutError) as error:
                raise _Refused(502, "unresolved", f"{request.host} cannot be resolved: {error}") from None
        for address in found:
            if is_reachable(address, self._private):
                return address
        raise _Refused(403, "private_address", f"{request.host} has no public address")

    async def _resolve_here(self, host: str, port: int) -> Sequence[Address]:
        loop = asyncio.get_running_loop()
        rows = await loop.run_in_executor(
            self._resolvers, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return [ipaddress.ip_address(row[4][0]) for row in rows]

    async def _relay(
        self,
        request: Request,
        near: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        traffic: _Traffic,
        door: Door,
    ) -> str:
        """Relays bytes in both directions until one side is done. Returns how it ended."""
        most: int | None = None
        if request.method == "CONNECT":
            near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            far[1].write(request.head)
            traffic.ask(len(request.head))
            most = request.body  # Attack: a second, unchecked request behind the first
        last = _Last()

        async def sending() -> None:
            async for data in self._pieces(near[0], door, last, most):
                far[1].write(data)
                traffic.ask(len(data))
                await far[1].drain()
            if most is None and far[1].can_write_eof():
                far[1].write_eof()

        async def receiving() -> None:
            async for data in self._pieces(far[0], door, last, None):
                near[1].write(data)
                traffic.answer(len(data))
                await near[1].drain()

        loop = asyncio.get_running_loop()
        sender, receiver = tasks = loop.create_task(sending()), loop.create_task(receiving())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if sender.done():
                await sender
            await receiver
            if traffic.sent and not traffic.received and not near[0].at_eof():
                return "unanswered"
        except _Refused as refused:
            return refused.decision
        except TimeoutError:
            return "idle"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return "done"

    async def _pieces(
        self, reader: asyncio.StreamReader, door: Door, last: _Last, most: int | None
    ) -> AsyncIterator[bytes]:
        """Yields incoming bytes at the box's rate. most: the number of bytes after which it ends. Raises _Refused at
        the box's limit, and TimeoutError if neither side has sent anything for a long time."""
        left = most
        while left is None or left > 0:
            data = await self._next(reader, last, _PART if left is None else min(_PART, left))
            if not data:
                return
            if left is not None:
                left -= len(data)
            await self._charge(door, len(data))
            yield data

    async def _next(self, reader: asyncio.StreamReader, last: _Last, most: int) -> bytes:
        while True:
            try:
                async with asyncio.timeout(_IDLE_S):
                    data = await reader.read(most)
            except TimeoutError:
                if time.monotonic() - last.at > _IDLE_S:
                    raise
                continue
            last.at = time.monotonic()
            return data

    async def _charge(self, door: Door, size: int) -> None:
        door.bytes += size
        if door.bytes > self._most_bytes:
            raise _Refused(403, "limit", "the box has used up its network")
        async with door.turn:
            now = time.monotonic()
            door.free_at = max(door.free_at, now - 1.0) + size / self._bytes_s
            await asyncio.sleep(max(0.0, door.free_at - now))


class _Last:
    """The last time that either side of a connection sent something."""

    def __init__(self) -> None:
        self.at = time.monotonic()


class Door:
    """A box's access to the network, which outlives its slots. label: its name in the record. bytes: transferred so far
    in both directions. open: its connections. refused: names of requests that are not allowed."""

    def __init__(self, allowed: Allowed, label: str) -> None:
        self.allowed = allowed
        self.label = label
        self.bytes = 0
        self.turn = asyncio.Lock()
        self.free_at = 0.0
        self.open: set[_Traffic] = set()
        self.refused: dict[str, None] = {}
        self._failed: dict[str, None] = {}

    def fail(self, name: str) -> None:
        """Notes an allowed request that could not be served."""
        if len(self._failed) < _MOST_NAMED:
            self._failed[name] = None

    def refuse(self, name: str) -> None:
        """Notes a request that is not allowed."""
        if len(self.refused) < _MOST_NAMED:
            self.refused[name] = None

    def unserved(self) -> tuple[str, ...]:
        """Returns the requests that could not be served, including those whose program is still waiting."""
        return tuple(dict.fromkeys((*self._failed, *(each.name for each in self.open if each.owed))))


def _name(request: Request) -> str:
    host = f"[{request.host}]" if ":" in request.host else request.host
    return f"{host}:{request.port}"


async def _say(writer: asyncio.StreamWriter, status: int, text: str) -> None:
    """Answers a request that is not served."""
    body = f"sandbox network: {text}\n".encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
