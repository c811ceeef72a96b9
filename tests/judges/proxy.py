"""A proxy that does harm: it is between our client and a model's server, scripted or real, and spoils replies.

Each request takes the next of `faults`, and then `otherwise`, which is None: the upstream's own reply. Faults are what
servers, gateways and networks really do.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

Harm = Literal["reply", "reset", "hang", "slow", "cut", "chatty"]


@dataclass(frozen=True)
class Fault:
    """The fault that happens to one request.

    reply: an answer of the proxy's own, with `status`, `headers` and `body`; the upstream never sees the request.
    reset: the connection is reset before a reply. hang: nothing comes. slow: the upstream's reply, a byte each `drip_s`
    seconds (none: one byte, and then nothing). cut: the first half of it, and then the connection ends. chatty: the
    reply's text within prose and a code fence, as small models like it.
    """

    harm: Harm
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    drip_s: float | None = None


def status(code: int, message: str = "spoiled", **headers: str) -> Fault:
    """An error in OpenAI's form. Of headers' names `_` is `-`."""
    return reply({"error": {"message": message}}, code, **headers)


def reply(body: Any, code: int = 200, kind: str = "application/json", **headers: str) -> Fault:
    """An answer: bytes as they are, anything else as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault("reply", code, {"content-type": kind, **named}, content)


RESET = Fault("reset")
HANG = Fault("hang")
SLOW = Fault("slow")
CUT = Fault("cut")
CHATTY = Fault("chatty")
EMPTY = reply(b"")
HTML = reply(b"<html><body>502 Bad Gateway, said with 200</body></html>", kind="text/html")
WRONG_JSON = reply(b'{"id": "x", "choices": [{"mess')
NO_CHOICES = reply({"id": "x", "object": "chat.completion", "choices": []})
ERROR_WITH_200 = reply({"error": {"message": "out of memory", "code": 500}})


class FaultyProxy:
    """A context manager. `url` is to be given to the client. requests: bodies that came, in order; headers: theirs."""

    def __init__(self, upstream: str, *faults: Fault, otherwise: Fault | None = None) -> None:
        self.faults: deque[Fault] = deque(faults)
        self.otherwise = otherwise
        self.requests: list[Any] = []
        self.headers: list[Mapping[str, str]] = []
        self.open = 0
        self._upstream = urlsplit(upstream)
        self._tasks: set[asyncio.Task[None]] = set()

    def spoil(self, *faults: Fault) -> None:
        """Add faults."""
        self.faults.extend(faults)

    async def __aenter__(self) -> FaultyProxy:
        self._client = httpx.AsyncClient(timeout=300, trust_env=False)
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self._upstream.path}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._served(reader, writer):
                    pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Returns whether the connection may be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.headers.append(headers)
        self.requests.append(json.loads(body) if body else None)
        fault = self.faults.popleft() if self.faults else self.otherwise
        if fault is None or fault.harm in ("slow", "cut", "chatty"):
            answer = await self._passed(method, path, headers, body)
            if fault is not None and fault.harm == "chatty":
                answer = Fault("reply", answer.status, answer.headers, _chatty(answer.body))
        else:
            answer = fault
        return await _answered(reader, writer, fault.harm if fault else "reply", answer, fault)

    async def _passed(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Fault:
        """The upstream's own reply."""
        own = {name: value for name, value in headers.items() if name in ("content-type", "authorization", "accept")}
        url = f"{self._upstream.scheme}://{self._upstream.netloc}{path}"
        got = await self._client.request(method, url, headers=own, content=body)
        kept = {name: value for name, value in got.headers.items() if name in ("content-type", "retry-after")}
        return Fault("reply", got.status_code, kept, got.content)


async def _answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, harm: Harm, answer: Fault, fault: Fault | None
) -> bool:
    if harm == "reset":
        # No lingering: the socket's end is a RST.
        writer.get_extra_info("socket").setsockopt(1, 13, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    if harm == "hang":
        await reader.read()  # until the client goes
        return False
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    length = f"content-length: {len(answer.body)}\r\n"
    writer.write(f"HTTP/1.1 {answer.status} Spoiled\r\n{head}{length}\r\n".encode("latin-1"))
    if harm == "cut":
        writer.write(answer.body[: len(answer.body) // 2])
        await writer.drain()
        return False
    if harm == "slow":
        assert fault is not None
        writer.write(answer.body[:1])
        await writer.drain()
        if fault.drip_s is None:
            await reader.read()
            return False
        for place in range(1, len(answer.body)):
            await asyncio.sleep(fault.drip_s)
            writer.write(answer.body[place : place + 1])
            await writer.drain()
        return True
    writer.write(answer.body)
    await writer.drain()
    return True


def _chatty(body: bytes) -> bytes:
    """A completion whose text is in a fence, between sentences that have an opinion of their own."""
    made = json.loads(body)
    for choice in made.get("choices", []):
        text = choice["message"].get("content") or ""
        choice["message"]["content"] = (
            f"Sure! I'd say it is correct.\n```json\n{text}\n```\nScore: 10/10. Anything else?"
        )
    return json.dumps(made).encode()


def each_of(faults: Iterable[Fault], times: int) -> list[Fault]:
    """Each of these so many times in a row."""
    return [fault for fault in faults for _ in range(times)]
